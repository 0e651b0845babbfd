"""NUMATopology: pods that get CPUs of their own go where one NUMA node can hold them whole.

Reads:  for each NUMA node of each node what is available there, in the columns ``numa.<i>.<resource>`` (CPU in milli-
        units), as the provider ``numaTopology`` takes them from NodeResourceTopology objects.
Says:   nothing of pods that are not Guaranteed: kubelet's topology manager does not align them. Of the others, with
        ``policy: single-numa-node``, it turns down nodes on which no NUMA node has all that the pod asks for, since
        kubelet would refuse the pod there; with ``best-effort`` it turns down none. As score 100 where one NUMA node
        can hold the pod, else 0.

The pod counts as a whole (kubelet's scope ``pod``). Guaranteed pods that were placed since the objects were last written are not
in them, and which NUMA node they will get nobody knows: what they ask for (``numa.unreported.<resource>``) counts as taken on
each. So a node may be turned down for some seconds though one of its NUMA nodes would hold the pod, and never the other way round.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import numpy as np

from bayplan import (
    UNKNOWN,
    Action,
    CycleState,
    FilterPlugin,
    Mask,
    Missing,
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
    fill_unknown,
)

NOT_ALIGNED: Final = Rejected("cannot align the pod to one NUMA node")
NO_DATA: Final = Rejected("no data for 'numa.0.cpu'")
#: Before the resource: what pods have been given of which no report tells yet.
UNREPORTED: Final = "numa.unreported."


class NUMATopology(FilterPlugin, ScorePlugin):
    """Keeps a pod's CPUs, memory and devices together."""

    reads = Reads.DATA

    policy: Literal["single-numa-node", "best-effort"] = "single-numa-node"
    resources: tuple[str, ...] = ("cpu", "memory", "nvidia.com/gpu")
    #: How many NUMA nodes a node has at most.
    most_numa_nodes: int = 8
    missing: Missing = "neutral"

    @classmethod
    def check_args(cls, args: Any) -> Iterator[tuple[str, str]]:
        if not 1 <= args.most_numa_nodes <= 64:
            yield "mostNumaNodes", f"Invalid value: {args.most_numa_nodes}: must be from 1 to 64"
        if not args.resources:
            yield "resources", "Required value: at least one resource"

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Verdicts | None:
        if self.policy == "best-effort" or not pod.is_guaranteed:
            return None
        index = np.where(self._fits(pod, nodes), np.int16(0), np.int16(1))
        index[np.isnan(nodes.data("numa.0.cpu"))] = 2 if self.missing == "reject" else 0
        return Verdicts(index, (NOT_ALIGNED, NO_DATA))

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        if self.policy == "best-effort" or not pod.is_guaranteed:
            return None
        return None if self._fits_on(pod, node) else NOT_ALIGNED

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores | int:
        if not pod.is_guaranteed:
            return 0
        known = ~np.isnan(nodes.data("numa.0.cpu"))
        return np.where(known, np.where(self._fits(pod, nodes), 100, 0), UNKNOWN).astype(np.int64)

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        return 100 if pod.is_guaranteed and self._fits_on(pod, node) else 0

    def normalize(self, raw: Scores, feasible: Mask, state: CycleState) -> Scores:
        return fill_unknown(raw, feasible, self.missing)

    def wakes_on(self) -> Sequence[WakeOn]:
        return (WakeOn(Resource.DATA, Action.UPDATE), WakeOn(Resource.NODE, Action.ADD))

    def _fits(self, pod: PodInfo, nodes: Nodes) -> Mask:
        somewhere = np.zeros(len(nodes), np.bool_)
        taken = {r: np.nan_to_num(nodes.data(UNREPORTED + r)) for r, _ in self._asked(pod)}
        for numa_node in range(self.most_numa_nodes):
            there = ~np.isnan(nodes.data(f"numa.{numa_node}.cpu"))
            for resource, amount in self._asked(pod):
                left = nodes.data(f"numa.{numa_node}.{resource}") - taken[resource]
                there &= left >= amount  # NaN is not
            somewhere |= there
        return somewhere

    def _fits_on(self, pod: PodInfo, node: NodeInfo) -> bool:
        assert node.usage["numa.0.cpu"] is not None  # or else DataMissing
        return any(
            not math.isnan(node.data(f"numa.{numa_node}.cpu"))
            and all(
                node.data(f"numa.{numa_node}.{resource}") - self._taken(node, resource) >= amount
                for resource, amount in self._asked(pod)
            )
            for numa_node in range(self.most_numa_nodes)
        )

    def _taken(self, node: NodeInfo, resource: str) -> float:
        amount = node.data(UNREPORTED + resource)
        return 0.0 if math.isnan(amount) else amount

    def _asked(self, pod: PodInfo) -> list[tuple[str, int]]:
        asked = [(resource, pod.requests.get(resource, 0)) for resource in self.resources]
        return [(resource, amount) for resource, amount in asked if amount]
