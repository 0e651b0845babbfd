"""Each metric by the name and the labels that dashboards of kube-scheduler ask for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bayplan.telemetry import catalog
from bayplan.telemetry.exposition import render
from bayplan.telemetry.instruments import GaugeVec, Spec
from bayplan.telemetry.metrics import Metrics, single


def text(metrics: Metrics) -> list[str]:
    return b"".join(render(metrics.instruments)).decode().splitlines()


CASES: list[tuple[Callable[[Metrics], None], str]] = [
    (
        lambda m: m.attempt("p", "scheduled", 0.0015),
        'scheduler_schedule_attempts_total{result="scheduled",profile="p"} 1',
    ),
    (
        lambda m: m.attempt("p", "error", 0.0015),
        'scheduler_scheduling_attempt_duration_seconds_bucket{result="error",profile="p",le="0.002"} 1',
    ),
    (lambda m: m.algorithm(0.5), "scheduler_scheduling_algorithm_duration_seconds_count 1"),
    (lambda m: m.scheduled("p", 3, None), 'scheduler_pod_scheduling_attempts_bucket{le="4"} 1'),
    (
        lambda m: m.scheduled("p", 14, 1.0),
        'scheduler_pod_scheduling_sli_duration_seconds_count{attempts="14"} 1',
    ),
    (
        lambda m: m.scheduled("p", 99, 1.0),
        'scheduler_pod_scheduling_sli_duration_seconds_count{attempts="15+"} 1',
    ),
    (lambda m: m.scheduled_after_flush(), "scheduler_pod_scheduled_after_flush_total 1"),
    (lambda m: m.preemption_attempt(), "scheduler_preemption_attempts_total 1"),
    (lambda m: m.preemption(5), 'scheduler_preemption_victims_bucket{le="8"} 1'),
    (
        lambda m: m.preemption_executed("success", 0.1),
        'scheduler_preemption_goroutines_execution_total{result="success"} 1',
    ),
    (
        lambda m: m.extension_point("p", "Filter", "Success", 0.1),
        'scheduler_framework_extension_point_duration_seconds_count{extension_point="Filter",status="Success",profile="p"} 1',
    ),
    (
        lambda m: m.plugin_execution("X", "Filter", "Success", 0.1),
        'scheduler_plugin_execution_duration_seconds_count{plugin="X",extension_point="Filter",status="Success"} 1',
    ),
    (
        lambda m: m.plugin_evaluation("p", "X", "Filter", 7),
        'scheduler_plugin_evaluation_total{plugin="X",extension_point="Filter",profile="p"} 7',
    ),
    (
        lambda m: m.permit_wait("Success", 1.0),
        'scheduler_permit_wait_duration_seconds_count{result="Success"} 1',
    ),
    (
        lambda m: m.queue_incoming("active", "NodeAdd"),
        'scheduler_queue_incoming_pods_total{queue="active",event="NodeAdd"} 1',
    ),
    (
        lambda m: m.event_handling("NodeAdd", 0.1),
        'scheduler_event_handling_duration_seconds_count{event="NodeAdd"} 1',
    ),
    (
        lambda m: m.hint("X", "NodeAdd", "Queue", 0.1),
        'scheduler_queueing_hint_execution_duration_seconds_count{plugin="X",event="NodeAdd",hint="Queue"} 1',
    ),
    (
        lambda m: m.api_request("GET", "200", "h:1", 0.1),
        'rest_client_requests_total{code="200",method="GET",host="h:1"} 1',
    ),
    (
        lambda m: m.bind_conflict("assigned"),
        'bayplan_bind_conflicts_total{kind="assigned"} 1',
    ),
]


@pytest.mark.parametrize(("happens", "line"), CASES, ids=[line.split("{")[0] for _, line in CASES])
def test_what_happens_is_counted(happens: Callable[[Metrics], None], line: str) -> None:
    metrics = Metrics()
    assert line not in text(metrics)
    happens(metrics)
    assert line in text(metrics)


def test_gauges_are_asked_for() -> None:
    metrics = Metrics()
    metrics.pending_pods.pull = single(lambda: {"active": 3, "gated": 0})
    assert 'scheduler_pending_pods{queue="active"} 3' in text(metrics)
    assert 'scheduler_pending_pods{queue="gated"} 0' in text(metrics)


def test_every_metric_of_the_catalog_is_kept_once() -> None:
    names = [instrument.spec.name for instrument in Metrics().instruments]
    known = {spec.name for spec in vars(catalog).values() if isinstance(spec, Spec)}
    assert sorted(names) == sorted(known)


def test_nothing_is_missing_of_what_kubernetes_promises() -> None:
    """The stable and beta metrics of kube-scheduler 1.36.4."""
    promised = {
        "STABLE": {
            "scheduler_framework_extension_point_duration_seconds",
            "scheduler_pending_pods",
            "scheduler_pod_scheduling_attempts",
            "scheduler_preemption_attempts_total",
            "scheduler_preemption_victims",
            "scheduler_queue_incoming_pods_total",
            "scheduler_schedule_attempts_total",
            "scheduler_scheduling_attempt_duration_seconds",
        },
        "BETA": {
            "scheduler_goroutines",
            "scheduler_permit_wait_duration_seconds",
            "scheduler_plugin_evaluation_total",
            "scheduler_pod_scheduling_sli_duration_seconds",
            "scheduler_unschedulable_pods",
        },
    }
    for level, names in promised.items():
        found = {
            each.spec.name
            for each in Metrics().instruments
            if each.spec.level == level and each.spec.name.startswith("scheduler_")
        }
        assert found == names


def test_gauges_begin_empty() -> None:
    gauges = [each for each in Metrics().instruments if isinstance(each, GaugeVec)]
    assert gauges
    assert all(gauge.pull() == {} for gauge in gauges)
