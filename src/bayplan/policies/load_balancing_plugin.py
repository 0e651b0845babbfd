"""LoadBalancingPlugin: the node that is least loaded once the pod is there.

Reads:  for each of ``resources``, what the pods on the node have requested and, where it was measured, what they use
        (``node.usage``): whichever is more counts as the load.
Says:   100 for a node that stays empty, 0 for one whose scarcest resource is used up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from bayplan import CycleState, NodeInfo, Nodes, PodInfo, Reads, ScorePlugin, Scores


class LoadBalancingPlugin(ScorePlugin):
    """Evens out the load."""

    reads = Reads.USAGE | Reads.ALLOCATABLE | Reads.DATA

    resources: tuple[str, ...] = ("cpu", "memory")

    @classmethod
    def check_args(cls, args: Any) -> Iterator[tuple[str, str]]:
        if not args.resources:
            yield "resources", "Required value: at least one resource"

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores:
        highest = np.zeros(len(nodes))
        for resource in self.resources:
            offered = np.maximum(nodes.allocatable(resource), 1)
            used = np.fmax(nodes.requested(resource) / offered, nodes.data(resource))
            highest = np.maximum(highest, used + pod.requests.get(resource, 0) / offered)
        return (np.clip(1.0 - highest, 0.0, 1.0) * 100).astype(np.int64)

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        highest = 0.0
        for resource in self.resources:
            offered = max(node.allocatable[resource], 1)
            used, measured = node.requested[resource] / offered, node.data(resource)
            used = used if math.isnan(measured) else max(used, measured)
            highest = max(highest, used + pod.requests.get(resource, 0) / offered)
        return min(max(1.0 - highest, 0.0), 1.0) * 100
