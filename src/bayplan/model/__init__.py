"""Kubernetes objects as frozen data: no NumPy, no I/O."""
