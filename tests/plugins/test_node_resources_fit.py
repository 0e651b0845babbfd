"""NodeResourcesFit against one node at a time, with amounts up to the largest there are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.cluster.cluster import Cluster
from bayplan.cluster.view import Nodes
from bayplan.errors import PluginError
from bayplan.framework.events import Hint
from bayplan.framework.state import CycleState
from bayplan.framework.status import Code, Rejected, Verdicts, unresolvable
from bayplan.model.node import Node
from bayplan.plugins.node_resources_fit import NodeResourcesFit, filtering, scoring, waking
from bayplan.plugins.node_resources_fit.args import NodeResourcesFitArgs, ShapePoint
from bayplan.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod

MAX = 2**63 - 1
MIB = 1024**2
RESOURCES = ("cpu", "memory", "ephemeral-storage", "nvidia.com/gpu")
Amounts = dict[str, int]

sizes = st.sampled_from(
    [0, 1, 2, 99, 100, 101, 4000, 2**30, 2**53 // 100 - 1, 2**53 // 100, 2**56, 2**62, MAX]
) | st.integers(0, 5000)
amounts = st.dictionaries(st.sampled_from(RESOURCES), sizes, max_size=4)


def written(some: Amounts) -> dict[str, str]:
    return {name: f"{n}m" if name == "cpu" else str(n) for name, n in some.items()}


def node(name: str, offered: Amounts, pods: int = 110) -> NodeBuilder:
    built = make_node(name)
    built.manifest["status"] = {"allocatable": written(offered) | {"pods": str(pods)}}
    return built


def asking(name: str, asked: Amounts) -> PodBuilder:
    return make_pod(name).uid(name).requests(written(asked))


def plugin(**args: Any) -> NodeResourcesFit:
    made = msgspec.convert(args, NodeResourcesFitArgs)
    assert list(NodeResourcesFit.check_args(made)) == []
    return NodeResourcesFit(made)


class World:
    """Nodes with pods on them, and what each offers and has given away."""

    def __init__(self, nodes: list[tuple[Amounts, int, list[Amounts]]]) -> None:
        self.cluster = Cluster()
        self.nodes = nodes
        for i, (offered, pods, placed) in enumerate(nodes):
            self.cluster.put(node(f"n{i}", offered, pods).build())
            for j, asked in enumerate(placed):
                self.cluster.put(asking(f"p{i}-{j}", asked).on(f"n{i}").build())

    def used(self, i: int, name: str) -> int:
        return min(sum(asked.get(name, 0) for asked in self.nodes[i][2]), MAX)

    def used_for_scoring(self, i: int, name: str) -> int:
        default = {"cpu": 100, "memory": 200 * MIB}.get(name, 0)
        return min(sum(asked.get(name, default) for asked in self.nodes[i][2]), MAX)

    def sets(self) -> Iterator[tuple[Nodes, list[int]]]:
        """All nodes, and some of them in any order."""
        view = self.cluster.view
        yield view.nodes, list(range(len(self.nodes)))
        some = list(range(len(self.nodes)))[::-2]
        yield view.rows(np.array(some)), some
        yield view.trial(np.array(some)), some


worlds = st.lists(
    st.tuples(amounts, st.integers(0, 3), st.lists(amounts, max_size=3)), min_size=1, max_size=7
).map(World)


@contextmanager
def few(most: int) -> Iterator[None]:
    """Up to how many nodes are computed one by one instead of in columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(filtering, "FEW", most)
        patch.setattr(scoring, "FEW", most)
        yield


ONE_BY_ONE, IN_COLUMNS = 1000, 0


# --- filter ----------------------------------------------------------------------------------------------------------


def said(answer: Verdicts | Rejected | None, n: int) -> list[Rejected | None]:
    if answer is None or isinstance(answer, Rejected):
        return [answer] * n
    return [answer.outcomes[k - 1] if k else None for k in answer.index.tolist()]


def expected(world: World, i: int, asked: Amounts) -> Rejected | None:
    offered, pods, placed = world.nodes[i]
    short = {n: a for n, a in asked.items() if a > offered.get(n, 0) - world.used(i, n) and a > 0}
    reasons = ["Too many pods"] if len(placed) + 1 > pods else []
    reasons += [f"Insufficient {name}" for name in short]
    never = any(amount > offered.get(name, 0) for name, amount in short.items())
    if not reasons:
        return None
    return Rejected(*reasons, code=Code.UNRESOLVABLE if never else Code.UNSCHEDULABLE)


@given(world=worlds, asked=amounts)
def test_filter_like_a_node_at_a_time(world: World, asked: Amounts) -> None:
    fit, state = plugin(), CycleState()
    pod = world.cluster.info(asking("p", asked).build())
    fit.prefilter(pod, world.cluster.view, state)
    for nodes, numbers in world.sets():
        wanted = [expected(world, i, asked) for i in numbers]
        for most in (ONE_BY_ONE, IN_COLUMNS):
            with few(most):
                assert said(fit.filter(pod, nodes, state), len(numbers)) == wanted


FOUR_CPUS: Amounts = {"cpu": 4000, "memory": 8, "nvidia.com/gpu": 2}


@pytest.mark.parametrize(
    ("asked", "verdict"),
    [
        pytest.param({"cpu": 1000}, None, id="fits exactly"),
        pytest.param({"cpu": 1001}, Rejected("Insufficient cpu"), id="too little is left"),
        pytest.param({"cpu": 4001}, unresolvable("Insufficient cpu"), id="too little is there"),
        pytest.param(
            {"cpu": 1001, "memory": 9},
            unresolvable("Insufficient cpu", "Insufficient memory"),
            id="one resource that no eviction frees is enough",
        ),
        pytest.param(
            {"example.com/foo": 1},
            unresolvable("Insufficient example.com/foo"),
            id="a resource that no node has",
        ),
        pytest.param({"example.com/foo": 0}, None, id="none of a resource that no node has"),
        pytest.param(
            {"cpu": MAX}, unresolvable("Insufficient cpu"), id="the largest number does not wrap"
        ),
    ],
)
def test_verdict(asked: Amounts, verdict: Rejected | None) -> None:
    fit, state = plugin(), CycleState()
    cluster = World([(FOUR_CPUS, 2, [{"cpu": 3000}])]).cluster
    pod = cluster.info(asking("p", asked).build())
    fit.prefilter(pod, cluster.view, state)
    assert fit.filter(pod, cluster.view.nodes, state) == verdict


def test_a_full_node_turns_down_even_who_asks_for_nothing() -> None:
    fit, state = plugin(), CycleState()
    cluster = World([(FOUR_CPUS, 1, [{}])]).cluster
    pod = cluster.info(asking("p", {}).build())
    fit.prefilter(pod, cluster.view, state)
    assert fit.filter(pod, cluster.view.nodes, state) == Rejected("Too many pods")


def test_an_overcommitted_node_takes_who_asks_for_something_else() -> None:
    fit, state = plugin(), CycleState()
    cluster = World([(FOUR_CPUS, 9, [{"cpu": 5000}])]).cluster
    pod = cluster.info(asking("p", {"memory": 1, "cpu": 0}).build())
    fit.prefilter(pod, cluster.view, state)
    assert fit.filter(pod, cluster.view.nodes, state) is None


def test_evicting_a_pod_makes_room_in_a_what_if() -> None:
    fit, state = plugin(), CycleState()
    cluster = World([(FOUR_CPUS, 1, [{"cpu": 3000}])]).cluster
    pod = cluster.info(asking("p", {"cpu": 2000}).build())
    fit.prefilter(pod, cluster.view, state)
    trial = cluster.view.trial(np.array([0]))
    assert fit.filter(pod, trial, state) == Rejected("Too many pods", "Insufficient cpu")
    trial.remove_pod(0, trial.pods_on(0)[0])
    assert fit.filter(pod, trial, state) is None


@pytest.mark.parametrize(
    ("args", "name", "ignored"),
    [
        ({"ignoredResources": ["example.com/foo"]}, "example.com/foo", True),
        ({"ignoredResources": ["example.com/foo"]}, "example.com/bar", False),
        ({"ignoredResourceGroups": ["example.com"]}, "example.com/bar", True),
        ({"ignoredResourceGroups": ["example"]}, "example.com/bar", False),
        ({"ignoredResources": ["cpu", "hugepages-2Mi"]}, "cpu", False),
        ({"ignoredResources": ["cpu", "hugepages-2Mi"]}, "hugepages-2Mi", False),
        ({"ignoredResourceGroups": ["x.kubernetes.io"]}, "x.kubernetes.io/foo", False),
    ],
)
def test_ignored_resources(args: dict[str, Any], name: str, ignored: bool) -> None:
    fit, state = plugin(**args), CycleState()
    cluster = World([({}, 9, [])]).cluster
    pod = cluster.info(asking("p", {name: 1}).build())
    fit.prefilter(pod, cluster.view, state)
    verdict = None if ignored else unresolvable(f"Insufficient {name}")
    assert fit.filter(pod, cluster.view.nodes, state) == verdict


def test_a_pod_that_asks_for_very_many_resources() -> None:
    fit, state = plugin(), CycleState()
    asked = {f"example.com/r{i}": 1 for i in range(40)}
    cluster = World([(asked, 9, [])] * 2 + [({}, 9, [])]).cluster
    pod = cluster.info(asking("p", asked).build())
    fit.prefilter(pod, cluster.view, state)
    answer = said(fit.filter(pod, cluster.view.nodes, state), 3)
    assert answer == [None, None, unresolvable(*(f"Insufficient {name}" for name in asked))]


def test_filter_without_prefilter_is_an_error() -> None:
    cluster = World([({}, 9, [])]).cluster
    pod = cluster.info(asking("p", {}).build())
    with pytest.raises(PluginError, match="from cycleState: not found"):
        plugin().filter(pod, cluster.view.nodes, CycleState())


# --- score -----------------------------------------------------------------------------------------------------------

SHAPE = [
    {"utilization": 10, "score": 0},
    {"utilization": 50, "score": 10},
    {"utilization": 90, "score": 3},
]
WEIGHTED = [
    {"name": "cpu", "weight": 3},
    {"name": "nvidia.com/gpu", "weight": 5},
    {"name": "ephemeral-storage", "weight": 1},
    {"name": "storage", "weight": 7},
]
STRATEGIES: dict[str, dict[str, Any]] = {
    "least by default": {},
    "most": {"scoringStrategy": {"type": "MostAllocated"}},
    "least, weighted": {"scoringStrategy": {"type": "LeastAllocated", "resources": WEIGHTED}},
    "most, weighted": {"scoringStrategy": {"type": "MostAllocated", "resources": WEIGHTED}},
    "a shape": {
        "scoringStrategy": {
            "type": "RequestedToCapacityRatio",
            "resources": [*WEIGHTED, {"name": "memory"}],
            "requestedToCapacityRatio": {"shape": SHAPE},
        }
    },
}


def shape_at(percent: int) -> int:
    """The shape above, written out."""
    if percent <= 10:
        return 0
    if percent <= 50:
        return 100 * (percent - 10) // 40
    return 30 if percent > 90 else 100 + -(70 * (percent - 50) // 40)


def score_of(args: NodeResourcesFitArgs, world: World, i: int, asked: Amounts) -> int:
    strategy = args.scoring_strategy
    assert strategy is not None
    total = weights = 0
    for resource in strategy.resources or ():
        name = resource.name
        amount = asked.get(name, {"cpu": 100, "memory": 200 * MIB}.get(name, 0))
        offered = world.nodes[i][0].get(name, 0)
        if not offered or (not amount and "/" in name):
            continue
        used = world.used_for_scoring(i, name) + amount
        if strategy.type == "LeastAllocated":
            part = (offered - used) * 100 // offered if used <= offered else 0
        elif strategy.type == "MostAllocated":
            part = min(used, offered) * 100 // offered
        else:
            part = shape_at(used * 100 // offered if used <= offered else 100)
            if not part:
                continue
        total += part * resource.weight
        weights += resource.weight
    if not weights:
        return 0
    if strategy.type == "RequestedToCapacityRatio":
        return (2 * total + weights) // (2 * weights)
    return total // weights


def listed(scores: Any, n: int) -> list[int]:
    return [scores] * n if isinstance(scores, int) else scores.tolist()


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)
@settings(max_examples=50)
@given(world=worlds, asked=amounts)
def test_score_like_a_node_at_a_time(
    strategy: dict[str, Any], world: World, asked: Amounts
) -> None:
    fit, state = plugin(**strategy), CycleState()
    args = msgspec.convert(strategy, NodeResourcesFitArgs)
    pod = world.cluster.info(asking("p", asked).build())
    everywhere = np.ones(len(world.nodes), np.bool_)
    fit.prescore(pod, world.cluster.view.nodes, everywhere, state)
    for nodes, numbers in world.sets():
        wanted = [score_of(args, world, i, asked) for i in numbers]
        for most in (ONE_BY_ONE, IN_COLUMNS):
            with few(most):
                assert listed(fit.score(pod, nodes, state), len(numbers)) == wanted


@pytest.mark.parametrize(
    ("strategy", "asked", "score"),
    [
        pytest.param({}, {"cpu": 1000, "memory": 5000}, (25 + 40) // 2, id="least"),
        pytest.param({}, {"cpu": 3000, "memory": 0}, (0 + 90) // 2, id="least: more than there is"),
        pytest.param(STRATEGIES["most"], {"cpu": 1000, "memory": 5000}, (75 + 60) // 2, id="most"),
        pytest.param({}, {"memory": 5000}, (47 + 40) // 2, id="a missing request counts 100m"),
    ],
)
def test_score(strategy: dict[str, Any], asked: Amounts, score: int) -> None:
    fit = plugin(**strategy)
    cluster = World([({"cpu": 4000, "memory": 10000}, 9, [{"cpu": 2000, "memory": 1000}])]).cluster
    pod = cluster.info(asking("p", asked).build())
    # Without PreScore, as where a configuration switches it off.
    assert listed(fit.score(pod, cluster.view.nodes, CycleState()), 1) == [score]


@pytest.mark.parametrize("most", [ONE_BY_ONE, IN_COLUMNS])
def test_amounts_that_floats_round(most: int) -> None:
    percent = 2**55
    used = 100 * percent - (40 * percent - 1)  # a hair less than 40 % is left
    world = World(
        [({"cpu": 100 * percent, "memory": 100 * percent}, 9, [{"cpu": used, "memory": used}])] * 2
    )
    pod = world.cluster.info(asking("p", {"cpu": 0, "memory": 0}).build())
    with few(most):
        scores = plugin().score(pod, world.cluster.view.nodes, CycleState())
    assert listed(scores, 2) == [39, 39]


def test_the_pod_as_a_whole_does_not_count_in_scoring() -> None:
    built = asking("p", {"cpu": 1000, "memory": 5000})
    built.manifest["spec"]["resources"] = {"requests": {"cpu": "2", "memory": "1"}}
    cluster = World([({"cpu": 4000, "memory": 10000}, 9, [])]).cluster
    pod = cluster.info(built.build())
    assert plugin().score(pod, cluster.view.nodes, CycleState()) == (75 + 50) // 2


def test_shape_falls_towards_zero() -> None:
    points = (ShapePoint(0, 10), ShapePoint(30, 0))
    table = scoring.shape_table(points)
    assert [table[p] for p in (0, 1, 2, 29, 30, 100)] == [100, 97, 94, 4, 0, 0]


# --- arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "complaints"),
    [
        pytest.param(
            {"ignoredResources": ["a/b/c"]},
            ['ignoredResources[0]: Invalid value: "a/b/c": a valid label key must consist of'],
            id="no label key",
        ),
        pytest.param(
            {"ignoredResourceGroups": ["ok", "a/b"]},
            [
                "ignoredResourceGroups[1]: Invalid value: \"a/b\": resource group name can't contain '/'"
            ],
            id="group with a slash",
        ),
        pytest.param(
            {"scoringStrategy": {}},
            [
                'scoringStrategy.type: Unsupported value: "": supported values: '
                '"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"'
            ],
            id="no type",
        ),
        pytest.param(
            {
                "scoringStrategy": {
                    "type": "LeastAllocated",
                    "resources": [{"name": "cpu"}, {"name": "gpu", "weight": 101}],
                }
            },
            [
                "scoringStrategy.resources[1].weight: Invalid value: 101: "
                "resource weight of gpu not in valid range (0, 100]"
            ],
            id="weight",
        ),
        pytest.param(
            {"scoringStrategy": {"type": "RequestedToCapacityRatio"}},
            [
                "scoringStrategy.requestedToCapacityRatio: Required value: "
                "must be specified when type is RequestedToCapacityRatio"
            ],
            id="no shape",
        ),
        pytest.param(
            {"scoringStrategy": {"type": "MostAllocated", "requestedToCapacityRatio": {}}},
            [
                "scoringStrategy.requestedToCapacityRatio: Forbidden: "
                "must be nil when type is not RequestedToCapacityRatio"
            ],
            id="a shape for nothing",
        ),
        pytest.param(
            {
                "scoringStrategy": {
                    "type": "RequestedToCapacityRatio",
                    "requestedToCapacityRatio": {"shape": []},
                }
            },
            [
                "scoringStrategy.requestedToCapacityRatio.shape: Required value: "
                "at least one point must be specified"
            ],
            id="empty shape",
        ),
        pytest.param(
            {
                "scoringStrategy": {
                    "type": "RequestedToCapacityRatio",
                    "requestedToCapacityRatio": {
                        "shape": [
                            {"utilization": 50},
                            {"utilization": 50, "score": 11},
                            {"utilization": 101},
                        ]
                    },
                }
            },
            [
                "scoringStrategy.requestedToCapacityRatio.shape[1].utilization: "
                "Invalid value: 50: values must be sorted in increasing order",
                "scoringStrategy.requestedToCapacityRatio.shape[1].score: "
                "Invalid value: 11: not in valid range [0, 10]",
                "scoringStrategy.requestedToCapacityRatio.shape[2].utilization: "
                "Invalid value: 101: not in valid range [0, 100]",
            ],
            id="shape",
        ),
    ],
)
def test_complaints(args: dict[str, Any], complaints: list[str]) -> None:
    made = msgspec.convert(args, NodeResourcesFitArgs)
    found = [f"{path}: {what}" for path, what in NodeResourcesFit.check_args(made)]
    assert len(found) == len(complaints)
    for got, wanted in zip(found, complaints, strict=True):
        assert got.startswith(wanted)


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"scoringStrategy": None, "ignoredResources": None},
        {"scoringStrategy": {"type": "LeastAllocated", "resources": []}},
        {
            "scoringStrategy": {
                "type": "LeastAllocated",
                "resources": [{"name": "cpu", "weight": 0}, {"name": "memory"}],
            }
        },
    ],
)
def test_defaults(args: dict[str, Any]) -> None:
    strategy = plugin(**args).scoring_strategy
    assert strategy.type == "LeastAllocated"
    assert [(r.name, r.weight) for r in strategy.resources or ()] == [("cpu", 1), ("memory", 1)]


def test_unknown_arguments_are_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="ignoredResource"):
        plugin(ignoredResource=["x"])


# --- waking ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        pytest.param(None, {"cpu": 2000}, Hint.QUEUE, id="a new node that is large enough"),
        pytest.param(None, {"cpu": 1999}, Hint.SKIP, id="a new node that is too small"),
        pytest.param(None, {"cpu": 2000, "pods": 0}, Hint.SKIP, id="a new node that takes no pods"),
        pytest.param({"cpu": 1000}, {"cpu": 2000}, Hint.QUEUE, id="grown"),
        pytest.param({"cpu": 1000}, {"cpu": 1500}, Hint.SKIP, id="grown too little"),
        pytest.param({"cpu": 3000}, {"cpu": 2000}, Hint.SKIP, id="shrunk"),
        pytest.param({"cpu": 2000}, {"cpu": 2000, "memory": 9}, Hint.SKIP, id="grown elsewhere"),
        pytest.param({"cpu": 2000}, {"cpu": 2000, "pods": 111}, Hint.QUEUE, id="takes more pods"),
        pytest.param({"cpu": 2000}, None, Hint.SKIP, id="gone"),
    ],
)
def test_waking_by_a_node(old: Amounts | None, new: Amounts | None, hint: Hint) -> None:
    pod = Cluster().info(asking("p", {"cpu": 2000, "memory": 0}).build())

    def built(offered: Amounts | None) -> Node | None:
        return None if offered is None else node("n", offered, offered.get("pods", 110)).build()

    assert waking.after_node(pod, built(old), built(new)) is hint


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        pytest.param(asking("q", {}).on("n"), None, Hint.QUEUE, id="a placed pod is gone"),
        pytest.param(
            asking("q", {}).nominated("n"), None, Hint.QUEUE, id="a nominated pod is gone"
        ),
        pytest.param(asking("q", {}), None, Hint.SKIP, id="a pending pod is gone"),
        pytest.param(asking("p", {}), asking("p", {}), Hint.QUEUE, id="the pod itself"),
        pytest.param(
            asking("q", {"cpu": 2}).on("n"),
            asking("q", {"cpu": 1}).on("n"),
            Hint.QUEUE,
            id="shrunk",
        ),
        pytest.param(
            asking("q", {"memory": 2}).on("n"),
            asking("q", {"memory": 1}).on("n"),
            Hint.SKIP,
            id="shrunk elsewhere",
        ),
        pytest.param(
            asking("q", {"cpu": 2}), asking("q", {"cpu": 1}), Hint.SKIP, id="a pending pod shrunk"
        ),
    ],
)
def test_waking_by_a_pod(old: PodBuilder, new: PodBuilder | None, hint: Hint) -> None:
    pod = Cluster().info(asking("p", {"cpu": 2000, "memory": 0}).build())
    assert waking.after_pod(pod, old.build(), None if new is None else new.build()) is hint
