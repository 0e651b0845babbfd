"""Elastic quotas over random histories: nothing is ever decided above a maximum, nor more borrowed than there is.

Pods of three teams come and go, quotas change, nominated pods and their victims take their time; after every placement the
sums are made by hand from what is placed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.policies.test_capacity_scheduling import PROFILE, quota

from bayplan.cluster.audit import check
from bayplan.cluster.podinfo import PodInfo
from bayplan.cycle.attempt import attempt
from bayplan.cycle.outcome import Placed, Unplaced
from bayplan.plugins import default_registry
from bayplan.testing import make_cluster, make_node, make_pod
from bayplan.testing.scheduler import desk_of_profile

TEAMS = "abc"
NODES = ("n1", "n2", "n3")

ARRIVALS = st.tuples(
    st.just("pod"), st.sampled_from(TEAMS), st.integers(1, 3), st.sampled_from([0, 0, 5])
)
DEPARTURES = st.tuples(st.just("end"), st.integers(0, 9))
CHANGES = st.tuples(st.just("quota"), st.sampled_from(TEAMS), st.integers(0, 6), st.integers(2, 9))
STEPS = st.lists(st.one_of(ARRIVALS, ARRIVALS, DEPARTURES, CHANGES), max_size=40)


@dataclass
class World:
    """A cluster, its scheduler, and the pods that wait."""

    waiting: list[PodInfo] = field(default_factory=list)
    limits: dict[str, tuple[int, int]] = field(default_factory=dict)
    leaving: list[str] = field(default_factory=list)
    evicted: int = 0

    def __post_init__(self) -> None:
        nodes = [make_node(name).capacity(cpu="5", pods="20") for name in NODES]
        self.cluster = make_cluster(*nodes)
        self.desk = desk_of_profile(self.cluster, PROFILE, default_registry())
        for team in TEAMS:
            self.change(team, 4, 8)

    def change(self, team: str, least: int, most: int) -> None:
        self.limits[team] = (least, max(least, most))
        self.cluster.put(quota(team, least, max(least, most)))

    def used(self) -> dict[str, int]:
        """By hand: what is on the nodes."""
        used = dict.fromkeys(TEAMS, 0)
        for row in self.cluster.pods.row_of.values():
            pod = self.cluster.pods.info(row, "")
            used[pod.namespace] += pod.requests["cpu"] // 1000
        return used

    def settle(self) -> None:
        """Victims leave, and everybody who waits is tried once."""
        for key in self.leaving:
            self.cluster.remove_pod(*key.split("/"))
        self.leaving.clear()
        self.waiting.sort(key=lambda pod: -pod.priority)
        for pod in list(self.waiting):
            self.attempt(pod)

    def attempt(self, pod: PodInfo) -> None:
        outcome = attempt(pod, self.desk)
        assert isinstance(outcome, Placed | Unplaced), outcome
        if isinstance(outcome, Placed):
            self.cluster.assume(pod, outcome.node)
            self.waiting.remove(pod)
            self.within_limits(pod)
            return
        if outcome.nominated is not None:
            self.protected(pod, outcome.nominated.victims)
            self.cluster.nominations.put(pod, outcome.nominated.node)
            leaving = [victim.key for victim in outcome.nominated.victims]
            self.cluster.nominations.claim(pod.key, leaving)
            self.leaving += [victim.key for victim in outcome.nominated.victims]
            self.evicted += len(outcome.nominated.victims)

    def within_limits(self, pod: PodInfo) -> None:
        used = self.used()
        assert used[pod.namespace] <= self.limits[pod.namespace][1]
        assert sum(used.values()) <= sum(least for least, _ in self.limits.values())

    def protected(self, pod: PodInfo, victims: Any) -> None:
        """Nobody loses a pod to another team but one that has borrowed, nor to its own but one of lower priority."""
        used = self.used()
        for victim in victims:
            if victim.namespace == pod.namespace:
                assert victim.priority < pod.priority
            else:
                assert used[victim.namespace] > self.limits[victim.namespace][0]


def play(steps: list[tuple[Any, ...]]) -> World:
    world = World()
    for number, step in enumerate(steps):
        match step:
            case ("pod", team, cpu, priority):
                pod = make_pod(f"p{number}", team).requests(cpu=str(cpu)).priority(priority)
                world.waiting.append(world.cluster.info(pod.build()))
            case ("end", which):
                placed = list(world.cluster.pods.row_of)
                if placed:
                    world.cluster.remove_pod(*placed[which % len(placed)].split("/"))
            case ("quota", team, least, most):
                world.change(team, least, most)
            case _:
                raise AssertionError(step)
        world.settle()
        check(world.cluster)
    return world


@given(STEPS)
def test_nothing_is_decided_above_a_maximum_or_beyond_what_there_is_to_borrow(
    steps: list[tuple[Any, ...]],
) -> None:
    play(steps)


def test_what_was_borrowed_comes_back_until_everybody_has_the_minimum() -> None:
    world = play([("pod", "a", 1, 0)] * 8 + [("pod", "b", 1, 0)] * 4 + [("pod", "c", 1, 0)] * 4)
    for _ in range(20):
        world.settle()
    assert world.used() == {"a": 4, "b": 4, "c": 4}
    assert world.evicted == 4
    assert len(world.cluster.nominations) == 0
