"""What is wrong with a plugin, before it meets a cluster.

The checks are one module each and take the same ``Subject``; ``report`` runs them all.
"""
