"""BusinessScorePlugin: cost, performance and reliability in one score.

Reads:  the pod's requests; the node's price by instance type (``instancePrices``, or ``basePrice``) times the largest
        share of the node that the pod takes; performance (CPU, network, storage) and reliability from 0 to 100 as the
        node's labels say (``bayplan.io/cpu-performance`` and so on), 50 where they do not.
Says:   40 % cost, 35 % performance, 25 % reliability (``weights``), each part cut to a whole number. Cost is 100 up to
        1 per hour, 80 up to 2, 60 up to 5, else 20.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from bayplan import CycleState, NodeInfo, Nodes, PodInfo, Reads, ScorePlugin, Scores

INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
PERFORMANCE: Final = tuple(f"bayplan.io/{p}-performance" for p in ("cpu", "network", "storage"))
RELIABILITY: Final = "bayplan.io/reliability"
PARTS: Final = ("cost", "performance", "reliability")
RESOURCES: Final = ("cpu", "memory", "nvidia.com/gpu")
UNRATED: Final = 50


class BusinessScorePlugin(ScorePlugin):
    """Weighs what a node costs against what it is good for."""

    reads = Reads.LABELS | Reads.ALLOCATABLE

    #: In percent; they add up to at most 100.
    weights: Mapping[str, int] = MappingProxyType(
        {"cost": 40, "performance": 35, "reliability": 25}
    )
    instance_prices: Mapping[str, float] = MappingProxyType({})
    #: Per hour, for instance types that are not listed.
    base_price: float = 1.0

    @classmethod
    def check_args(cls, args: Any) -> Iterator[tuple[str, str]]:
        for name, weight in args.weights.items():
            if name not in PARTS:
                yield f"weights.{name}", f"Unsupported value: one of {', '.join(PARTS)}"
            elif weight < 0:
                yield f"weights.{name}", f"Invalid value: {weight}: must not be negative"
        if sum(args.weights.values()) > 100:
            yield "weights", "Invalid value: they add up to more than 100"

    def setup(self) -> None:
        self._weights = {part: self.weights.get(part, 0) / 100 for part in PARTS}

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores:
        share = np.zeros(len(nodes))
        for resource in RESOURCES:
            asked = pod.requests.get(resource, 0)
            if asked:
                share = np.maximum(share, asked / np.maximum(nodes.allocatable(resource), 1))
        price = nodes.by_label(INSTANCE_TYPE, self._price_of) * share
        cost = np.select([price <= 1.0, price <= 2.0, price <= 5.0], [100, 80, 60], 20)
        performance = sum(nodes.by_label(label, _rating) for label in PERFORMANCE) // 3
        total = self._total(cost, performance, nodes.by_label(RELIABILITY, _rating))
        whole: Scores = total.astype(np.int64)
        return whole

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        share = 0.0
        for resource in RESOURCES:
            asked = pod.requests.get(resource, 0)
            if asked:
                share = max(share, asked / max(node.allocatable[resource], 1))
        price = self._price_of(node.labels.get(INSTANCE_TYPE, "")) * share
        cost = 100 if price <= 1.0 else 80 if price <= 2.0 else 60 if price <= 5.0 else 20
        performance = sum(_rating(node.labels.get(label, "")) for label in PERFORMANCE) // 3
        return int(self._total(cost, performance, _rating(node.labels.get(RELIABILITY, ""))))

    def _price_of(self, kind: str) -> float:
        return self.instance_prices.get(kind, self.base_price)

    def _total(self, cost: Any, performance: Any, reliability: Any) -> Any:
        parts = zip((cost, performance, reliability), self._weights.values(), strict=True)
        return sum(np.floor(score * weight) for score, weight in parts)


def _rating(text: str) -> float:
    return min(int(text), 100) if text.isascii() and text.isdigit() else UNRATED
