"""Pods that have a node promised to them: they preempted there and wait for the room.

Kept by the cluster (a pod's nominatedNodeName) and by the queue; read when filters are run a second time with the
promised pods counted in.
"""

from __future__ import annotations

from bayplan.cluster.changes import Reads
from bayplan.cluster.journal import Journal
from bayplan.cluster.podinfo import PodInfo

#: Priorities for which the list of higher ones is kept up to date.
_THRESHOLDS = 16


class Nominations:
    """Nominated pods by node name."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._by_node: dict[str, dict[str, PodInfo]] = {}
        self._node_of: dict[str, str] = {}
        #: Changes with every nomination made or withdrawn.
        self.version = 0
        #: Answers of ``at_least`` by priority, and the nodes that have changed since each was given.
        self._high: dict[int, dict[str, list[PodInfo]]] = {}
        self._news: dict[int, set[str]] = {}

    def put(self, pod: PodInfo, node: str) -> None:
        """Promise a node to a pod, in place of any earlier promise."""
        self.remove(pod.key)
        self._by_node.setdefault(node, {})[pod.key] = pod
        self._node_of[pod.key] = node
        self._changed(node)

    def remove(self, key: str) -> None:
        """Withdraw a promise, if there is one."""
        node = self._node_of.pop(key, None)
        if node is None:
            return
        pods = self._by_node[node]
        del pods[key]
        if not pods:
            del self._by_node[node]
        self._changed(node)

    def _changed(self, node: str) -> None:
        self.version += 1
        self._journal.topic_changed(Reads.PROMISES)
        for news in self._news.values():
            news.add(node)

    def on(self, node: str) -> list[PodInfo]:
        """The pods to which a node is promised."""
        pods = self._by_node.get(node)
        return list(pods.values()) if pods else []

    def at_least(self, priority: int) -> dict[str, list[PodInfo]]:
        """Nodes promised to pods of this priority or a higher one, and these pods; not to be changed."""
        high = self._high.get(priority)
        if high is None:
            if len(self._high) >= _THRESHOLDS:
                self._high.clear()
                self._news.clear()
            high = self._high[priority] = {}
            self._news[priority] = set(self._by_node)
        news = self._news[priority]
        for node in news:
            there = self._by_node.get(node, {}).values()
            pods = [pod for pod in there if pod.priority >= priority]
            if pods:
                high[node] = pods
            else:
                high.pop(node, None)
        news.clear()
        return high

    def node_of(self, key: str) -> str:
        """The node promised to a pod, or an empty string."""
        return self._node_of.get(key, "")

    def all(self) -> list[tuple[PodInfo, str]]:
        """Every nominated pod, and the node promised to it."""
        return [(pod, node) for node, pods in self._by_node.items() for pod in pods.values()]

    def __len__(self) -> int:
        return len(self._node_of)
