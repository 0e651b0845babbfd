"""Races for room: another scheduler has filled a node while a pod of ours was on its way there.

The API server does not look whether a node has room, and a kubelet that has too little turns the later pod down for good. So
right before a binding is sent it is asked here whether the watch has shown somebody else's pod on the node since the
decision, and whether there is too little now. Told by ``runtime.ingest``; asked by ``runtime.binding``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bayplan.cluster.cluster import Cluster
    from bayplan.cycle.reserve import Placement

#: A profile without it does not care for room.
_FIT: Final = "NodeResourcesFit"
#: Nodes that are gone, to be remembered before they are looked for.
_GONE: Final = 100


class Races:
    """Which nodes others have placed pods on, and when."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        #: Counts pods of others; says what was before what.
        self.moment = 0
        self._last: dict[str, int] = {}

    def on_foreign(self, node: str) -> None:
        """The watch shows somebody else's pod on a node."""
        self.moment += 1
        self._last[node] = self.moment
        there = self._cluster.nodes.row_of
        if len(self._last) > 2 * len(there) + _GONE:
            self._last = {name: moment for name, moment in self._last.items() if name in there}

    def is_lost(self, placement: Placement, since: int) -> bool:
        """Whether the room that a pod was to get went to somebody else; ``since``: the moment of its decision."""
        if self.moment == since or self._last.get(placement.node, 0) <= since:
            return False
        if not any(plugin.name == _FIT for plugin in placement.profile.plugins):
            return False
        return self._is_overfull(placement)

    def _is_overfull(self, placement: Placement) -> bool:
        """Whether the node has too little of something that the pod asks for; the pod is counted there already."""
        nodes = self._cluster.view.nodes
        node = nodes.node(self._cluster.nodes.row_of[placement.node])
        if node.pod_count > node.max_pods:
            return True
        return any(
            node.requested[resource] > node.allocatable[resource]
            for resource, amount in placement.pod.requests.items()
            if amount
        )
