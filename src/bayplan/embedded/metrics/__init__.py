"""What metrics-server says of a cluster: ``metrics.k8s.io/v1beta1``, for simulated nodes."""
