"""CustomFilterPlugin: enough room, and labels that match.

Reads:  what the pod requests and the node has free; those labels of pod and node whose keys are in ``labels``.
Says:   turns down nodes without the room, and nodes that do not carry such a label of the pod with the same value.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import ne

import numpy as np

from bayplan import (
    Action,
    CycleState,
    FilterPlugin,
    NodeInfo,
    Nodes,
    PodInfo,
    Reads,
    Rejected,
    Resource,
    Verdicts,
    WakeOn,
    unresolvable,
)

NO_ROOM = Rejected("not enough resources")
NO_MATCH = unresolvable("custom labels do not match")


class CustomFilterPlugin(FilterPlugin):
    """Checks room and labels."""

    reads = Reads.USAGE | Reads.ALLOCATABLE | Reads.LABELS

    labels: tuple[str, ...] = ()

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Verdicts:
        index = np.zeros(len(nodes), np.int16)
        for resource, amount in pod.requests.items():
            if amount:
                index[nodes.free(resource) < amount] = 2
        for key in self.labels:
            if key in pod.labels:
                index[nodes.by_label(key, partial(ne, pod.labels[key])) > 0] = 1
        return Verdicts(index, (NO_MATCH, NO_ROOM))

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        for key in self.labels:
            if key in pod.labels and node.labels.get(key, "") != pod.labels[key]:
                return NO_MATCH
        for resource, amount in pod.requests.items():
            if amount and node.free[resource] < amount:
                return NO_ROOM
        return None

    def wakes_on(self) -> Sequence[WakeOn]:
        changed = Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE
        return (
            WakeOn(Resource.NODE, changed),
            WakeOn(Resource.ASSIGNED_POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN),
            WakeOn(Resource.POD, Action.UPDATE_POD_LABEL),
        )
