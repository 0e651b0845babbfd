"""What Kubernetes' objects are made of: types, their fields, and how values of them are merged."""
