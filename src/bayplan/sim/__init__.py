"""Deciding without a cluster: case files, dumps, and (later) traces."""
