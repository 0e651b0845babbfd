"""What the watch of nodes tells: one event for each aspect that changed, and none for a heartbeat."""

from __future__ import annotations

import pytest

from bayplan.testing import make_node
from bayplan.testing.builders import NodeBuilder
from tests.runtime.ingest.told import Scene


def node() -> NodeBuilder:
    return make_node("a")


def with_condition(status: str, heartbeat: str = "1") -> NodeBuilder:
    made = node()
    made.manifest["status"]["conditions"] = [
        {"type": "Ready", "status": status, "message": heartbeat}
    ]
    return made


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        pytest.param(
            node(), node().capacity(cpu="8"), ["NodeUpdateNodeAllocatable"], id="allocatable"
        ),
        pytest.param(node(), node().label("x", "y"), ["NodeUpdateNodeLabel"], id="label"),
        pytest.param(node(), node().taint("x"), ["NodeUpdateNodeTaint"], id="taint"),
        pytest.param(
            node(), node().annotation("x", "y"), ["NodeUpdateNodeAnnotation"], id="annotation"
        ),
        pytest.param(
            with_condition("False"),
            with_condition("True"),
            ["NodeUpdateNodeCondition"],
            id="condition",
        ),
        pytest.param(with_condition("True"), with_condition("True", "2"), [], id="heartbeat"),
        pytest.param(node(), node(), [], id="nothing"),
        pytest.param(node().cordoned(), node(), ["NodeUpdateNodeTaint"], id="uncordoned"),
        pytest.param(node(), node().cordoned(), [], id="cordoned"),
        pytest.param(
            node(),
            node().capacity(cpu="8").label("x", "y"),
            ["NodeUpdateNodeAllocatable", "NodeUpdateNodeLabel"],
            id="two aspects",
        ),
    ],
)
def test_what_changed_is_told(before: NodeBuilder, after: NodeBuilder, told: list[str]) -> None:
    scene = Scene()
    scene.nodes.on_put(before.build())
    assert scene.take() == ["NodeAdd"]
    scene.nodes.on_put(after.build())
    assert scene.take() == told


def test_an_event_of_a_change_has_both_states() -> None:
    scene = Scene()
    scene.nodes.on_put(node().taint("x").build())
    scene.nodes.on_put(node().capacity(cpu="8").build())
    event = scene.queue.events[-1]
    assert [taint.key for taint in event.old.spec.taints] == ["x"]
    assert event.old.status.allocatable["cpu"] == "4000m"
    assert event.new.status.allocatable["cpu"] == "8"


def test_a_node_that_goes_is_told_with_what_it_was() -> None:
    scene = Scene()
    scene.nodes.on_put(node().label("x", "y").build())
    scene.take()
    scene.nodes.on_gone("", "a", "", None)
    assert scene.take() == ["NodeDelete"]
    assert scene.queue.events[-1].old.labels["x"] == "y"
    scene.nodes.on_gone("", "a", "", None)
    assert scene.take() == []


def test_whoever_waits_for_something_to_do_is_woken() -> None:
    scene, woken = Scene(), []
    scene.waker.on_change.append(lambda: woken.append(1))
    scene.nodes.on_put(node().build())
    assert woken == [1]
