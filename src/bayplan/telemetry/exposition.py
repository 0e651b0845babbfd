"""Metrics as text, in Prometheus' format 0.0.4, in pieces that are small enough not to hold up the event loop.

Reads ``metrics`` and, for ``/metrics/resources``, a function that lists what pods ask for. Read by ``serve`` (``render``,
``render_pod_resources``) and by programs that have a prometheus_client registry of their own (``MetricsCollector``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import accumulate
from typing import Final, NamedTuple

from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from bayplan.telemetry.instruments import (
    CounterVec,
    GaugeVec,
    HistogramVec,
    Instrument,
    Labels,
    Spec,
)

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

#: Pieces are about so long: 32 KiB take well under a millisecond to make.
_PIECE_CHARS: Final = 32 * 1024

_ESCAPES: Final = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


def render(instruments: Iterable[Instrument]) -> Iterator[bytes]:
    """The text of metrics. A metric that has no series yet does not appear, as in Kubernetes."""
    return _pieces(line for instrument in instruments for line in _lines(instrument))


def render_process() -> bytes:
    """The metrics of the process and of the Python in it: ``process_*`` and ``python_*``."""
    return generate_latest(_process_registry())


@cache
def _process_registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    return registry


class PodResource(NamedTuple):
    """What one pod asks for of one resource, or may at most use of it."""

    namespace: str
    pod: str
    #: Empty where the pod has no node yet.
    node: str
    scheduler: str
    #: Empty where the pod has none.
    priority: str
    resource: str
    #: In cores, bytes or pieces.
    amount: float


#: Lists requests (``limits=False``) or limits of all pods that are not finished. Amounts of 0 may be left out.
ListPodResources = Callable[[bool], Iterable[PodResource]]

_POD_LABELS: Final = ("namespace", "pod", "node", "scheduler", "priority", "resource", "unit")
POD_REQUEST: Final = Spec(
    "kube_pod_resource_request",
    "gauge",
    "What pods request, as scheduler and kubelet count it, with the unit where the resource has one.",
    _POD_LABELS,
    level="STABLE",
)
POD_LIMIT: Final = Spec(
    "kube_pod_resource_limit",
    "gauge",
    "What pods may use at most, as scheduler and kubelet count it, with the unit where the resource has one.",
    _POD_LABELS,
    level="STABLE",
)


def render_pod_resources(rows: ListPodResources) -> Iterator[bytes]:
    """The text of ``/metrics/resources``."""
    return _pieces(
        line
        for spec, limits in ((POD_LIMIT, True), (POD_REQUEST, False))
        for line in _gauge_lines(spec, _pod_series(rows(limits)))
    )


def _pod_series(rows: Iterable[PodResource]) -> Iterator[tuple[Labels, float]]:
    return (((*row[:-1], _unit(row.resource)), row.amount) for row in rows if row.amount)


def _unit(resource: str) -> str:
    if resource == "cpu":
        return "cores"
    if resource in {"memory", "storage", "ephemeral-storage"} or resource.startswith("hugepages-"):
        return "bytes"
    return "integer" if resource.startswith("attachable-volumes-") else ""


class MetricsCollector(Collector):
    """The same metrics for a prometheus_client registry."""

    def __init__(self, instruments: Iterable[Instrument]) -> None:
        self._instruments = list(instruments)

    def collect(self) -> Iterator[Metric]:
        """Called by the registry, in full each time."""
        for instrument in self._instruments:
            family = _family(instrument)
            if family.samples:
                yield family


def _family(instrument: Instrument) -> Metric:
    spec = instrument.spec
    text = _help(spec)
    if isinstance(instrument, HistogramVec):
        histogram = HistogramMetricFamily(spec.name, text, labels=spec.labels)
        for key, cells in list(instrument.cells.items()):
            counts = accumulate(cells[:-1])
            histogram.add_metric(key, list(zip(_bounds(spec), counts, strict=True)), cells[-1])
        return histogram
    if isinstance(instrument, CounterVec):
        counter = CounterMetricFamily(spec.name, text, labels=spec.labels)
        for key, value in list(instrument.values.items()):
            counter.add_metric(key, value)
        return counter
    gauge = GaugeMetricFamily(spec.name, text, labels=spec.labels)
    for key, value in _pulled(instrument).items():
        gauge.add_metric(key, value)
    return gauge


def _pieces(lines: Iterable[str]) -> Iterator[bytes]:
    """Lines joined to pieces of a moderate length."""
    piece: list[str] = []
    size = 0
    for line in lines:
        piece.append(line)
        size += len(line)
        if size >= _PIECE_CHARS:
            yield "".join(piece).encode()
            piece, size = [], 0
    if piece:
        yield "".join(piece).encode()


def _lines(instrument: Instrument) -> Iterator[str]:
    spec = instrument.spec
    if isinstance(instrument, HistogramVec):
        return _histogram_lines(instrument)
    if isinstance(instrument, CounterVec):
        # Copied, since series may be added between two pieces.
        return _gauge_lines(spec, list(instrument.values.items()))
    return _gauge_lines(spec, _pulled(instrument).items())


def _pulled(gauge: GaugeVec) -> Mapping[Labels, float]:
    return dict(gauge.pull())


def _gauge_lines(spec: Spec, series: Iterable[tuple[Labels, float]]) -> Iterator[str]:
    header = _header(spec)
    for key, value in series:
        labels = _label_text(spec.labels, key)
        yield (
            f"{header}{spec.name}{{{labels}}} {go_float(value)}\n"
            if labels
            else (f"{header}{spec.name} {go_float(value)}\n")
        )
        header = ""


def _histogram_lines(histogram: HistogramVec) -> Iterator[str]:
    spec = histogram.spec
    header = _header(spec)
    name = spec.name
    bounds = _bounds(spec)
    for key, cells in list(histogram.cells.items()):
        labels = _label_text(spec.labels, key)
        inner = f"{labels}," if labels else ""
        outer = f"{{{labels}}}" if labels else ""
        counts = list(accumulate(cells[:-1]))
        buckets = "".join(
            f'{name}_bucket{{{inner}le="{bound}"}} {go_float(count)}\n'
            for bound, count in zip(bounds, counts, strict=True)
        )
        yield (
            f"{header}{buckets}{name}_sum{outer} {go_float(cells[-1])}\n"
            f"{name}_count{outer} {go_float(counts[-1])}\n"
        )
        header = ""


def _bounds(spec: Spec) -> list[str]:
    return [*map(go_float, spec.buckets), "+Inf"]


def _header(spec: Spec) -> str:
    text = _help(spec).translate({ord("\\"): r"\\", ord("\n"): r"\n"})
    return f"# HELP {spec.name} {text}\n# TYPE {spec.name} {spec.kind}\n"


def _help(spec: Spec) -> str:
    return f"[{spec.level}] {spec.help}" if spec.level else spec.help


def _label_text(names: Labels, values: Labels) -> str:
    return ",".join(
        f'{name}="{value.translate(_ESCAPES)}"' for name, value in zip(names, values, strict=True)
    )


def go_float(value: float) -> str:
    """A number as Go writes it: a bucket's ``le`` is a string, and queries ask for ``le="1"``, not for ``le="1.0"``."""
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if math.isnan(value):
        return "NaN"
    return str(int(value)) if value == int(value) else repr(float(value))
