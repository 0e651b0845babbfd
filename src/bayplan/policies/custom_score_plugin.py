"""CustomScorePlugin: room for growth, and GPU nodes left to those who need them.

Reads:  what the pod leaves free of the node's CPU and memory; with ``enableGPUScheduling``, who has and wants GPUs.
Says:   ten times the free share, times ``weightFactor``, at most 100: with 10, an empty node gets 100. Half of that where
        the pod and the node are no match: a GPU node for a pod without, or the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from bayplan import CycleState, NodeInfo, Nodes, PodInfo, Reads, ScorePlugin, Scores

GPU: Final = "nvidia.com/gpu"


class CustomScorePlugin(ScorePlugin):
    """Ranks nodes by what is left."""

    reads = Reads.USAGE | Reads.ALLOCATABLE

    weight_factor: int = 10
    enable_gpu_scheduling: bool = False

    @classmethod
    def check_args(cls, args: Any) -> Iterator[tuple[str, str]]:
        if not 0 <= args.weight_factor <= 100:
            yield "weightFactor", f"Invalid value: {args.weight_factor}: must be from 0 to 100"

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores:
        left = np.full(len(nodes), np.inf)
        for resource in ("cpu", "memory"):
            free = nodes.free(resource) - pod.requests.get(resource, 0)
            left = np.minimum(left, free / np.maximum(nodes.allocatable(resource), 1))
        worth: Scores = self._worth(pod, left, nodes.allocatable(GPU) > 0).astype(np.int64)
        return worth

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        left = min(
            (node.free[resource] - pod.requests.get(resource, 0))
            / max(node.allocatable[resource], 1)
            for resource in ("cpu", "memory")
        )
        return float(self._worth(pod, left, node.allocatable[GPU] > 0))

    def _worth(self, pod: PodInfo, left: Any, has_gpu: Any) -> Any:
        worth = np.clip(np.maximum(left, 0.0) * 10 * self.weight_factor, 0.0, 100.0)
        if not self.enable_gpu_scheduling:
            return worth
        return np.where(has_gpu == (pod.requests.get(GPU, 0) > 0), worth, worth / 2)
