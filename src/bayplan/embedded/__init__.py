"""An in-process Kubernetes API for the first run, tests and simulation: ``embedded.server.EmbeddedApi``.

A request goes ``server > serving > operations > store > shelf``; what may be written is decided in ``rules``.
"""
