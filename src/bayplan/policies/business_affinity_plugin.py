"""BusinessAffinityPlugin: core business on core nodes, no database at the edge, and everybody near their zone.

Reads:  the pod's labels ``business-type``, ``business-level`` and ``preferred-zone``; the nodes' ``node-level`` and
        ``zone`` (``zoneLabel``: for clusters that have ``topology.kubernetes.io/zone`` alone).
Says:   turns down nodes of another level for core business, and edge nodes for databases; 100 for a node in the
        preferred zone, 20 for others. A pod without a preference is at home on nodes without a zone.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    ScorePlugin,
    Scores,
    Verdicts,
    WakeOn,
    unresolvable,
)

NOT_CORE = unresolvable("核心业务必须部署在核心节点")
AT_THE_EDGE = unresolvable("数据库业务不能部署在边缘节点")

NEAR, FAR = 100, 20


class BusinessAffinityPlugin(FilterPlugin, ScorePlugin):
    """Places pods by what they mean to the business."""

    reads = Reads.LABELS

    zone_label: str = "zone"
    level_label: str = "node-level"

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Verdicts | None:
        core, database = _is_core(pod), _is_database(pod)
        if not core and not database:
            return None
        index = np.zeros(len(nodes), np.int16)
        if database:
            index[nodes.by_label(self.zone_label, lambda zone: zone == "edge") > 0] = 2
        if core:
            index[nodes.by_label(self.level_label, lambda level: level != "core") > 0] = 1
        return Verdicts(index, (NOT_CORE, AT_THE_EDGE))

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        if _is_core(pod) and node.labels.get(self.level_label) != "core":
            return NOT_CORE
        if _is_database(pod) and node.labels.get(self.zone_label) == "edge":
            return AT_THE_EDGE
        return None

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores:
        wanted = pod.labels.get("preferred-zone", "")
        return nodes.by_label(self.zone_label, lambda zone: NEAR if zone == wanted else FAR).astype(
            np.int64
        )

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        wanted = pod.labels.get("preferred-zone", "")
        return NEAR if node.labels.get(self.zone_label, "") == wanted else FAR

    def wakes_on(self) -> Sequence[WakeOn]:
        return (
            WakeOn(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
            WakeOn(Resource.POD, Action.UPDATE_POD_LABEL),
        )


def _is_core(pod: PodInfo) -> bool:
    return pod.labels.get("business-level") == "core"


def _is_database(pod: PodInfo) -> bool:
    return pod.labels.get("business-type") == "database"
