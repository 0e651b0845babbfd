"""Odd cases, made by chance: every plugin's corners, in the format of the conformance cases.

``cases.make_case(seed, number)`` makes one; bench/differential.py compares what is said of them.
"""
