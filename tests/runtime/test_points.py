"""Metrics of extension points: what an attempt leaves in them."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan import FilterPlugin, NodeInfo, PodInfo, Rejected, unresolvable
from bayplan.cycle.attempt import attempt
from bayplan.runtime.points import Points, Timing, count_volume_error
from bayplan.telemetry.exposition import render
from bayplan.telemetry.metrics import Metrics
from bayplan.testing import NodeBuilder, PodBuilder, make_cluster, make_desk, make_node, make_pod
from bayplan.testing.virtual_time import VirtualClock


class Touchy(FilterPlugin):
    """Raises at some pods."""

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        if pod.labels.get("touch"):
            raise RuntimeError("ouch")
        return None


class Scene:
    """A desk with a timer that ticks once at every look, and what attempts leave in the metrics."""

    def __init__(self, *nodes: NodeBuilder) -> None:
        self.desk = make_desk(make_cluster(*nodes), Touchy)
        self.ticks = 0
        self.desk.time_with(self._tick)
        self.metrics = Metrics()
        self.points = Points(self.metrics, self._tick)

    def _tick(self) -> float:
        self.ticks += 1
        return float(self.ticks)

    def attempt(self, pod: PodBuilder) -> None:
        info = self.desk.cluster.info(pod.build())
        self.points.attempt(self.desk, attempt(info, self.desk))

    def shown(self, name: str) -> dict[tuple[str, ...], str]:
        """Label values to value, of one metric."""
        lines = b"".join(render(self.metrics.instruments)).decode().splitlines()
        found = {}
        for line in lines:
            if line.startswith(f"{name}{{"):
                labels, value = line.removeprefix(f"{name}{{").rsplit("} ")
                found[tuple(part.split('"')[1] for part in labels.split('",') if part)] = value
        return found

    def points_seen(self) -> set[tuple[str, ...]]:
        seen = self.shown("scheduler_framework_extension_point_duration_seconds_count")
        return {labels[:2] for labels in seen}

    def evaluations(self) -> dict[tuple[str, ...], str]:
        self.points.fold()
        return self.shown("scheduler_plugin_evaluation_total")


def test_a_pod_that_is_placed() -> None:
    scene = Scene(make_node("a"), make_node("b"))
    scene.attempt(make_pod("p"))
    assert scene.points_seen() == {
        ("PreFilter", "Success"),
        ("Filter", "Success"),
        ("PreScore", "Success"),
        ("Score", "Success"),
    }


def test_a_pod_that_fits_nowhere() -> None:
    scene = Scene(make_node("a").taint("x"))
    scene.attempt(make_pod("p"))
    assert scene.points_seen() == {
        ("PreFilter", "Success"),
        ("Filter", "Unschedulable"),
        ("PostFilter", "Unschedulable"),
    }


def test_a_pod_that_is_turned_down_before_any_node() -> None:
    scene = Scene(make_node("a"))
    scene.attempt(make_pod("p").claim("missing"))
    assert ("PreFilter", "UnschedulableAndUnresolvable") in scene.points_seen()
    assert ("Filter", "Unschedulable") not in scene.points_seen()
    assert {labels[1] for labels in scene.evaluations()} == {"PreFilter"}


def test_a_plugin_that_raises() -> None:
    scene = Scene(make_node("a"))
    scene.attempt(make_pod("p").label("touch", "yes"))
    assert ("Filter", "Error") in scene.points_seen()


def test_every_plugin_that_was_asked_is_counted_once_per_attempt() -> None:
    scene = Scene(make_node("a"), make_node("b"))
    for i in range(3):
        scene.attempt(make_pod(f"p{i}"))
    found = scene.evaluations()
    assert found["NodeResourcesFit", "Filter", "default-scheduler"] == "3"
    assert found["NodeResourcesFit", "Score", "default-scheduler"] == "3"
    assert found["Touchy", "Filter", "default-scheduler"] == "3"
    assert found["NodePorts", "PreFilter", "default-scheduler"] == "3"
    assert ("NodePorts", "Filter", "default-scheduler") not in found  # it had nothing to say


def test_lookups_of_classes() -> None:
    scene = Scene(make_node("a"))
    for i in range(3):
        scene.attempt(make_pod(f"p{i}"))
    scene.points.fold()
    scene.attempt(make_pod("p4"))
    scene.points.fold()
    assert scene.shown("bayplan_class_lookups_total") == {("hit",): "3", ("miss",): "1"}


def test_nothing_is_counted_twice() -> None:
    scene = Scene(make_node("a"))
    scene.attempt(make_pod("p"))
    assert scene.evaluations() == scene.evaluations()


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        (None, "Success"),
        (Rejected("no"), "Unschedulable"),
        (unresolvable("no"), "UnschedulableAndUnresolvable"),
    ],
)
def test_a_point_of_its_own(answer: Any, label: str) -> None:
    scene, clock = Scene(), VirtualClock()
    with Timing(scene.metrics, clock, "p", "Bind") as timing:
        clock.advance(2)
        timing.came_to(answer)
    name = "scheduler_framework_extension_point_duration_seconds_sum"
    assert scene.shown(name) == {("Bind", label, "p"): "2"}


def test_a_point_that_raises() -> None:
    scene = Scene()
    with pytest.raises(KeyError), Timing(scene.metrics, VirtualClock(), "p", "Reserve"):
        raise KeyError
    assert scene.points_seen() == {("Reserve", "Error")}


def test_of_ten_attempts_one_has_its_plugins_timed() -> None:
    scene = Scene(make_node("a"))
    for number in range(20):
        info = scene.desk.cluster.info(make_pod(f"p{number}").build())
        with scene.points.sampling():
            attempt(info, scene.desk)
    times = scene.shown("scheduler_plugin_execution_duration_seconds_count")
    # The attempts that were sampled found their class known: no plugin was asked.
    assert times == {}
    for number in range(10):
        info = scene.desk.cluster.info(make_pod(f"q{number}").label("n", str(number)).build())
        with scene.points.sampling():
            attempt(info, scene.desk)
    times = scene.shown("scheduler_plugin_execution_duration_seconds_count")
    assert times["TaintToleration", "Filter", "Success"] == "1"


@pytest.mark.parametrize(
    ("plugin", "point", "stage"),
    [
        ("VolumeBinding", "Filter", "predicate"),
        ("VolumeBinding", "Reserve", "assume"),
        ("VolumeBinding", "PreBind", "bind"),
        ("VolumeBinding", "Unreserve", None),
        ("NodeAffinity", "Filter", None),
    ],
)
def test_errors_about_volumes_are_counted_by_stage(
    plugin: str, point: str, stage: str | None
) -> None:
    scene = Scene()
    count_volume_error(scene.metrics, plugin, point)
    counted = scene.shown("scheduler_volume_scheduling_stage_error_total")
    assert counted == ({} if stage is None else {(stage,): "1"})
