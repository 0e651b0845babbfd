"""Reference pages made from the code, so that they cannot say anything else: configuration, plugins, commands, metrics.

``make docs`` writes them; a test compares the committed ones. ``pages`` has them all.
"""
