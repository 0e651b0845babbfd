"""NetworkLatencyPlugin: near, by measured latency, to where the pod's traffic comes from.

Reads:  a latency in milliseconds per node: ``node.usage.latency``, or for a pod whose label or annotation
        ``bayplan.io/latency-from`` names a zone, ``latency.<zone>``: a matrix of latencies, one column for each origin.
        Without measurements, ``latencies`` gives them by zone of origin and zone of the node.
Says:   as filter, turns down nodes farther away than ``maxLatencyMs``; as score, 100 for none, 0 for ``maxLatencyMs``,
        times ``latencyWeight`` / 100.

``measurementInterval`` is how often the latencies are measured: those that are older than twice that count as missing
(see ``keeps_for``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

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

FROM: Final = "bayplan.io/latency-from"
ZONE: Final = "topology.kubernetes.io/zone"
TOO_FAR: Final = Rejected("network latency is too high")


class NetworkLatencyPlugin(FilterPlugin, ScorePlugin):
    """Ranks nodes by network latency."""

    reads = Reads.DATA | Reads.LABELS

    max_latency_ms: float = 10
    latency_weight: int = 100
    measurement_interval: str = "5m"
    #: Zone of origin to zone of the node to milliseconds.
    latencies: Mapping[str, Mapping[str, float]] = MappingProxyType({})
    missing: Missing = "neutral"

    @classmethod
    def check_args(cls, args: Any) -> Iterator[tuple[str, str]]:
        if args.max_latency_ms <= 0:
            yield "maxLatencyMs", f"Invalid value: {args.max_latency_ms}: must be above 0"
        if not 0 <= args.latency_weight <= 100:
            yield "latencyWeight", f"Invalid value: {args.latency_weight}: must be from 0 to 100"
        if _seconds(args.measurement_interval) is None:
            text = args.measurement_interval
            yield "measurementInterval", f'Invalid value: "{text}": a duration like 30s, 5m or 1h'

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Verdicts:
        latency = self._latencies(pod, nodes)
        index = np.where(latency > self.max_latency_ms, np.int16(1), np.int16(0))
        if self.missing == "reject":
            index[np.isnan(latency)] = 2
        return Verdicts(index, (TOO_FAR, Rejected(f"no data for {self._metric(pod)!r}")))

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        return TOO_FAR if self._latency(pod, node) > self.max_latency_ms else None

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores:
        latency = self._latencies(pod, nodes)
        known = ~np.isnan(latency)
        worth = self._worth(np.where(known, latency, 0.0))
        return np.where(known, worth, UNKNOWN).astype(np.int64)

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        return float(self._worth(self._latency(pod, node)))

    def normalize(self, raw: Scores, feasible: Mask, state: CycleState) -> Scores:
        return fill_unknown(raw, feasible, self.missing)

    def wakes_on(self) -> Sequence[WakeOn]:
        return (
            WakeOn(Resource.DATA, Action.UPDATE),
            WakeOn(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
            WakeOn(Resource.POD, Action.UPDATE_POD_LABEL),
        )

    def keeps_for(self, metric: str) -> float | None:
        if metric != "latency" and not metric.startswith("latency."):
            return None
        return 2 * (_seconds(self.measurement_interval) or 0.0)

    def _worth(self, latency: Any) -> Any:
        near = np.clip(1.0 - latency / self.max_latency_ms, 0.0, 1.0)
        return near * self.latency_weight

    def _origin(self, pod: PodInfo) -> str:
        return pod.labels.get(FROM) or pod.annotations.get(FROM, "")

    def _metric(self, pod: PodInfo) -> str:
        origin = self._origin(pod)
        return f"latency.{origin}" if origin else "latency"

    def _latency(self, pod: PodInfo, node: NodeInfo) -> float:
        table = self.latencies.get(self._origin(pod), {})
        zone = node.labels.get(ZONE, "")
        metric = self._metric(pod)
        if zone in table and np.isnan(node.data(metric)):
            return table[zone]
        return node.usage[metric]

    def _latencies(self, pod: PodInfo, nodes: Nodes) -> Any:
        latency = nodes.data(self._metric(pod))
        table = self.latencies.get(self._origin(pod))
        if not table:
            return latency
        listed = nodes.by_label(ZONE, lambda zone: table.get(zone, np.nan))
        return np.where(np.isnan(latency), listed, latency)


def _seconds(text: str) -> float | None:
    """``5m`` in seconds; None where it is no duration."""
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h)", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
