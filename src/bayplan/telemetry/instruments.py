"""Counters and histograms as plain dicts and lists: what a metric is made of.

Fed by ``metrics``, which names them; read by ``exposition``, which writes them out. prometheus_client's own need five to ten
times as long per observation, and there are dozens of observations per pod.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["counter", "gauge", "histogram"]
Level = Literal["STABLE", "BETA", "ALPHA"]

#: Label values of one series, in the order of the metric's label names.
Labels = tuple[str, ...]

#: So many series of one metric and no more: a label that a user can make up (an event, a host) must not fill the memory.
MAX_SERIES: Final = 2000
#: What the label values of all further series are replaced by.
OTHER: Final = "other"


@dataclass(frozen=True, slots=True)
class Spec:
    """What a metric is called and how it is divided."""

    name: str
    kind: Kind
    help: str
    labels: Labels = ()
    #: Upper bounds, ascending, without +Inf; a histogram's only.
    buckets: tuple[float, ...] = ()
    #: As Kubernetes grades its metrics; None for bayplan's own.
    level: Level | None = None


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Bounds that grow by a factor, multiplied one by one so that the last digits equal those of Go's loop."""
    bounds = [start]
    while len(bounds) < count:
        bounds.append(bounds[-1] * factor)
    return tuple(bounds)


class CounterVec:
    """A count per combination of labels."""

    __slots__ = ("_overflowed", "spec", "values")

    def __init__(self, spec: Spec, overflowed: Callable[[str], None]) -> None:
        self.spec = spec
        #: Per series, how often.
        self.values: dict[Labels, float] = {}
        self._overflowed = overflowed
        if not spec.labels:
            self.values[()] = 0

    def inc(self, key: Labels = (), by: float = 1) -> None:
        """Count; a series comes into being when it is first counted."""
        try:
            self.values[key] += by
        except KeyError:
            if len(self.values) >= MAX_SERIES:
                self._overflowed(self.spec.name)
                key = (OTHER,) * len(self.spec.labels)
            self.values[key] = self.values.get(key, 0) + by


class HistogramVec:
    """Counts per bucket and a sum, per combination of labels."""

    __slots__ = ("_overflowed", "bounds", "cells", "spec")

    def __init__(self, spec: Spec, overflowed: Callable[[str], None]) -> None:
        self.spec = spec
        self.bounds = spec.buckets
        #: Per series: one count per bucket (not cumulated), one for what exceeds them all, and last the sum of all values.
        self.cells: dict[Labels, list[float]] = {}
        self._overflowed = overflowed
        if not spec.labels:
            self._open(())

    def observe(self, key: Labels, value: float) -> None:
        """Count a value into its bucket."""
        try:
            cells = self.cells[key]
        except KeyError:
            cells = self._open(key)
        cells[bisect_left(self.bounds, value)] += 1
        cells[-1] += value

    def _open(self, key: Labels) -> list[float]:
        if len(self.cells) >= MAX_SERIES:
            self._overflowed(self.spec.name)
            key = (OTHER,) * len(self.spec.labels)
        return self.cells.setdefault(key, [0] * (len(self.bounds) + 1) + [0.0])


class GaugeVec:
    """Values that are asked for when somebody looks, so that nobody has to keep them up to date.

    ``pull`` is set by the composition root; until then there is nothing to show.
    """

    __slots__ = ("pull", "spec")

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.pull: Callable[[], Mapping[Labels, float]] = dict


Instrument = CounterVec | HistogramVec | GaugeVec
