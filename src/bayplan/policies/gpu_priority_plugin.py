"""GPUPriorityPlugin: pods that ask for GPUs go to nodes that have them, and other pods rather stay away from those.

Reads:  the pod's request of ``resource``, and which nodes offer it (a node whose GPUs are all broken offers none).
Says:   as filter, a pod that asks for GPUs only goes where there are some. As score, times ``gpuWeight`` / 100:

        ================  ===============  ==================
        .                 node with GPUs   node without GPUs
        ================  ===============  ==================
        pod with GPUs     100              0
        pod without GPUs  10               50
        ================  ===============  ==================
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bayplan import (
    Action,
    CycleState,
    FilterPlugin,
    Mask,
    NodeInfo,
    Nodes,
    PodInfo,
    Reads,
    Rejected,
    Resource,
    ScorePlugin,
    Scores,
    WakeOn,
    unresolvable,
)

NO_GPU = unresolvable("node(s) have no GPU")


class GPUPriorityPlugin(FilterPlugin, ScorePlugin):
    """Keeps GPU nodes for GPU pods."""

    reads = Reads.ALLOCATABLE
    rejection = NO_GPU

    gpu_weight: int = 100
    resource: str = "nvidia.com/gpu"

    @classmethod
    def check_args(cls, args: Any) -> Iterator[tuple[str, str]]:
        if not 0 <= args.gpu_weight <= 100:
            yield "gpuWeight", f"Invalid value: {args.gpu_weight}: must be from 0 to 100"

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Mask | None:
        return nodes.allocatable(self.resource) > 0 if self._wants(pod) else None

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        return NO_GPU if self._wants(pod) and node.allocatable[self.resource] <= 0 else None

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores:
        here, elsewhere = self._scores(pod)
        return np.where(nodes.allocatable(self.resource) > 0, np.int64(here), np.int64(elsewhere))

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        return self._scores(pod)[0 if node.allocatable[self.resource] > 0 else 1]

    def wakes_on(self) -> Sequence[WakeOn]:
        return (WakeOn(Resource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE),)

    def _wants(self, pod: PodInfo) -> bool:
        return pod.requests.get(self.resource, 0) > 0

    def _scores(self, pod: PodInfo) -> tuple[int, int]:
        """The score of a node with GPUs, and of one without."""
        here, elsewhere = (100, 0) if self._wants(pod) else (10, 50)
        return here * self.gpu_weight // 100, elsewhere * self.gpu_weight // 100
