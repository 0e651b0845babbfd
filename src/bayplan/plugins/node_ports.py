"""NodePorts: host ports that the pod wants must be free on the node.

Reads:  the pod's host ports, the ports held on each node.
Says:   one bool per node. A holder may be evicted, so it is UNSCHEDULABLE only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.cluster.changes import Reads
from bayplan.cluster.podinfo import host_ports
from bayplan.framework.events import Action, Hint, Resource, WakeOn
from bayplan.framework.plugin import FilterPlugin, PreFilterPlugin
from bayplan.framework.status import SKIP, Mask, Rejected, Skip

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import ClusterView, Nodes
    from bayplan.framework.state import CycleState
    from bayplan.model.pod import Pod

#: A port held on this address is held on all of them.
ANY_ADDRESS: Final = "0.0.0.0"


class NodePorts(PreFilterPlugin, FilterPlugin):
    """Keeps the nodes on which no pod holds a port that this one wants."""

    name = "NodePorts"
    reads = Reads.PORTS
    reason = "node(s) didn't have free ports for the requested pod ports"
    rejection = Rejected(reason)

    def prefilter(self, pod: PodInfo, view: ClusterView, state: CycleState) -> Skip | None:
        return None if pod.shape.host_ports else SKIP

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Mask | None:
        taken = {
            i
            for wanted in pod.shape.host_ports
            for i, held in nodes.port_holders(wanted.protocol, wanted.port)
            if wanted.ip == held or wanted.ip == ANY_ADDRESS or held == ANY_ADDRESS
        }
        if not taken:
            return None
        free = np.ones(len(nodes), np.bool_)
        free[np.fromiter(taken, np.intp, len(taken))] = False
        return free

    def wakes_on(self) -> Sequence[WakeOn]:
        return (
            WakeOn(Resource.POD, Action.DELETE, _frees_a_port),
            WakeOn(Resource.NODE, Action.ADD),
        )


def _frees_a_port(pod: PodInfo, old: Pod | None, new: Pod | None) -> Hint:
    """Whether the deleted pod was somewhere, and held a port that this one wants."""
    if old is None or not (old.spec.node_name or old.status.nominated_node_name):
        return Hint.SKIP
    collide = any(
        (wanted.protocol, wanted.port) == (held.protocol, held.port)
        and (wanted.ip == held.ip or ANY_ADDRESS in {wanted.ip, held.ip})
        for held in host_ports(old.spec)
        for wanted in pod.shape.host_ports
    )
    return Hint.QUEUE if collide else Hint.SKIP
