"""Which domains a gang is tried in, and in which order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.audit import check
from bayplan.cluster.cluster import Cluster
from bayplan.cycle.attempt import attempt
from bayplan.cycle.gang_room import room_of
from bayplan.cycle.gang_topology import Choice, choose
from bayplan.cycle.outcome import Placed, Unplaced
from bayplan.model.pod_group import GroupTopology
from bayplan.testing import make_cluster, make_desk, make_node, make_pod
from bayplan.testing.builders import NodeBuilder, PodBuilder

RACK = "rack"
NEAR = GroupTopology(RACK)


def node(name: str, rack: str, cpu: str = "4") -> NodeBuilder:
    made = make_node(name).capacity({"cpu": cpu, "memory": "32Gi", "pods": "110"})
    return made.label(RACK, rack) if rack else made


def workers(count: int, cpu: str = "2") -> list[PodBuilder]:
    return [make_pod(f"w-{i}").requests(cpu=cpu) for i in range(count)]


def chosen(
    cluster: Cluster,
    pods: list[PodBuilder],
    needed: int | None = None,
    topology: GroupTopology = NEAR,
    placed_on: tuple[str, ...] = (),
) -> Choice:
    desk = make_desk(cluster)
    room = room_of([(cluster.info(pod.build()), desk) for pod in pods])
    least = len(pods) if needed is None else needed
    return choose(topology, room, cluster.view, least, placed_on)


def names(choice: Choice) -> list[str]:
    return [domain.value for domain in choice.domains]


def test_the_tightest_domain_that_has_room_comes_first() -> None:
    cluster = make_cluster(
        *(node(f"a{i}", "wide") for i in range(8)),
        *(node(f"b{i}", "fitting") for i in range(3)),
        *(node(f"c{i}", "small") for i in range(2)),
    )
    choice = chosen(cluster, workers(5))
    assert names(choice) == ["fitting", "wide"]
    assert [domain.value for domain in choice.hopeless] == ["small"]


def test_equals_go_by_name() -> None:
    cluster = make_cluster(*(node(f"n-{rack}", rack) for rack in ("c", "a", "b")))
    assert names(chosen(cluster, workers(2))) == ["a", "b", "c"]


def test_more_members_than_needed_prefer_the_domain_that_takes_them_too() -> None:
    cluster = make_cluster(node("a", "small"), node("b", "large", cpu="8"))
    assert names(chosen(cluster, workers(4), needed=2)) == ["large", "small"]


def test_what_the_filters_say_of_the_nodes_counts() -> None:
    cluster = make_cluster(node("a", "tainted").taint("dedicated"), node("b", "open", cpu="16"))
    assert names(chosen(cluster, workers(2))) == ["open"]


def test_pods_that_look_at_other_pods_are_judged_by_room_alone() -> None:
    cluster = make_cluster(node("a", "rack-1"), node("b", "rack-2"))
    leader = make_pod("leader").label("role", "leader").requests(cpu="1")
    follower = make_pod("w").requests(cpu="1").affinity({"role": "leader"}, RACK)
    # Nobody is there for the follower to be near to, which will be otherwise when the leader is.
    assert names(chosen(cluster, [leader, follower])) == ["rack-1", "rack-2"]


def test_host_ports_take_a_node_each() -> None:
    cluster = make_cluster(node("a", "one", cpu="64"), node("b", "two"), node("c", "two"))
    pods = [make_pod(f"w-{i}").host_port(8080) for i in range(2)]
    assert names(chosen(cluster, pods)) == ["two"]


def test_members_that_are_placed_leave_no_choice() -> None:
    cluster = make_cluster(*(node(f"{rack}-{i}", rack) for rack in "ab" for i in range(4)))
    assert names(chosen(cluster, workers(2), placed_on=("b-0",))) == ["b"]
    assert names(chosen(cluster, workers(2), placed_on=("b-0", "a-1", "a-2"))) == ["a"]
    assert names(chosen(cluster, workers(2), placed_on=("gone",))) == ["a", "b"]


def test_a_preferred_domain_ends_with_the_whole_cluster() -> None:
    cluster = make_cluster(node("a", "one"), node("b", "two"), node("c", ""))
    soft = GroupTopology(RACK, required=False)
    assert [str(way) for way in chosen(cluster, workers(2), topology=soft).ways()] == [
        "rack=one",
        "rack=two",
        "None",
    ]
    assert [str(way) for way in chosen(cluster, workers(5), topology=soft).ways()] == ["None"]
    assert None not in chosen(cluster, workers(2)).ways()


@pytest.mark.parametrize(
    ("racks", "said"),
    [
        pytest.param(
            ("", ""),
            "no node has the label rack, whose values the pod group is to share",
            id="no such label",
        ),
        pytest.param(
            ("one", "two"), "no rack has room for 3 members: at most 2 in one", id="too small"
        ),
    ],
)
def test_why_there_is_no_domain(racks: tuple[str, ...], said: str) -> None:
    cluster = make_cluster(*(node(f"n{i}", rack) for i, rack in enumerate(racks)))
    assert chosen(cluster, workers(3)).shortage(3) == said


def test_no_room_anywhere() -> None:
    cluster = make_cluster(node("a", "one", cpu="1"))
    assert chosen(cluster, workers(3)).shortage(3) == (
        "no rack has room for 3 members: none in any of them"
    )


def test_an_attempt_that_is_confined_says_so_of_the_nodes_outside() -> None:
    cluster = make_cluster(node("a", "one"), node("b", "two", cpu="16"))
    desk = make_desk(cluster)
    pods = workers(1, cpu="3")
    one = next(domain for domain in chosen(cluster, pods).domains if domain.value == "one")
    outcome = attempt(cluster.info(pods[0].build()), desk, one.advice())
    assert isinstance(outcome, Placed)
    assert outcome.decision.node == "a"
    cluster.put(make_pod("there").requests(cpu="4").on("a").build())
    outcome = attempt(cluster.info(pods[0].build()), desk, one.advice())
    assert isinstance(outcome, Unplaced)
    assert "1 node(s) outside of rack=one, which the pod group is tried in" in outcome.message
    assert "1 Insufficient cpu" in outcome.message


def test_offers_beyond_all_measure_do_not_wrap() -> None:
    huge = {"cpu": "9223372036854775807m", "memory": "9223372036854775807", "pods": "110"}
    cluster = make_cluster(
        *(make_node(f"n{i}").capacity(huge).label(RACK, "huge") for i in range(3))
    )
    assert names(chosen(cluster, workers(200))) == ["huge"]


@given(
    nodes=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 8)), min_size=1, max_size=8),
    pods=st.lists(st.integers(1, 5), min_size=1, max_size=8),
)
def test_no_more_members_fit_than_the_bound_says(
    nodes: list[tuple[int, int]], pods: list[int]
) -> None:
    made = [node(f"n{i}", f"r{rack}", cpu=str(cpu)) for i, (rack, cpu) in enumerate(nodes)]
    cluster = make_cluster(*made)
    desk = make_desk(cluster)
    members = [make_pod(f"w-{i}").requests(cpu=str(cpu)) for i, cpu in enumerate(pods)]
    choice = chosen(cluster, members, needed=1)
    domains = (*choice.domains, *choice.hopeless)
    assert {domain.value for domain in domains} == {f"r{rack}" for rack, _ in nodes}
    for domain in domains:
        placed = 0
        for pod in members:
            info = cluster.info(pod.build())
            outcome = attempt(info, desk, domain.advice())
            if isinstance(outcome, Placed):
                placed += 1
                cluster.assume(info, outcome.decision.node)
        assert placed <= domain.bound
        for pod in members:
            cluster.remove(pod.build())
    check(cluster)
