"""Lanes of the queue: who is next is QueueSort's to say, at every pop, and what it gets wrong costs no pod its turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bayplan import PodInfo, QueueSortPlugin
from bayplan.testing import PodBuilder, make_pod
from tests.queueing.scene import Scene


class ByLabel(QueueSortPlugin):
    """Lanes by the label ``lane``; which is next a test says."""

    def __init__(self, pick: Callable[[Sequence[str]], Any] = min) -> None:
        super().__init__()
        self.pick = pick
        self.asked: list[list[str]] = []

    def sort_key(self, pod: PodInfo, queued_at: float) -> Any:
        return (-pod.priority, queued_at)

    def lane(self, pod: PodInfo) -> str:
        return pod.labels["lane"]

    def next_lane(self, waiting: Sequence[str]) -> str:
        self.asked.append(sorted(waiting))
        picked: str = self.pick(waiting)
        return picked


def pod(name: str, lane: str = "", priority: int = 0) -> PodBuilder:
    built = make_pod(name).priority(priority)
    return built.label("lane", lane) if lane else built


def test_the_next_pod_is_the_first_of_the_lane_that_is_picked() -> None:
    sort = ByLabel()
    scene = Scene(sort=sort)
    scene.add(pod("b1", "b"), pod("a1", "a"), pod("a2", "a", priority=5), pod("b2", "b"))
    assert scene.drain() == ["a2", "a1", "b1", "b2"]
    assert sort.asked == [["a", "b"], ["a", "b"], ["b"], ["b"]]
    assert scene.queue.audit() == []


def test_what_is_picked_may_change_while_pods_wait() -> None:
    turns = iter("abab")
    scene = Scene(sort=ByLabel(lambda _waiting: next(turns)))
    scene.add(*(pod(f"{lane}{i}", lane) for lane in "ab" for i in range(2)))
    assert scene.drain() == ["a0", "b0", "a1", "b1"]


def test_a_pod_changes_lanes_with_its_labels_and_keeps_its_place_in_time() -> None:
    scene = Scene(sort=ByLabel())
    scene.add(pod("x", "z"), pod("y", "m"))
    scene.queue.update(scene.info(pod("x", "a")), scene.now)
    assert scene.queue.audit() == []
    assert scene.drain() == ["x", "y"]


def test_a_pod_that_goes_leaves_no_empty_lane_behind() -> None:
    sort = ByLabel()
    scene = Scene(sort=sort)
    scene.add(pod("x", "a"), pod("y", "b"))
    scene.queue.remove("default/x", "x", scene.now)
    assert scene.drain() == ["y"]
    assert sort.asked == [["b"]]


def test_a_plugin_that_picks_what_is_not_there_costs_nobody_a_turn() -> None:
    picks: list[Callable[[Sequence[str]], Any]] = [
        lambda _waiting: "nowhere",
        lambda _waiting: [],
        lambda _waiting: 1 / 0,
    ]
    for pick in picks:
        scene = Scene(sort=ByLabel(pick))
        scene.add(pod("x", "b"), pod("y", "a"))
        assert scene.drain() == ["x", "y"]


def test_a_pod_that_no_lane_can_be_named_for_still_has_its_turn() -> None:
    scene = Scene(sort=ByLabel())
    scene.add(pod("x"), pod("y", "a"))
    assert sorted(scene.drain()) == ["x", "y"]
    assert scene.queue.audit() == []


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans())))
def test_a_single_lane_is_as_good_as_none(arrivals: list[tuple[int, bool]]) -> None:
    with_lanes, without = Scene(sort=ByLabel()), Scene()
    for scene in (with_lanes, without):
        for i, (priority, pause) in enumerate(arrivals):
            scene.add(pod(f"p{i}", "a", priority))
            scene.now += pause
    assert with_lanes.drain() == without.drain()
