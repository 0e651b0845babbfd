"""Pods that have a node promised to them: they preempted there and wait for the room.

Kept by the cluster (a pod's nominatedNodeName) and by the queue; read when filters are run a second time with the
promised pods counted in.
"""

from __future__ import annotations

from bayplan.cluster.podinfo import PodInfo


class Nominations:
    """Nominated pods by node name."""

    def __init__(self) -> None:
        self._by_node: dict[str, dict[str, PodInfo]] = {}
        self._node_of: dict[str, str] = {}
        #: Changes with every nomination made or withdrawn.
        self.version = 0
        #: The last answer of ``at_least``, and what it was to.
        self._listed: tuple[int, int, list[tuple[str, list[PodInfo]]]] = (-1, 0, [])

    def put(self, pod: PodInfo, node: str) -> None:
        """Promise a node to a pod, in place of any earlier promise."""
        self.remove(pod.key)
        self._by_node.setdefault(node, {})[pod.key] = pod
        self._node_of[pod.key] = node
        self.version += 1

    def remove(self, key: str) -> None:
        """Withdraw a promise, if there is one."""
        node = self._node_of.pop(key, None)
        if node is None:
            return
        pods = self._by_node[node]
        del pods[key]
        if not pods:
            del self._by_node[node]
        self.version += 1

    def on(self, node: str) -> list[PodInfo]:
        """The pods to which a node is promised."""
        pods = self._by_node.get(node)
        return list(pods.values()) if pods else []

    def at_least(self, priority: int) -> list[tuple[str, list[PodInfo]]]:
        """Nodes promised to pods of this priority or a higher one, and these pods; not to be changed."""
        version, of, listed = self._listed
        if (version, of) != (self.version, priority):
            listed = []
            for node, pods in self._by_node.items():
                high = [pod for pod in pods.values() if pod.priority >= priority]
                if high:
                    listed.append((node, high))
            self._listed = (self.version, priority, listed)
        return listed

    def node_of(self, key: str) -> str:
        """The node promised to a pod, or an empty string."""
        return self._node_of.get(key, "")

    def all(self) -> list[tuple[PodInfo, str]]:
        """Every nominated pod, and the node promised to it."""
        return [(pod, node) for node, pods in self._by_node.items() for pod in pods.values()]

    def __len__(self) -> int:
        return len(self._node_of)
