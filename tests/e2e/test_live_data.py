"""Placement by what a real Prometheus knows of the nodes, and what becomes of it when nobody measures any more."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial

import pytest

from bayplan.testing.control_plane import Obj, wait_until
from bayplan.testing.control_plane.ports import Port
from tests.e2e.prometheus import Exporter, program, start_prometheus
from tests.e2e.stage import PROFILE, Stage, node, node_of, pod, scheduled

pytestmark = pytest.mark.e2e

LOAD = 'max by (node) (node_load{job="nodes"})'
AGE = 'bayplan_data_age_seconds{column="cpu"}'


@pytest.fixture
def exporter(stage: Stage) -> Iterator[Exporter]:
    if stage.subject != "bayplan":
        pytest.skip("kube-scheduler reads no measurements")
    program(stage)
    with contextlib.closing(Port()) as port:
        exporter = Exporter(port)
        yield exporter
        exporter.stop()


def test_pods_follow_what_prometheus_measures(stage: Stage, exporter: Exporter) -> None:
    # Pods are created until the scheduler has heard: at some hundred a second.
    stage.add(node("n1", pods="10000"), node("n2", pods="10000"))
    exporter.load = {"n1": 0.9, "n2": 0.9}
    exporter.start()
    provider = {
        "name": "load",
        "type": "prometheus",
        "url": start_prometheus(stage, exporter),
        "queries": {"cpu": LOAD},
        "interval": "1s",
        "maxAge": "3s",
    }
    profile = {
        "schedulerName": PROFILE,
        "plugins": {"multiPoint": {"enabled": [{"name": "LowCpuScheduler"}]}},
    }
    scheduler = stage.start_scheduler(profiles=[profile], own={"providers": [provider]})
    scheduler.wait_ready()

    # Both are busy: the pod waits, and the first measurement that says otherwise brings it in; nothing else happens.
    waiting = until_refused(stage, "2 cpu usage too high")
    exporter.load = {"n1": 0.9, "n2": 0.2}
    assert stage.wait_bound(waiting) == {waiting: "n2"}
    exporter.load = {"n1": 0.9, "n2": 0.9}
    waiting = until_refused(stage, "2 cpu usage too high")
    exporter.load = {"n1": 0.1, "n2": 0.9}
    assert stage.wait_bound(waiting) == {waiting: "n1"}

    # Nobody measures: what was measured is good for three seconds, then it is not taken for true any more.
    assert scheduler.metric(AGE) < 3
    exporter.stop()
    wait_until(lambda: scheduler.metric(AGE) > 3, "old data")
    waiting = until_refused(stage, "2 no data for 'cpu'")
    assert "2 no data for 'cpu'" in stage.wait_event(waiting, "FailedScheduling")
    status, page = scheduler.page("/readyz?verbose")
    assert status == 200
    assert "data:load" in page
    exporter.start()
    assert stage.wait_bound(waiting) == {waiting: "n1"}
    wait_until(lambda: scheduler.metric(AGE) < 3, "fresh data")


def until_refused(stage: Stage, saying: str) -> str:
    """Create pods until one is refused so: when the scheduler hears of what was measured nobody announces."""
    number = len(stage.pods.objects)
    while True:
        name, number = f"p{number}", number + 1
        stage.add(pod(name))
        key = f"default/{name}"
        stage.pods.wait(partial(_is_decided, key), f"decision on {key}")
        if not stage.node_of(key):
            stage.wait_refused(key, saying)
            return key


def _is_decided(key: str, objects: dict[str, Obj]) -> bool:
    obj = objects.get(key)
    return obj is not None and bool(node_of(obj) or scheduled(obj).get("status") == "False")
