"""A gang makes room as one: fewest victims over the whole placement, and never half."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cluster.test_absence import picture
from tests.cycle.test_gang import LABEL, Scene, fail, node, workers

from bayplan.cluster.audit import check
from bayplan.cycle.attempt import attempt as decide_alone
from bayplan.cycle.gang import GangUnplaced
from bayplan.cycle.outcome import Unplaced
from bayplan.model.pod_group import Group, GroupApi, GroupKey
from bayplan.testing import make_node, make_pod


def low(name: str, where: str, cpu: str = "1", priority: int = 0) -> Any:
    return make_pod(name).uid(name).requests(cpu=cpu).priority(priority).on(where)


def scene(*objects: Any, members: int = 4, cpu: str = "2") -> Scene:
    found = Scene(*objects, min_member=members)
    for pod in workers(members, cpu=cpu):
        found.add(pod.priority(10))
    return found


def victims(outcome: GangUnplaced) -> list[str]:
    chosen = [name for each in outcome.nominated.values() for name in each.victims]
    return sorted(pod.name for pod in chosen)


def attempt(scene: Scene) -> GangUnplaced:
    before = picture(scene.cluster)
    outcome = fail(scene.attempt())
    check(scene.cluster)
    assert picture(scene.cluster) == before
    return outcome


def test_the_fewest_go_over_the_whole_placement() -> None:
    # "full" would have to lose four; "half" has room for one, and loses two for another.
    found = scene(
        node("free", cpu="4"),
        node("half", cpu="4"),
        node("full", cpu="4"),
        *(low(f"h-{n}", "half") for n in range(2)),
        *(low(f"f-{n}", "full") for n in range(4)),
    )
    outcome = attempt(found)
    assert victims(outcome) == ["h-0", "h-1"]
    assert sorted(each.node for each in outcome.nominated.values()) == ["free"] * 2 + ["half"] * 2


def test_none_goes_where_not_all_members_would_fit() -> None:
    found = scene(node("a", cpu="4"), *(low(f"p-{n}", "a") for n in range(4)), members=3)
    outcome = attempt(found)
    assert outcome.nominated == {}
    assert outcome.message.endswith(
        "; preemption: no eviction makes room for all members that are needed"
    )


def test_pods_of_the_same_priority_stay() -> None:
    found = scene(
        node("a", cpu="4"), *(low(f"p-{n}", "a", priority=10) for n in range(4)), members=2
    )
    assert attempt(found).nominated == {}


@pytest.mark.parametrize("allowed", [0, 2])
def test_a_budget_is_respected_where_that_is_possible(allowed: int) -> None:
    from bayplan.model import decode

    budget = decode(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "db"}}},
            "status": {"disruptionsAllowed": allowed},
        }
    )
    found = scene(
        node("a", cpu="2"),
        node("b", cpu="2"),
        budget,
        low("db-0", "a", "2").label("app", "db"),
        low("web-0", "b", "2", priority=5),
        members=1,
    )
    found.group = Group(found.group.key, GroupApi.COSCHEDULING, 1)
    assert victims(attempt(found)) == (["web-0"] if allowed == 0 else ["db-0"])


def other_gang(found: Scene, placed: int, min_member: int, **more: Any) -> None:
    key = GroupKey("default", "other")
    found.cluster.gangs.put(Group(key, GroupApi.COSCHEDULING, min_member, **more))
    for n in range(placed):
        pod = low(f"o-{n}", "a" if n % 2 else "b").label(LABEL, "other")
        found.cluster.put(pod.build())


def test_another_gang_gives_what_it_can_spare() -> None:
    found = scene(node("a", cpu="4"), node("b", cpu="4"), members=2)
    other_gang(found, placed=6, min_member=4)
    assert len(victims(attempt(found))) == 2


def test_another_gang_that_can_spare_none_goes_as_a_whole() -> None:
    found = scene(node("a", cpu="4"), node("b", cpu="4"), members=3)
    other_gang(found, placed=6, min_member=6)
    assert victims(attempt(found)) == [f"o-{n}" for n in range(6)]


def test_a_group_that_is_disrupted_as_a_whole_goes_as_a_whole() -> None:
    found = scene(node("a", cpu="4"), node("b", cpu="4"), members=3)
    other_gang(found, placed=6, min_member=2, disrupted_whole=True)
    assert victims(attempt(found)) == [f"o-{n}" for n in range(6)]


def test_a_gang_with_a_member_of_higher_priority_stays_whole() -> None:
    found = scene(node("a", cpu="4"), node("b", cpu="4"), node("c", cpu="1"), members=3)
    other_gang(found, placed=6, min_member=7)
    chief = low("chief", "c", priority=99).label(LABEL, "other")
    found.cluster.put(chief.build())
    assert attempt(found).nominated == {}


def test_a_gang_that_may_not_preempt() -> None:
    found = Scene(node("a", cpu="4"), *(low(f"p-{n}", "a") for n in range(4)), min_member=2)
    for pod in workers(2, cpu="2"):
        pod.manifest["spec"]["preemptionPolicy"] = "Never"
        found.add(pod.priority(10))
    outcome = attempt(found)
    assert outcome.nominated == {}
    assert "preemptionPolicy=Never" in outcome.message


def test_a_zone_is_emptied_for_a_gang_that_wants_one() -> None:
    from bayplan.model.pod_group import GroupTopology

    zone = "topology.kubernetes.io/zone"
    found = scene(
        node("a1", cpu="4").zone("a"),
        node("b1", cpu="4").zone("b"),
        *(low(f"a-{n}", "a1") for n in range(2)),
        *(low(f"b-{n}", "b1") for n in range(3)),
        members=2,
    )
    found.group = Group(found.group.key, GroupApi.COSCHEDULING, 2, topology=GroupTopology(zone))
    outcome = attempt(found)
    assert {each.node for each in outcome.nominated.values()} == {"a1"}
    assert victims(outcome) == ["a-0", "a-1"]


def test_a_pod_that_stands_alone_spares_gangs_where_it_can() -> None:
    found = Scene(node("a", cpu="2"), node("b", cpu="2"), min_member=1)
    other_gang(found, placed=4, min_member=4)
    pod = found.cluster.info(make_pod("alone").uid("x").requests(cpu="2").priority(10).build())
    outcome = decide_alone(pod, found.desk)
    assert isinstance(outcome, Unplaced)
    assert outcome.nominated is not None
    assert sorted(v.name for v in outcome.nominated.victims) == [f"o-{n}" for n in range(4)]
    found.cluster.put(make_node("c").capacity(cpu="2", pods="9").build())
    found.cluster.put(low("dear", "c", "2", priority=9).build())
    outcome = decide_alone(pod, found.desk)
    assert isinstance(outcome, Unplaced)
    assert outcome.nominated is not None
    assert [v.name for v in outcome.nominated.victims] == ["dear"]
