"""NodeUnschedulable: nobody goes to a cordoned node who does not tolerate it.

Reads:  ``spec.unschedulable`` of the nodes, the pod's tolerations.
Says:   one bool per node. Evicting pods does not uncordon a node, so it is UNRESOLVABLE.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bayplan.cluster.changes import Reads
from bayplan.framework.events import Action, Hint, Resource, WakeOn
from bayplan.framework.plugin import FilterPlugin
from bayplan.framework.status import Mask, unresolvable
from bayplan.model.node import Taint

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import Nodes
    from bayplan.framework.state import CycleState
    from bayplan.model.node import Node
    from bayplan.model.pod import Pod, PodSpec

#: Who tolerates this taint tolerates a cordon, whether the node carries the taint or not.
CORDON: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulable(FilterPlugin):
    """Keeps pods off cordoned nodes."""

    name = "NodeUnschedulable"
    reads = Reads.TAINTS
    reason = "node(s) were unschedulable"
    rejection = unresolvable(reason)

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Mask | None:
        cordoned = nodes.unschedulable
        if not cordoned.any() or tolerates_cordon(pod.spec):
            return None
        return ~cordoned

    def wakes_on(self) -> Sequence[WakeOn]:
        return (
            WakeOn(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT, _node_opened),
            WakeOn(Resource.POD, Action.UPDATE_POD_TOLERATION, _pod_tolerates),
        )


def tolerates_cordon(spec: PodSpec) -> bool:
    """Whether a pod goes to cordoned nodes too."""
    return any(toleration.tolerates(CORDON) for toleration in spec.tolerations)


def _node_opened(pod: PodInfo, old: Node | None, new: Node | None) -> Hint:
    if new is None or new.spec.unschedulable:
        return Hint.SKIP
    return Hint.QUEUE if old is None or old.spec.unschedulable else Hint.SKIP


def _pod_tolerates(pod: PodInfo, old: Pod | None, new: Pod | None) -> Hint:
    own = new is not None and new.uid == pod.uid
    return Hint.QUEUE if own and new is not None and tolerates_cordon(new.spec) else Hint.SKIP
