"""Metrics as text: read by Prometheus' own parser, and in pieces."""

from __future__ import annotations

import math

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from bayplan.telemetry.exposition import (
    MetricsCollector,
    PodResource,
    go_float,
    render,
    render_pod_resources,
    render_process,
)
from bayplan.telemetry.instruments import CounterVec, Instrument
from bayplan.telemetry.metrics import Metrics

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(text: str) -> Samples:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def busy() -> list[Instrument]:
    metrics = Metrics()
    metrics.attempt("p", "scheduled", 0.003)
    metrics.attempt("q", "error", 100.0)
    metrics.queue_incoming("active", 'od"d\\eve\nnt')
    metrics.scheduled("p", 2, 0.5)
    metrics.pending_pods.pull = lambda: {("active",): 1e21}
    return metrics.instruments


def test_prometheus_reads_what_is_written() -> None:
    found = samples(b"".join(render(busy())).decode())
    labels = frozenset({("queue", "active"), ("event", 'od"d\\eve\nnt')})
    assert found["scheduler_queue_incoming_pods_total", labels] == 1
    attempt = "scheduler_scheduling_attempt_duration_seconds"
    by_error = {("result", "error"), ("profile", "q")}
    assert found[f"{attempt}_bucket", frozenset({*by_error, ("le", "16.384")})] == 0
    assert found[f"{attempt}_bucket", frozenset({*by_error, ("le", "+Inf")})] == 1
    assert found[f"{attempt}_sum", frozenset(by_error)] == 100


def test_a_registry_of_prometheus_client_shows_the_same() -> None:
    registry = CollectorRegistry()
    registry.register(MetricsCollector(busy()))
    assert samples(generate_latest(registry).decode()) == samples(b"".join(render(busy())).decode())


def test_a_metric_that_has_no_series_does_not_appear() -> None:
    assert b"scheduler_schedule_attempts_total" not in b"".join(render(Metrics().instruments))


def test_pieces_are_small() -> None:
    instruments = busy()
    for each in instruments:
        if isinstance(each, CounterVec) and each.spec.labels:
            for i in range(1500):
                each.inc((f"value {i}",) * len(each.spec.labels))
    pieces = list(render(instruments))
    assert len(pieces) > 5
    assert max(map(len, pieces)) < 64 * 1024


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (0.001, "0.001"), (math.inf, "+Inf"), (-math.inf, "-Inf"), (math.nan, "NaN")],
)
def test_numbers_are_written_as_go_writes_them(value: float, text: str) -> None:
    assert go_float(value) == text


def test_what_pods_ask_for() -> None:
    rows = {
        True: [PodResource("ns", "p", "n", "s", "5", "memory", 1024.0)],
        False: [
            PodResource("ns", "p", "n", "s", "5", "cpu", 0.25),
            PodResource("ns", "p", "", "s", "", "nvidia.com/gpu", 2),
            PodResource("ns", "p", "", "s", "", "cpu", 0),
        ],
    }
    text = b"".join(render_pod_resources(lambda limits: rows[limits])).decode()
    common = 'namespace="ns",pod="p"'
    assert text.splitlines()[2:3] == [
        f'kube_pod_resource_limit{{{common},node="n",scheduler="s",priority="5",resource="memory",unit="bytes"}} 1024'
    ]
    assert text.splitlines()[5:] == [
        f'kube_pod_resource_request{{{common},node="n",scheduler="s",priority="5",resource="cpu",unit="cores"}} 0.25',
        f'kube_pod_resource_request{{{common},node="",scheduler="s",priority="",resource="nvidia.com/gpu",unit=""}} 2',
    ]


def test_the_process_itself() -> None:
    assert samples(render_process().decode())["process_open_fds", frozenset()] > 0
