"""LowCpuScheduler: only nodes whose measured CPU is below a threshold, ranked by that measurement.

Reads:  ``node.usage.cpu`` and, with ``memoryThreshold``, ``node.usage.memory``: shares of capacity from 0 to 1.
Says:   a node above the threshold is turned down. Scores by ``strategy``:

        * ``least``: 100 for an idle node, 0 for one at full load.
        * ``targetPacking``: best where the pod brings the node to ``target``; beyond it a node loses fast, so that
          nodes fill up to the target one after the other.
        * ``riskBalancing``: mean and spread of the load together (``cpu_stddev``, ``memory_stddev``): rather a node
          that is busy and steady than one that is mostly idle and sometimes full.

Pods that were placed since the last measurement are not in it. ``countRequests`` takes what the pods on a node have
asked for as the least that they use, so that a burst of pods does not pile up on the node that was idle a minute ago.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

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

TOO_HIGH = {r: Rejected(f"{r} usage too high") for r in ("cpu", "memory")}
NO_DATA = {r: Rejected(f"no data for {r!r}") for r in TOO_HIGH}


class LowCpuScheduler(FilterPlugin, ScorePlugin):
    """Keeps pods off busy nodes, by what was measured there."""

    reads = Reads.DATA | Reads.ALLOCATABLE | Reads.USAGE

    threshold: float = 0.8
    memory_threshold: float | None = None
    strategy: Literal["least", "targetPacking", "riskBalancing"] = "least"
    target: float = 0.4
    risk_margin: float = 1.0
    count_requests: bool = False
    missing: Missing = "reject"

    @classmethod
    def check_args(cls, args: Any) -> Iterator[tuple[str, str]]:
        for path, value in (("threshold", args.threshold), ("target", args.target)):
            if not 0 < value <= 1:
                yield path, f"Invalid value: {value}: must be a share above 0, at most 1"
        if args.memory_threshold is not None and not 0 < args.memory_threshold <= 1:
            yield "memoryThreshold", f"Invalid value: {args.memory_threshold}: must be a share"
        if args.risk_margin < 0:
            yield "riskMargin", f"Invalid value: {args.risk_margin}: must not be negative"

    def setup(self) -> None:
        self._thresholds = {"cpu": self.threshold}
        if self.memory_threshold is not None:
            self._thresholds["memory"] = self.memory_threshold

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Verdicts:
        index = np.zeros(len(nodes), np.int16)
        unsettled = np.ones(len(nodes), np.bool_)
        outcomes: list[Rejected] = []
        for resource, threshold in self._thresholds.items():
            used = self._used(nodes, resource)
            high, unknown = unsettled & (used > threshold), unsettled & np.isnan(used)
            outcomes += [TOO_HIGH[resource], NO_DATA[resource]]
            index[high] = len(outcomes) - 1
            if self.missing == "reject":
                index[unknown] = len(outcomes)
            unsettled &= ~(high | unknown)
        return Verdicts(index, outcomes)

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        for resource, threshold in self._thresholds.items():
            if self._used_on(node, resource) > threshold:
                return TOO_HIGH[resource]
        return None

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores:
        best = np.full(len(nodes), np.inf)
        for resource in self._thresholds:
            used = self._used(nodes, resource)
            offered = np.maximum(nodes.allocatable(resource), 1)
            spread = (
                nodes.data(f"{resource}_stddev") if self.strategy == "riskBalancing" else used * 0
            )
            worth = self._worth(used, pod.requests.get(resource, 0) / offered, spread)
            best = np.minimum(best, worth)
        known = ~np.isnan(best)
        return np.where(known, np.where(known, best, 0), UNKNOWN).astype(np.int64)

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        scores = []
        for resource in self._thresholds:
            used = self._used_on(node, resource)
            asked = pod.requests.get(resource, 0) / max(node.allocatable[resource], 1)
            spread = node.usage[f"{resource}_stddev"] if self.strategy == "riskBalancing" else 0.0
            scores.append(float(self._worth(used, asked, spread)))
        return min(scores)

    def normalize(self, raw: Scores, feasible: Mask, state: CycleState) -> Scores:
        return fill_unknown(raw, feasible, self.missing)

    def wakes_on(self) -> Sequence[WakeOn]:
        return (
            WakeOn(Resource.DATA, Action.UPDATE),
            WakeOn(Resource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE),
        )

    def _used(self, nodes: Nodes, resource: str) -> Any:
        used = nodes.data(resource)
        if not self.count_requests:
            return used
        offered = np.maximum(nodes.allocatable(resource), 1)
        return np.maximum(used, nodes.requested(resource) / offered)  # NaN stays

    def _used_on(self, node: NodeInfo, resource: str) -> float:
        used = node.usage[resource]
        if not self.count_requests:
            return used
        return max(used, node.requested[resource] / max(node.allocatable[resource], 1))

    def _worth(self, used: Any, asked: Any, spread: Any) -> Any:
        """The score before fractions are cut off, of one node or of all."""
        if self.strategy == "least":
            worth = 1.0 - used
        elif self.strategy == "riskBalancing":
            mean = np.minimum(used + asked, 1.0)
            worth = 1.0 - (mean + np.minimum(self.risk_margin * spread, 1.0)) / 2
        else:
            then, target = used + asked, self.target
            rising = (1 - target) * then / target + target
            falling = target * (1 - then) / max(1 - target, 1e-9)
            worth = np.where(then <= target, rising, np.where(then <= 1, falling, used * 0))
        return np.clip(worth, 0.0, 1.0) * 100
