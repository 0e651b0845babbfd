"""Pods that have a node promised to them: they preempted there and wait for the room.

Kept by the cluster (a pod's nominatedNodeName) and by the queue; read when filters are run a second time with the
promised pods counted in.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bayplan.cluster.changes import Reads
from bayplan.cluster.journal import Journal
from bayplan.cluster.podinfo import PodInfo

#: Changes kept; who fell further behind has to look at all of them.
KEEP: Final = 4096


class Nominations:
    """Nominated pods by node name."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._by_node: dict[str, dict[str, PodInfo]] = {}
        self._node_of: dict[str, str] = {}
        #: By the key of a pod: those whose eviction makes the room that is promised to it.
        self._claims: dict[str, frozenset[str]] = {}
        #: The nodes of the latest promises made and withdrawn, in order, and how many there were before these.
        self._log: list[str] = []
        self._forgotten = 0

    def put(self, pod: PodInfo, node: str) -> None:
        """Promise a node to a pod, in place of any earlier promise."""
        claimed = self._claims.get(pod.key)
        self.remove(pod.key)
        if claimed is not None:
            self._claims[pod.key] = claimed
        self._by_node.setdefault(node, {})[pod.key] = pod
        self._node_of[pod.key] = node
        self._changed(node)

    def remove(self, key: str) -> None:
        """Withdraw a promise, if there is one."""
        self._claims.pop(key, None)
        node = self._node_of.pop(key, None)
        if node is None:
            return
        pods = self._by_node[node]
        del pods[key]
        if not pods:
            del self._by_node[node]
        self._changed(node)

    def claim(self, key: str, victims: Iterable[str]) -> None:
        """These pods are evicted for the one of that key, to which their room is promised, or is about to be."""
        self._claims[key] = frozenset(victims)
        self._journal.topic_changed(Reads.PROMISES)

    def claimed_by(self, key: str) -> frozenset[str]:
        """The pods whose eviction makes the room that is promised to a pod; some may have left."""
        return self._claims.get(key, frozenset())

    def _changed(self, node: str) -> None:
        self._journal.topic_changed(Reads.PROMISES)
        self._log.append(node)
        if len(self._log) > 2 * KEEP:
            del self._log[:KEEP]
            self._forgotten += KEEP

    @property
    def version(self) -> int:
        """Grows with every promise made or withdrawn."""
        return self._forgotten + len(self._log)

    def since(self, version: int) -> list[str] | None:
        """The nodes of all promises made and withdrawn since, or None where that is not known any more."""
        start = version - self._forgotten
        return None if start < 0 else self._log[start:]

    def nodes(self) -> Iterable[str]:
        """The nodes that are promised to somebody."""
        return self._by_node

    def on(self, node: str) -> list[PodInfo]:
        """The pods to which a node is promised."""
        pods = self._by_node.get(node)
        return list(pods.values()) if pods else []

    def node_of(self, key: str) -> str:
        """The node promised to a pod, or an empty string."""
        return self._node_of.get(key, "")

    def all(self) -> list[tuple[PodInfo, str]]:
        """Every nominated pod, and the node promised to it."""
        return [(pod, node) for node, pods in self._by_node.items() for pod in pods.values()]

    def __len__(self) -> int:
        return len(self._node_of)
