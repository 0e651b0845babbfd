"""EnergyPlugin: the pod goes where it adds least to the power bill, and not onto nodes that run hot.

Reads:  ``node.usage.temperature`` (degrees Celsius); the pod's CPU request; whether the node is empty; ``idleWatts``
        and ``maxWatts`` of its hardware, by the label ``powerClassLabel`` in ``powerClasses`` or the defaults.
Says:   power grows from idle to full in proportion to CPU, so a pod costs its share of that range, and on an empty
        node the idle power as well: an empty node can be switched off. As score 100 for the node that adds least and
        50 for one that adds twice as much, less 10 per degree within ten degrees of ``maxTemperature``. As filter,
        turns down nodes above ``maxTemperature``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import msgspec
import numpy as np

from bayplan import (
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
)

TOO_HOT: Final = Rejected("temperature is too high")
NO_DATA: Final = Rejected("no data for 'temperature'")
MILLIWATTS: Final = 1000
#: So many degrees below the limit a node begins to lose.
NEAR: Final = 10


class PowerClass(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What a kind of node draws, in watts."""

    idle_watts: float = 100
    max_watts: float = 300


class EnergyPlugin(FilterPlugin, ScorePlugin):
    """Ranks nodes by the watts that the pod adds."""

    reads = Reads.DATA | Reads.LABELS | Reads.ALLOCATABLE | Reads.USAGE

    idle_watts: float = 100
    max_watts: float = 300
    power_class_label: str = "node.kubernetes.io/instance-type"
    power_classes: Mapping[str, PowerClass] = MappingProxyType({})
    max_temperature: float = 80
    missing: Missing = "neutral"

    @classmethod
    def check_args(cls, args: Any) -> Iterator[tuple[str, str]]:
        if not 0 <= args.idle_watts <= args.max_watts < math.inf:
            yield "maxWatts", f"Invalid value: {args.max_watts}: must be at least idleWatts"
        for name, power in args.power_classes.items():
            if not 0 <= power.idle_watts <= power.max_watts < math.inf:
                yield f"powerClasses[{name}]", "Invalid value: maxWatts is less than idleWatts"

    def setup(self) -> None:
        self._default = PowerClass(self.idle_watts, self.max_watts)

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Verdicts:
        temperature = nodes.data("temperature")
        index = np.where(temperature > self.max_temperature, np.int16(1), np.int16(0))
        if self.missing == "reject":
            index[np.isnan(temperature)] = 2
        return Verdicts(index, (TOO_HOT, NO_DATA))

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        return TOO_HOT if node.usage.temperature > self.max_temperature else None

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores:
        idle = nodes.by_label(self.power_class_label, lambda kind: self._power(kind).idle_watts)
        full = nodes.by_label(self.power_class_label, lambda kind: self._power(kind).max_watts)
        share = pod.requests.get("cpu", 0) / np.maximum(nodes.allocatable("cpu"), 1)
        watts = (full - idle) * share + np.where(nodes.pod_count == 0, idle, 0.0)
        raw: Scores = self._packed(watts, nodes.data("temperature"))
        return raw

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        power = self._power(node.labels.get(self.power_class_label, ""))
        share = pod.requests.get("cpu", 0) / max(node.allocatable["cpu"], 1)
        watts = (power.max_watts - power.idle_watts) * share
        watts += power.idle_watts if node.pod_count == 0 else 0.0
        return int(self._packed(watts, node.data("temperature")))

    def normalize(self, raw: Scores, feasible: Mask, state: CycleState) -> Scores:
        if not feasible.any():
            return np.zeros_like(raw)
        watts, penalty = np.maximum(raw // 128, 1), raw % 128
        least = int(watts[feasible].min())
        scores: Scores = np.maximum(np.minimum(least * 100 // watts, 100) - penalty, 0)
        return scores

    def wakes_on(self) -> Sequence[WakeOn]:
        return (WakeOn(Resource.DATA, Action.UPDATE), WakeOn(Resource.NODE, Action.ADD))

    def _power(self, kind: str) -> PowerClass:
        return self.power_classes.get(kind, self._default)

    def _packed(self, watts: Any, temperature: Any) -> Any:
        """Milliwatts and the loss by heat in one raw score; a node of unknown temperature loses nothing."""
        heat = np.nan_to_num(temperature - (self.max_temperature - NEAR), nan=0.0)
        penalty = np.clip(np.floor(heat * 10), 0, 100).astype(np.int64)
        milliwatts = np.floor(np.minimum(watts * MILLIWATTS, 1e14)).astype(np.int64)
        return milliwatts * 128 + penalty
