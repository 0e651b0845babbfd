"""Namespaces. Affinity terms select them by label.

Fed by ``decode``; read by the cluster, for inter-pod affinity.
"""

from bayplan.model.meta import KubeObject, Record


class NamespaceStatus(Record, frozen=True):
    """Whether the namespace is going away."""

    phase: str = ""


class Namespace(KubeObject, frozen=True):
    """A namespace."""

    status: NamespaceStatus = NamespaceStatus()
