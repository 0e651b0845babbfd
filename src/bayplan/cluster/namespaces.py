"""Namespaces and their labels, and which of them an affinity term covers.

Fed by the cluster; read by ``counts`` and InterPodAffinity. Kubernetes answers differently for a namespace without an
object: to the terms of the pod being placed it is not there, to the terms of placed pods it is one without labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bayplan.cluster.terms import Term
    from bayplan.model.namespace import Namespace
    from bayplan.model.selectors import Selector

NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})


class Namespaces:
    """Namespace to labels."""

    def __init__(self) -> None:
        self._labels: dict[str, Mapping[str, str]] = {}
        #: Changes whenever an answer might.
        self.version = 0

    def put(self, namespace: Namespace) -> None:
        """Add a namespace or bring it up to date."""
        name, labels = namespace.metadata.name, namespace.metadata.labels
        if self._labels.get(name) != labels:
            self._labels[name] = labels
            self.version += 1

    def remove(self, namespace: Namespace) -> None:
        """Forget a namespace."""
        if self._labels.pop(namespace.metadata.name, None) is not None:
            self.version += 1

    def labels(self, name: str) -> Mapping[str, str]:
        """A namespace's labels; none where it has no object."""
        return self._labels.get(name, NO_LABELS)

    def matching(self, selector: Selector) -> list[str]:
        """The namespaces that a selector selects."""
        return [name for name, labels in self._labels.items() if selector.matches(labels)]

    def covered(self, term: Term, name: str) -> bool:
        """Whether a term of the pod being placed looks at pods of this namespace."""
        # kube-scheduler keeps asking the selector after it has listed what it selects, with no labels in hand: one
        # that only excludes covers every namespace (interpodaffinity/plugin.go, mergeAffinityTermNamespacesIfNotEmpty).
        if name in term.namespaces or term.namespace_selector.matches(NO_LABELS):
            return True
        labels = self._labels.get(name)
        return labels is not None and term.namespace_selector.matches(labels)

    def covered_by_carrier(self, term: Term, name: str) -> bool:
        """Whether a term of a placed pod speaks of pods of this namespace."""
        return name in term.namespaces or term.namespace_selector.matches(self.labels(name))

    def __contains__(self, name: str) -> bool:
        return name in self._labels

    def __len__(self) -> int:
        return len(self._labels)
