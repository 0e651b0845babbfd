"""CostOptimizationPlugin: the pod goes where it is cheapest to run.

Reads:  what the pod requests; the hourly price of each node, from the first of these that knows it:
        1. ``node.usage.price``, as a provider reports it;
        2. ``instancePrices`` by the label ``node.kubernetes.io/instance-type``, or by ``provider/type`` where clouds are
           mixed (``providerLabel`` tells which node is whose);
        3. ``costMetrics``: per core, per GiB and per GPU, times what the node offers.
        The last two are list prices: a spot node costs ``spotDiscount`` less.
Says:   the pod's price is the node's, times the share of the node that the pod takes, each resource weighed by its
        price in ``costMetrics``. As score 100 for the cheapest node and 50 for one that costs twice as much;
        with ``preferSpotInstances`` half of that for nodes that are not spot. As filter, turns down nodes on which
        the pod would cost more than ``maxCostThreshold`` per hour. The raw score in the decision record is the price
        in millionths: ``bayplan explain`` prices every decision.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import eq
from types import MappingProxyType
from typing import Any, Final

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
    Verdicts,
    WakeOn,
    unresolvable,
)

INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
#: The resources that ``costMetrics`` prices, and how much of each one unit is.
RESOURCES: Final = {"cpu": ("cpu", 1000), "memory": ("memory", 2**30), "gpu": ("nvidia.com/gpu", 1)}
MILLIONTHS: Final = 1_000_000
#: Dearer than any node: prices stay far from what 64 bits hold.
MOST: Final = 1e12


class CostOptimizationPlugin(FilterPlugin, ScorePlugin):
    """Prices every node for the pod."""

    reads = Reads.LABELS | Reads.ALLOCATABLE | Reads.DATA

    cost_metrics: Mapping[str, float] = MappingProxyType({"cpu": 0.05, "memory": 0.01, "gpu": 2.0})
    prefer_spot_instances: bool = False
    #: Per hour; 0: no limit.
    max_cost_threshold: float = 0.0
    instance_prices: Mapping[str, float] = MappingProxyType({})
    provider_label: str = "cloud-provider"
    #: Label and value of spot nodes.
    spot_labels: Mapping[str, str] = MappingProxyType(
        {
            "spot-instance": "true",
            "karpenter.sh/capacity-type": "spot",
            "eks.amazonaws.com/capacityType": "SPOT",
            "cloud.google.com/gke-spot": "true",
            "kubernetes.azure.com/scalesetpriority": "spot",
        }
    )
    spot_discount: float = 0.7

    @classmethod
    def check_args(cls, args: Any) -> Iterator[tuple[str, str]]:
        for name, price in args.cost_metrics.items():
            if name not in RESOURCES:
                yield f"costMetrics.{name}", f"Unsupported value: one of {', '.join(RESOURCES)}"
            elif not 0 <= price < MOST:
                yield f"costMetrics.{name}", f"Invalid value: {price}: must not be negative"
        for name, price in args.instance_prices.items():
            if not 0 <= price < MOST:
                yield f"instancePrices[{name}]", f"Invalid value: {price}: must not be negative"
        if not 0 <= args.spot_discount < 1:
            yield "spotDiscount", f"Invalid value: {args.spot_discount}: from 0 to less than 1"
        if args.max_cost_threshold < 0:
            yield "maxCostThreshold", f"Invalid value: {args.max_cost_threshold}: is negative"

    def setup(self) -> None:
        self._too_dear = unresolvable(
            f"pod would cost more than {self.max_cost_threshold:g} per hour"
        )
        self._providers = {key.partition("/")[0] for key in self.instance_prices if "/" in key}

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Verdicts | None:
        if not self.max_cost_threshold:
            return None
        dear = self._prices(pod, nodes) > self.max_cost_threshold
        return Verdicts(dear.astype(np.int16), (self._too_dear,))

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        if not self.max_cost_threshold or self._price(pod, node) <= self.max_cost_threshold:
            return None
        return self._too_dear

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores:
        prices = self._prices(pod, nodes)
        if self.prefer_spot_instances:
            prices = np.where(self._spot(nodes), prices, prices * 2)
        raw: Scores = np.floor(prices * MILLIONTHS).astype(np.int64)
        return raw

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        price = self._price(pod, node)
        if self.prefer_spot_instances and not self._is_spot(node):
            price *= 2
        return math.floor(price * MILLIONTHS)

    def normalize(self, raw: Scores, feasible: Mask, state: CycleState) -> Scores:
        if not feasible.any():
            return np.zeros_like(raw)
        cheapest = max(int(raw[feasible].min()), 1)
        scores: Scores = np.minimum(cheapest * 100 // np.maximum(raw, 1), 100)
        return scores

    def wakes_on(self) -> Sequence[WakeOn]:
        changed = Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE
        return (WakeOn(Resource.NODE, changed), WakeOn(Resource.DATA, Action.UPDATE))

    # --- one node
    def _price(self, pod: PodInfo, node: NodeInfo) -> float:
        """What the pod costs on the node, per hour."""
        asked, offered = 0.0, 0.0
        for name, price in self.cost_metrics.items():
            resource, unit = RESOURCES[name]
            asked += pod.requests.get(resource, 0) / unit * price
            offered += node.allocatable[resource] / unit * price
        measured = node.data("price")
        if not math.isnan(measured):
            whole = measured
        else:
            labels = node.labels
            kind = labels.get(INSTANCE_TYPE, "")
            whole = self._list_price(labels.get(self.provider_label, ""), kind)
            whole = offered if math.isnan(whole) else whole
            whole = whole * (1 - self.spot_discount) if self._is_spot(node) else whole
        return min(whole * (asked / offered), MOST) if offered > 0 else 0.0

    def _is_spot(self, node: NodeInfo) -> bool:
        labels = node.labels
        return any(labels.get(key) == value for key, value in self.spot_labels.items())

    def _list_price(self, provider: str, kind: str) -> float:
        prices = self.instance_prices
        return prices.get(f"{provider}/{kind}", prices.get(kind, math.nan))

    # --- all nodes
    def _prices(self, pod: PodInfo, nodes: Nodes) -> Any:
        asked, offered = 0.0, np.zeros(len(nodes))
        for name, price in self.cost_metrics.items():
            resource, unit = RESOURCES[name]
            asked += pod.requests.get(resource, 0) / unit * price
            offered = offered + nodes.allocatable(resource) / unit * price
        whole = offered
        if self.instance_prices:
            listed = nodes.by_label(INSTANCE_TYPE, partial(self._list_price, ""))
            for provider in self._providers:
                is_its = nodes.by_label(self.provider_label, partial(eq, provider))
                its = nodes.by_label(INSTANCE_TYPE, partial(self._list_price, provider))
                listed = np.where(is_its > 0, its, listed)
            whole = np.where(np.isnan(listed), whole, listed)
        whole = np.where(self._spot(nodes), whole * (1 - self.spot_discount), whole)
        measured = nodes.data("price")
        whole = np.where(np.isnan(measured), whole, measured)
        share = np.divide(asked, offered, out=np.zeros(len(nodes)), where=offered > 0)
        return np.minimum(whole * share, MOST)

    def _spot(self, nodes: Nodes) -> Any:
        spot = np.zeros(len(nodes), np.bool_)
        for key, value in self.spot_labels.items():
            spot |= nodes.by_label(key, partial(eq, value)) > 0
        return spot
