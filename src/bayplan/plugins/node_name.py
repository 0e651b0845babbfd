"""NodeName: a pod that names its node fits there and nowhere else.

Reads:  ``spec.nodeName`` of the pod, the nodes' names.
Says:   one bool per node. Evicting pods cannot change it, so it is UNRESOLVABLE.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bayplan.cluster.changes import Reads
from bayplan.framework.events import Action, Resource, WakeOn
from bayplan.framework.plugin import FilterPlugin
from bayplan.framework.status import Mask, unresolvable

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import Nodes
    from bayplan.framework.state import CycleState


class NodeName(FilterPlugin):
    """Keeps only the node that the pod asks for by name."""

    name = "NodeName"
    reads = Reads.LABELS
    reason = "node(s) didn't match the requested node name"
    rejection = unresolvable(reason)

    def sign(self, pod: PodInfo) -> str:
        return pod.node_name

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Mask | None:
        if not pod.node_name:
            return None
        # No row is -1: where nobody bears the name, nothing fits.
        mask: Mask = nodes.rows == nodes.cluster.nodes.row_of.get(pod.node_name, -1)
        return mask

    def wakes_on(self) -> Sequence[WakeOn]:
        return (WakeOn(Resource.NODE, Action.ADD),)
