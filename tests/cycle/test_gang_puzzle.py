"""The solver, from the members of a gang to a node for each of them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.cluster.cluster import Cluster
from bayplan.cycle import gang_puzzle
from bayplan.cycle.gang_puzzle import Question, question_of
from bayplan.cycle.gang_room import room_of
from bayplan.cycle.gang_solver import Bin, Limits, Puzzle, Solution, solve
from bayplan.model.pod_group import GroupTopology
from bayplan.testing import make_cluster, make_desk, make_node, make_pod
from bayplan.testing.builders import NodeBuilder, PodBuilder

pytest.importorskip("ortools", reason="the extra bayplan[solver] is not installed")


def node(name: str, cpu: int, rack: str = "") -> NodeBuilder:
    made = make_node(name).capacity({"cpu": str(cpu), "memory": "32Gi", "pods": "110"})
    return made.label("rack", rack) if rack else made


def pod(name: str, cpu: int) -> PodBuilder:
    return make_pod(name).requests(cpu=str(cpu))


def question(
    cluster: Cluster, pods: list[PodBuilder], topology: GroupTopology | None = None
) -> Question:
    desk = make_desk(cluster)
    room = room_of([(cluster.info(one.build()), desk) for one in pods])
    found = question_of(room, cluster.view, len(pods), topology)
    assert found is not None
    return found


def test_what_greedy_misses() -> None:
    """Small ones first, spread over both nodes, leave no room for the large one."""
    cluster = make_cluster(node("a", 4), node("b", 4))
    asked = question(cluster, [pod("s-0", 2), pod("s-1", 2), pod("large", 4)])
    plan = asked.plan(solve(asked.puzzle))
    assert plan["default/s-0"] == plan["default/s-1"] != plan["default/large"]


def test_the_fullest_nodes_are_used() -> None:
    cluster = make_cluster(
        *(node(f"n{i}", 8) for i in range(3)), pod("there", 4).on("n1"), pod("more", 1).on("n2")
    )
    asked = question(cluster, [pod("w-0", 2), pod("w-1", 2)])
    assert set(asked.plan(solve(asked.puzzle)).values()) == {"n1"}


def test_no_way_is_said_so() -> None:
    cluster = make_cluster(node("a", 4), node("b", 4))
    asked = question(cluster, [pod("w-0", 3), pod("w-1", 3), pod("w-2", 2)])
    assert solve(asked.puzzle) == Solution(status="INFEASIBLE")


def test_what_cannot_be_is_not_asked() -> None:
    cluster = make_cluster(node("a", 4, "one"), node("b", 4, "two"))
    desk = make_desk(cluster)
    pods = [(cluster.info(pod(f"w-{i}", 2).build()), desk) for i in range(4)]
    room = room_of(pods)
    assert question_of(room, cluster.view, 4) is not None
    assert question_of(room, cluster.view, 4, GroupTopology("rack")) is None
    assert question_of(room_of(pods[:2]), cluster.view, 2, GroupTopology("rack")) is not None
    three = room_of([(cluster.info(pod(f"b-{i}", 3).build()), desk) for i in range(3)])
    assert question_of(three, cluster.view, 3) is None


def test_all_in_one_domain() -> None:
    cluster = make_cluster(
        node("a0", 8, "a"), node("b0", 4, "b"), node("b1", 4, "b"), node("none", 64)
    )
    pods = [pod("w-0", 4), pod("w-1", 2), pod("w-2", 1), pod("w-3", 1)]
    asked = question(cluster, pods, GroupTopology("rack"))
    for plan in (asked.plan(solve(asked.puzzle)),):
        assert len(plan) == 4
        assert len({name[0] for name in plan.values()}) == 1
        assert "none" not in plan.values()
    # A domain that is only preferred is no part of the puzzle: that is what comes when no domain has room.
    soft = question(cluster, pods, GroupTopology("rack", required=False))
    assert {one.domain for one in soft.puzzle.bins} == {0}


def test_more_than_needed_if_they_fit() -> None:
    puzzle = Puzzle(1, (5,), ((1,),), (Bin((3,), (3,), 0, 0), Bin((1,), (1,), 0, 50)))
    solution = solve(puzzle)
    assert (solution.members, solution.status) == (4, "OPTIMAL")


def test_no_more_alike_nodes_are_asked_about_than_there_are_members() -> None:
    cluster = make_cluster(*(node(f"n{i}", 4) for i in range(50)))
    assert len(question(cluster, [pod("a", 1), pod("b", 2)]).puzzle.bins) == 2


def test_of_many_nodes_some_are_asked_about_for_each_class(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gang_puzzle, "MOST_BINS", 4)
    # Ten nodes that are almost full, all other; one that is empty.
    full = [
        one for i in range(10) for one in (node(f"n{i}", 100 + i), pod(f"p{i}", 98).on(f"n{i}"))
    ]
    cluster = make_cluster(*full, node("empty", 120))
    asked = question(cluster, [pod("small-0", 1), pod("small-1", 1), pod("large", 110)])
    assert len(asked.nodes) < 11
    plan = asked.plan(solve(asked.puzzle))
    assert (len(plan), plan["default/large"]) == (3, "empty")


def test_huge_numbers_are_scaled_to_the_safe_side() -> None:
    huge = (1 << 62) - 1
    half = (1 << 61) + 5
    bins = (Bin((huge,), (1, 1), 0, 0),)
    assert solve(Puzzle(2, (1, 1), ((half,), (half,)), bins)).status == "INFEASIBLE"
    less = (1 << 61) - (1 << 50)
    assert solve(Puzzle(2, (1, 1), ((less,), (less,)), bins)).members == 2


def fits(puzzle: Puzzle, solution: Solution) -> bool:
    for number, one in enumerate(puzzle.bins):
        for resource, free in enumerate(one.free):
            taken = sum(
                count * puzzle.amounts[kind][resource]
                for kind, at, count in solution.placed
                if at == number
            )
            if taken > free:
                return False
    return True


@settings(max_examples=40)
@given(
    free=st.lists(st.integers(0, 6), min_size=1, max_size=3),
    amounts=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    needed=st.integers(0, 4),
)
def test_as_good_as_trying_everything(free: list[int], amounts: list[int], needed: int) -> None:
    bins = tuple(
        Bin((there,), tuple(min(1, there // amount) for amount in amounts), 0, 0) for there in free
    )
    needed = min(needed, len(amounts))
    puzzle = Puzzle(needed, (1,) * len(amounts), tuple((a,) for a in amounts), bins)
    best = max(
        sum(place >= 0 for place in places)
        for places in itertools.product(range(-1, len(free)), repeat=len(amounts))
        if all(
            sum(a for a, place in zip(amounts, places, strict=True) if place == number) <= there
            for number, there in enumerate(free)
        )
    )
    solution = solve(puzzle, Limits(seed=3))
    assert fits(puzzle, solution)
    assert solution.members == (best if best >= needed else 0)
    assert solution == solve(puzzle, Limits(seed=3))
