"""ComplianceZone: data stay in their region, and pods on nodes that are secure enough for them.

Reads:  the pod's labels ``data-residency`` (a name in ``residencies``, or a region) and ``security-level`` (a number);
        the nodes' region and ``security-level``.
Says:   turns down nodes in other regions or in none, and nodes of a lower level or of none. What is not a number
        counts as the highest level on a pod and as the lowest on a node: a typing error never opens a door.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

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


class ComplianceZone(FilterPlugin):
    """Enforces where data may be and how well they must be guarded."""

    reads = Reads.LABELS

    residency_label: str = "data-residency"
    security_label: str = "security-level"
    region_label: str = "topology.kubernetes.io/region"
    #: Residency to regions: ``eu: [eu-west-1, eu-central-1]``.
    residencies: Mapping[str, tuple[str, ...]] = MappingProxyType({})

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Verdicts | None:
        residency, wanted = self._wishes(pod)
        if not residency and wanted <= 0:
            return None
        index = np.zeros(len(nodes), np.int16)
        if wanted > 0:
            low = nodes.by_label(self.security_label, lambda level: _number(level, 0) < wanted)
            index[low > 0] = 2
        if residency:
            regions = self._regions(residency)
            index[nodes.by_label(self.region_label, lambda region: region not in regions) > 0] = 1
        return Verdicts(index, (_outside(residency), _too_low(wanted)))

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        residency, wanted = self._wishes(pod)
        if residency and node.labels.get(self.region_label, "") not in self._regions(residency):
            return _outside(residency)
        if wanted > 0 and _number(node.labels.get(self.security_label, ""), 0) < wanted:
            return _too_low(wanted)
        return None

    def wakes_on(self) -> Sequence[WakeOn]:
        return (
            WakeOn(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
            WakeOn(Resource.POD, Action.UPDATE_POD_LABEL),
        )

    def _wishes(self, pod: PodInfo) -> tuple[str, float]:
        level = pod.labels.get(self.security_label, "")
        wanted = _number(level, float("inf")) if level else 0
        return pod.labels.get(self.residency_label, ""), wanted

    def _regions(self, residency: str) -> tuple[str, ...]:
        return self.residencies.get(residency, (residency,))


def _number(text: str, otherwise: float) -> float:
    return int(text) if text.isascii() and text.isdigit() else otherwise


def _outside(residency: str) -> Rejected:
    return unresolvable(f"data must stay in {residency}")


def _too_low(wanted: float) -> Rejected:
    return unresolvable(f"security level is below {wanted:g}")
