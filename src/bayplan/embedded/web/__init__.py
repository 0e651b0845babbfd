"""From HTTP to the store and back.

``serving`` is the handler; ``paths`` and ``negotiation`` read a request, ``operations`` and ``streaming`` carry it out,
``documents`` and ``discovery`` are what the API says about itself.
"""
