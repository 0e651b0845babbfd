"""Simulated nodes: what they look like, and the file that says so."""
