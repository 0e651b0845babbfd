"""Benchmarks: they print, and never assert a time."""
