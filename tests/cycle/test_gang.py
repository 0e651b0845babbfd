"""Gangs are decided as a whole: all that are needed, or none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from bayplan import PodInfo, Rejected, ReservePlugin
from bayplan.cluster.audit import check
from bayplan.cluster.cluster import Cluster
from bayplan.cycle.desk import Desk
from bayplan.cycle.gang import GangOutcome, GangPlaced, GangUnplaced, attempt_gang
from bayplan.cycle.gang_trial import Member
from bayplan.framework.plugin import Plugin
from bayplan.model.pod_group import Group, GroupApi, GroupKey, GroupTopology
from bayplan.testing import make_node, make_pod
from bayplan.testing.builders import NodeBuilder, PodBuilder
from bayplan.testing.scheduler import make_cluster, make_desk

LABEL = "scheduling.x-k8s.io/pod-group"
KEY = GroupKey("default", "train")


class Scene:
    """A cluster, one gang, and what is tried."""

    def __init__(self, *objects: Any, min_member: int, plugins: tuple[type[Plugin], ...] = ()):
        self.cluster: Cluster = make_cluster(*objects)
        self.group = Group(KEY, GroupApi.COSCHEDULING, min_member)
        self.cluster.gangs.put(self.group)
        self.desk: Desk = make_desk(self.cluster, *plugins)
        self.pods: list[PodInfo] = []

    def add(self, *pods: PodBuilder) -> Scene:
        for pod in pods:
            info = self.cluster.info(pod.label(LABEL, "train").build())
            self.cluster.put_pod(info)
            self.pods.append(info)
        return self

    def attempt(self, plan: Mapping[str, str] | None = None) -> GangOutcome:
        members = [Member(pod, self.desk) for pod in self.pods]
        outcome = attempt_gang(self.group, members, self.cluster, plan=plan)
        check(self.cluster)
        return outcome

    @property
    def placed(self) -> list[str]:
        return sorted(self.cluster.pods.row_of)


def node(name: str, **offers: str) -> NodeBuilder:
    return make_node(name).capacity({"pods": "110", "memory": "64Gi", **offers})


def workers(count: int, **requests: str) -> list[PodBuilder]:
    return [make_pod(f"w-{i}").requests(requests) for i in range(count)]


def fail(outcome: GangOutcome) -> GangUnplaced:
    assert isinstance(outcome, GangUnplaced)
    return outcome


def test_all_fit() -> None:
    scene = Scene(node("a", cpu="4"), node("b", cpu="4"), min_member=4)
    outcome = scene.add(*workers(4, cpu="2")).attempt()
    assert isinstance(outcome, GangPlaced)
    assert len(outcome.held) == 4
    assert len(scene.placed) == 4


def test_room_for_nine_of_ten_places_none() -> None:
    scene = Scene(node("a", cpu="9"), min_member=10)
    outcome = fail(scene.add(*workers(10, cpu="1")).attempt())
    assert scene.placed == []
    assert outcome.message == (
        "gang train: 9 of 10 members fit; w-9 lacks cpu (needs 1, largest free 0 on a)"
    )
    assert {"GangScheduling", "NodeResourcesFit"} <= outcome.rejected_by


def test_who_lacks_what_is_said_of_each_kind() -> None:
    gpu = "nvidia.com/gpu"
    scene = Scene(
        node("gpu-1", cpu="64", **{gpu: "4"}), node("gpu-2", cpu="64", **{gpu: "2"}), min_member=5
    )
    scene.add(*workers(3, cpu="1"))
    scene.add(*(make_pod(f"g-{i}").requests({"cpu": "1", gpu: "4"}) for i in range(3)))
    outcome = fail(scene.attempt())
    assert outcome.message == (
        "gang train: 4 of 6 members fit and 5 are needed; "
        "g-1 and g-2 lack nvidia.com/gpu (needs 4, largest free 2 on gpu-2)"
    )


def test_the_surplus_is_placed_where_it_fits_and_the_rest_comes_back_alone() -> None:
    scene = Scene(node("a", cpu="5"), min_member=3)
    outcome = scene.add(*workers(7, cpu="1")).attempt()
    assert isinstance(outcome, GangPlaced)
    assert len(outcome.held) == 5
    assert [member.pod.name for member, _ in outcome.left] == ["w-5", "w-6"]


def test_members_that_run_count() -> None:
    scene = Scene(node("a", cpu="9"), min_member=3)
    scene.add(*workers(2, cpu="1"))
    scene.cluster.put(make_pod("there").label(LABEL, "train").uid("t").on("a").build())
    assert isinstance(scene.attempt(), GangPlaced)


def test_a_huge_count_costs_nothing() -> None:
    scene = Scene(node("a", cpu="9"), min_member=2**31)
    outcome = fail(scene.add(*workers(3, cpu="1")).attempt())
    assert outcome.message == "gang train: 3 of 2147483648 members exist"


def test_gated_members_do_not_count() -> None:
    scene = Scene(node("a", cpu="9"), min_member=3)
    gated = make_pod("gated").uid("g")
    gated._spec["schedulingGates"] = [{"name": "hold"}]
    info = scene.cluster.info(gated.label(LABEL, "train").build())
    scene.cluster.put_pod(info)
    outcome = fail(scene.add(*workers(2, cpu="1")).attempt())
    assert outcome.message == (
        "gang train: 2 of 3 members exist, and 1 is held back by scheduling gates"
    )


def test_a_member_may_want_to_be_near_to_a_later_one() -> None:
    scene = Scene(node("a", cpu="9").zone("z1"), node("b", cpu="9").zone("z2"), min_member=2)
    near = (
        make_pod("first")
        .requests(cpu="1")
        .affinity({"app": "db"}, topology_key="topology.kubernetes.io/zone")
    )
    scene.add(near, make_pod("second").requests(cpu="1").label("app", "db"))
    assert isinstance(scene.attempt(), GangPlaced)


def test_one_zone_for_all_or_none() -> None:
    zone = "topology.kubernetes.io/zone"
    nodes = [node("a", cpu="2").zone("z1"), node("b", cpu="3").zone("z2")]
    scene = Scene(*nodes, min_member=3).add(*workers(3, cpu="1"))
    scene.group = Group(KEY, GroupApi.NATIVE, 3, topology=GroupTopology(zone))
    outcome = scene.attempt()
    assert isinstance(outcome, GangPlaced)
    assert {held.outcome.node for held in outcome.held} == {"b"}


def test_no_zone_has_room_for_all() -> None:
    zone = "topology.kubernetes.io/zone"
    nodes = [node("a", cpu="2").zone("z1"), node("b", cpu="2").zone("z2")]
    scene = Scene(*nodes, min_member=3).add(*workers(3, cpu="1"))
    scene.group = Group(KEY, GroupApi.NATIVE, 3, topology=GroupTopology(zone))
    outcome = fail(scene.attempt())
    assert outcome.message.startswith(f"gang train: no {zone} has room for 3 members")
    scene.group = Group(KEY, GroupApi.NATIVE, 3, topology=GroupTopology(zone, required=False))
    assert isinstance(scene.attempt(), GangPlaced)


def test_min_resources_are_looked_at_first() -> None:
    scene = Scene(node("a", cpu="4"), min_member=2)
    scene.group = Group(KEY, GroupApi.COSCHEDULING, 2, min_resources={"cpu": "6"})
    outcome = fail(scene.add(*workers(2, cpu="1")).attempt())
    assert outcome.message == "gang train: needs 6 of cpu altogether, 4 are free in the cluster"


class Counting(ReservePlugin):
    """Notes who is reserved, and turns the third down."""

    def setup(self) -> None:
        self.held_now: list[str] = []
        self.log: list[str] = []

    def reserve(self, pod: PodInfo, node: str, state: Any) -> Rejected | None:
        if pod.name == "w-2":
            return Rejected("no third")
        self.held_now.append(pod.name)
        return None

    def unreserve(self, pod: PodInfo, node: str, state: Any) -> None:
        self.log.append(pod.name)
        if pod.name in self.held_now:
            self.held_now.remove(pod.name)


def test_what_was_reserved_is_given_back_in_reverse() -> None:
    scene = Scene(node("a", cpu="9"), min_member=3, plugins=(Counting,))
    outcome = fail(scene.add(*workers(3, cpu="1")).attempt())
    counting = next(p for p in scene.desk.profile.reserve if isinstance(p, Counting))
    assert counting.held_now == []
    assert counting.log == ["w-2", "w-1", "w-0"]
    assert "w-2: no third" in outcome.message
    assert "Counting" in outcome.rejected_by


def test_a_promise_outlasts_an_attempt_that_comes_to_nothing() -> None:
    scene = Scene(node("a", cpu="2"), node("b", cpu="1"), min_member=4)
    scene.add(*workers(4, cpu="1"))
    scene.cluster.nominations.put(scene.pods[0], "b")
    fail(scene.attempt())
    assert scene.cluster.nominations.node_of("default/w-0") == "b"


@pytest.mark.parametrize("count", [1, 40])
def test_every_member_has_a_record_of_its_own(count: int) -> None:
    scene = Scene(node("a", cpu="1"), min_member=count + 1)
    outcome = fail(scene.add(*workers(count + 1, cpu="1")).attempt())
    decisions = {decision.pod.name: decision for decision in scene.desk.ring}
    assert set(decisions) == {pod.name for pod in scene.pods}
    assert {decision.gang for decision in decisions.values()} == {outcome.message}
    assert decisions["w-1"].picture().reasons() == {"Insufficient cpu": 1}


def test_a_plan_goes_before_the_members_own_order() -> None:
    scene = Scene(node("a", cpu="4"), node("b", cpu="4"), min_member=3)
    small = workers(2, cpu="2")
    scene.add(*small, make_pod("large").requests(cpu="4"))
    # In their own order, the small ones take a node each.
    assert isinstance(scene.attempt(), GangUnplaced)
    plan = {"default/w-0": "a", "default/w-1": "a", "default/large": "b"}
    outcome = scene.attempt(plan)
    assert isinstance(outcome, GangPlaced)
    assert {held.member.pod.key: held.outcome.node for held in outcome.held} == plan


def test_a_plan_that_does_not_hold_any_more_is_passed_over() -> None:
    scene = Scene(node("a", cpu="4"), node("b", cpu="4"), min_member=2)
    scene.add(*workers(2, cpu="2"))
    # The filters have the last word: nodes that are gone, and nodes that have not the room.
    for plan in ({"default/w-0": "gone", "default/w-1": "a"}, {"default/w-0": "a"}):
        outcome = scene.attempt(plan)
        assert isinstance(outcome, GangPlaced)
        for held in outcome.held:
            scene.cluster.forget(held.member.pod)


def test_a_plan_keeps_to_the_domain_that_the_gang_has_to_be_in() -> None:
    racks = [node(name, cpu="4").label("rack", name[0]) for name in ("a1", "a2", "b1", "b2")]
    scene = Scene(*racks, min_member=3)
    scene.group = replace(scene.group, topology=GroupTopology("rack"))
    scene.cluster.gangs.put(scene.group)
    scene.cluster.put(make_pod("first").label(LABEL, "train").requests(cpu="1").on("a1").build())
    scene.add(*workers(2, cpu="3"))
    for plan in (
        {"default/w-0": "a1", "default/w-1": "b1"},  # two racks
        {
            "default/w-0": "b1",
            "default/w-1": "b2",
        },  # one, but not that of the member that is placed
    ):
        outcome = scene.attempt(plan)
        assert isinstance(outcome, GangPlaced)
        assert {held.outcome.node for held in outcome.held} == {"a1", "a2"}
        for held in outcome.held:
            scene.cluster.forget(held.member.pod)


def test_a_plan_on_which_the_filters_do_not_agree_is_no_place() -> None:
    scene = Scene(node("a", cpu="4").taint("dedicated"), min_member=2)
    scene.add(*workers(2, cpu="2"))
    outcome = fail(scene.attempt({"default/w-0": "a", "default/w-1": "a"}))
    assert "untolerated taint" in outcome.message
    assert scene.placed == []
