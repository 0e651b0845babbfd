"""Live data about nodes: who measures them, and how the numbers come into the cluster's columns.

A ``Source`` answers ``read``; a ``Poller`` asks it now and then, off the decision path, and writes what it says. ``app``
builds both from the file's ``providers``. Policies read the numbers as ``node.usage`` or ``nodes.data``.
"""
