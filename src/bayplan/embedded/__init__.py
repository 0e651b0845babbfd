"""An in-process Kubernetes API for the first run, tests and simulation: ``embedded.server.EmbeddedApi``.

A request goes ``server > web > store > shelves``; what may be written is decided in ``rules``, what a patch means in
``patching``, how an answer looks in ``forms`` and ``tables``. Inside the process everybody uses the store directly.
"""
