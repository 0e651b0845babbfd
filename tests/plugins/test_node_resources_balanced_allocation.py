"""NodeResourcesBalancedAllocation against upstream's arithmetic, one node at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.cluster.cluster import Cluster
from bayplan.cluster.view import Nodes
from bayplan.framework.state import CycleState
from bayplan.framework.status import SKIP
from bayplan.model.pod import Pod
from bayplan.plugins import node_resources_balanced_allocation as module
from bayplan.plugins.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocation,
    NodeResourcesBalancedAllocationArgs,
    standing,
)
from bayplan.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod

MAX = 2**63 - 1
RESOURCES = ("cpu", "memory", "ephemeral-storage", "nvidia.com/gpu")
Amounts = dict[str, int]

sizes = st.sampled_from([0, 1, 100, 2**30, 2**53 // 100, 2**53 + 1, 2**62, MAX]) | st.integers(
    0, 5000
)
amounts = st.dictionaries(st.sampled_from(RESOURCES), sizes, max_size=4)
offers = st.fixed_dictionaries(
    {"cpu": sizes, "memory": sizes}, optional={"ephemeral-storage": sizes, "nvidia.com/gpu": sizes}
)


def written(some: Amounts) -> dict[str, str]:
    return {name: f"{n}m" if name == "cpu" else str(n) for name, n in some.items()}


def node(name: str, offered: Amounts) -> NodeBuilder:
    built = make_node(name)
    built.manifest["status"] = {"allocatable": written(offered) | {"pods": "110"}}
    return built


def asking(name: str, asked: Amounts) -> PodBuilder:
    return make_pod(name).uid(name).requests(written(asked))


def plugin(*resources: str) -> NodeResourcesBalancedAllocation:
    args = {"resources": [{"name": name} for name in resources]}
    return NodeResourcesBalancedAllocation(
        msgspec.convert(args, NodeResourcesBalancedAllocationArgs)
    )


class World:
    """Nodes with pods on them."""

    def __init__(self, nodes: list[tuple[Amounts, list[Amounts]]]) -> None:
        self.cluster = Cluster()
        self.nodes = nodes
        for i, (offered, placed) in enumerate(nodes):
            self.cluster.put(node(f"n{i}", offered).build())
            for j, asked in enumerate(placed):
                self.cluster.put(asking(f"p{i}-{j}", asked).on(f"n{i}").build())

    def sets(self) -> Iterator[tuple[Nodes, list[int]]]:
        """All nodes, and some of them in any order."""
        view = self.cluster.view
        yield view.nodes, list(range(len(self.nodes)))
        some = list(range(len(self.nodes)))[::-2]
        yield view.rows(np.array(some)), some
        yield view.trial(np.array(some)), some


worlds = st.lists(st.tuples(offers, st.lists(amounts, max_size=3)), min_size=1, max_size=7).map(
    World
)


def balance(fractions: list[float]) -> int:
    if len(fractions) < 2:
        return 100
    if len(fractions) == 2:
        return int((1 - abs((fractions[0] - fractions[1]) / 2)) * 100)
    total = squares = 0.0
    for fraction in fractions:
        total += fraction
    mean = total / len(fractions)
    for fraction in fractions:
        squares += (fraction - mean) * (fraction - mean)
    return int((1 - math.sqrt(squares / len(fractions))) * 100)


def score_of(world: World, i: int, resources: tuple[str, ...], asked: Amounts) -> int:
    before, after = [], []
    offered, placed = world.nodes[i]
    for name in resources:
        amount = asked.get(name, 0)
        if not offered.get(name) or (not amount and "/" in name):
            continue
        used = min(sum(there.get(name, 0) for there in placed), MAX)
        before.append(min(float(used) / float(offered[name]), 1.0))
        after.append(min(float(used + amount) / float(offered[name]), 1.0))
    return 50 + (50 + balance(after) - balance(before)) // 2


def listed(scores: Any, n: int) -> list[int]:
    return [scores] * n if isinstance(scores, int) else scores.tolist()


@pytest.mark.parametrize(
    "resources",
    [
        pytest.param(("cpu", "memory"), id="the default"),
        pytest.param(("nvidia.com/gpu", "cpu"), id="two with a vendor's"),
        pytest.param(("ephemeral-storage", "cpu", "memory"), id="three"),
        pytest.param((*RESOURCES, "storage"), id="four, and one that does not exist"),
        pytest.param(("memory",), id="one"),
    ],
)
@settings(max_examples=60)
@given(world=worlds, asked=amounts)
def test_score_like_a_node_at_a_time(
    resources: tuple[str, ...], world: World, asked: Amounts
) -> None:
    balanced, state, view = plugin(*resources), CycleState(), world.cluster.view
    pod = world.cluster.info(asking("p", asked).build())
    everywhere = np.ones(len(world.nodes), np.bool_)
    if not any(asked.get(name) for name in resources):
        assert balanced.prescore(pod, view.nodes, everywhere, state) is SKIP
        return
    assert balanced.prescore(pod, view.nodes, everywhere, state) is None
    for nodes, numbers in world.sets():
        wanted = [score_of(world, i, resources, asked) for i in numbers]
        for few in (1000, 0):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(module, "FEW", few)
                assert listed(balanced.score(pod, nodes, state), len(numbers)) == wanted


def test_more_resources_than_bits() -> None:
    names = tuple(f"example.com/r{i}" for i in range(70))
    world = World(
        [(dict.fromkeys(names[k:], 10), [dict.fromkeys(names, 1)]) for k in range(0, 70, 5)]
    )
    asked = {name: i % 5 + 1 for i, name in enumerate(names)}
    pod = world.cluster.info(asking("p", asked).build())
    scores = listed(plugin(*names).score(pod, world.cluster.view.nodes, CycleState()), 14)
    assert scores == [score_of(world, i, names, asked) for i in range(14)]


@pytest.mark.parametrize(
    ("placed", "asked", "score"),
    [
        pytest.param({}, {"cpu": 500, "memory": 500}, 75, id="stays as balanced as it was"),
        pytest.param({"cpu": 500}, {"memory": 500}, 50 + (50 + 100 - 75) // 2, id="improves"),
        pytest.param({}, {"cpu": 1000}, 50 + (50 + 50 - 100) // 2, id="worsens as much as can be"),
        pytest.param(
            {"cpu": 999},
            {"memory": 4000},
            50 + (50 + 99 - 50) // 2,
            id="what is too much counts as all there is",
        ),
    ],
)
def test_score(placed: Amounts, asked: Amounts, score: int) -> None:
    world = World([({"cpu": 1000, "memory": 1000}, [placed])])
    pod = world.cluster.info(asking("p", asked).build())
    assert plugin().score(pod, world.cluster.view.nodes, CycleState()) == score


def test_a_missing_request_counts_nothing() -> None:
    world = World([({"cpu": 1000, "memory": 1000}, [{}])])
    pod = world.cluster.info(asking("p", {"memory": 100}).build())
    assert plugin().score(pod, world.cluster.view.nodes, CycleState()) == 50 + (50 + 95 - 100) // 2


def test_a_pod_that_asks_for_nothing_scores_nothing_where_prescore_is_off() -> None:
    world = World([({"cpu": 1000, "memory": 1000}, [])])
    pod = world.cluster.info(asking("p", {}).build())
    assert plugin().score(pod, world.cluster.view.nodes, CycleState()) == 0


def changed(pod: PodBuilder, **fields: Any) -> Pod:
    for field, value in fields.items():
        pod.manifest[field].update(value)
    return pod.build()


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(
            changed(asking("p", {}), spec={"resources": {"requests": {"cpu": "1"}}}),
            id="of the pod as a whole",
        ),
        pytest.param(
            changed(
                asking("p", {"cpu": 1}),
                status={
                    "containerStatuses": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]
                },
            ),
            id="of a pod that is resized",
        ),
    ],
)
def test_requests_that_fit_does_not_score(pod: Pod) -> None:
    world = World([({"cpu": 1000, "memory": 1000}, [])])
    info = world.cluster.info(pod)
    assert plugin().score(info, world.cluster.view.nodes, CycleState()) == 50


steps = st.lists(
    st.tuples(st.sampled_from(["place", "leave", "node", "no node"]), st.integers(0, 9), amounts),
    max_size=12,
)


@settings(max_examples=60)
@given(steps=steps, few=st.sampled_from([0, 2, 100]))
def test_what_is_kept_of_the_cluster_is_kept_true(
    steps: list[tuple[str, int, Amounts]], few: int
) -> None:
    cluster = World([({"cpu": 4000, "memory": 5000}, [])] * 10).cluster
    kept = plugin()
    pod = cluster.info(asking("new", {"cpu": 700, "memory": 200}).build())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEW", 0)
        patch.setattr(standing, "FEW", few)
        for number, (what, i, some) in enumerate(steps):
            if what == "place":
                cluster.put(asking(f"p{number}", some).on(f"n{i}").build())
            elif what == "leave":
                cluster.remove_pod("default", f"p{i}")
            elif what == "node":
                cluster.put(node(f"n{i}", {"cpu": 1000, "memory": 1000} | some).build())
            else:
                cluster.remove_node(f"n{i}")
            fresh = plugin().score(pod, cluster.view.nodes, CycleState())
            now = kept.score(pod, cluster.view.nodes, CycleState())
            n = len(cluster.view.nodes)
            assert listed(now, n) == listed(fresh, n)


def test_one_plugin_serves_several_clusters() -> None:
    balanced = plugin()
    for placed in (0, 1000):
        cluster = World([({"cpu": 1000, "memory": 1000}, [{"cpu": placed}])] * 10).cluster
        pod = cluster.info(asking("p", {"cpu": 1000}).build())
        scores = listed(balanced.score(pod, cluster.view.nodes, CycleState()), 10)
        assert scores == [75 if placed else 50] * 10


@pytest.mark.parametrize(
    ("resources", "complaints"),
    [
        pytest.param(
            [{"name": "cpu", "weight": 0}, {"name": "memory", "weight": 1}], [], id="fine"
        ),
        pytest.param(
            [{"name": "cpu"}, {"name": "cpu", "weight": 2}],
            [
                ("resources[1].name", 'Duplicate value: "cpu"'),
                ("resources[1].weight", "Invalid value: 2: must be 1"),
            ],
            id="twice, and weighted",
        ),
    ],
)
def test_complaints(resources: list[dict[str, Any]], complaints: list[tuple[str, str]]) -> None:
    args = msgspec.convert({"resources": resources}, NodeResourcesBalancedAllocationArgs)
    assert list(NodeResourcesBalancedAllocation.check_args(args)) == complaints


@pytest.mark.parametrize("args", [{}, {"resources": None}, {"resources": []}])
def test_defaults(args: dict[str, Any]) -> None:
    made = msgspec.convert(args, NodeResourcesBalancedAllocationArgs)
    assert [(r.name, r.weight) for r in made.resources or ()] == [("cpu", 1), ("memory", 1)]
