"""InterPodAffinity against the rules, one node and one pod at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.answers import Asked, said

from bayplan.cluster.audit import check
from bayplan.framework.events import Hint
from bayplan.framework.status import SKIP, Code, Rejected
from bayplan.model.decode import decode_as
from bayplan.model.namespace import Namespace
from bayplan.model.node import Node
from bayplan.model.pod import Pod, PodAffinityTerm
from bayplan.model.selectors import LabelSelector, compile_label_selector
from bayplan.plugins.inter_pod_affinity import InterPodAffinity
from bayplan.testing import NodeBuilder, PodBuilder, decide, make_cluster, make_node, make_pod

HOST, ZONE, RACK = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "rack"
UNWELCOME = "node(s) didn't satisfy existing pods anti-affinity rules"
AWAY = "node(s) didn't match pod anti-affinity rules"
NOT_NEAR = "node(s) didn't match pod affinity rules"

Term = tuple[str, str, dict[str, Any] | None, dict[str, Any]]
WEB, EVERY = {"matchLabels": {"app": "web"}}, dict[str, Any]()
OWN = dict[str, Any]()


# --- the rules -----------------------------------------------------------------------------------------------------------


@dataclass
class World:
    """Decoded objects and nothing else. A namespace may lack an object, and a pod a node that exists."""

    nodes: list[Node]
    placed: list[tuple[Pod, Node]]
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)

    def wants(self, term: PodAffinityTerm, pod: Pod, other: Pod) -> bool:
        """Whether a term of the pod to be placed speaks of another one: its selector is resolved to names first."""
        name, by_labels = other.metadata.namespace, term.namespace_selector
        known = name in self.namespaces and selects(by_labels, self.namespaces[name])
        covered = name in names(term, pod) or known or selects(by_labels, {})
        return covered and selects(term.label_selector, other.metadata.labels)

    def carries(self, term: PodAffinityTerm, owner: Pod, pod: Pod) -> bool:
        """Whether a term of a placed pod speaks of the pod to be placed."""
        name = pod.metadata.namespace
        by_labels = selects(term.namespace_selector, self.namespaces.get(name, {}))
        covered = name in names(term, owner) or by_labels
        return covered and selects(term.label_selector, pod.metadata.labels)

    def verdict(self, pod: Pod, node: Node) -> str:
        near, away = required(pod)
        like_wanted = [
            there for other, there in self.placed if all(self.wants(t, pod, other) for t in near)
        ]
        found = {at for t in near for there in like_wanted for at in place(t, there)}
        if any(not place(t, node) for t in near):
            return NOT_NEAR
        first = not found and all(self.wants(t, pod, pod) for t in near)
        if not first and any(place(t, node)[0] not in found for t in near):
            return NOT_NEAR
        for other, there in self.placed:
            if any(self.wants(t, pod, other) and together(t, node, there) for t in away):
                return AWAY
        for other, there in self.placed:
            if any(
                self.carries(t, other, pod) and together(t, node, there) for t in required(other)[1]
            ):
                return UNWELCOME
        return ""

    def score(self, pod: Pod, node: Node, hard_weight: int) -> int:
        return sum(
            weight * together(term, node, there)
            for other, there in self.placed
            for term, weight in self.served(pod, other, hard_weight)
        )

    def served(
        self, pod: Pod, other: Pod, hard_weight: int
    ) -> Iterator[tuple[PodAffinityTerm, int]]:
        for term, weight in preferred(pod):
            if self.wants(term, pod, other):
                yield term, weight
        for term, weight in [*((t, hard_weight) for t in required(other)[0]), *preferred(other)]:
            if self.carries(term, other, pod):
                yield term, weight


def selects(selector: LabelSelector | None, labels: dict[str, str]) -> bool:
    return compile_label_selector(selector).matches(labels)


def names(term: PodAffinityTerm, owner: Pod) -> tuple[str, ...]:
    nothing_said = not term.namespaces and term.namespace_selector is None
    return (owner.metadata.namespace,) if nothing_said else term.namespaces


def required(pod: Pod) -> tuple[tuple[PodAffinityTerm, ...], tuple[PodAffinityTerm, ...]]:
    affinity = pod.spec.affinity
    if affinity is None:
        return (), ()
    return affinity.pod_affinity.required, affinity.pod_anti_affinity.required


def preferred(pod: Pod) -> list[tuple[PodAffinityTerm, int]]:
    affinity = pod.spec.affinity
    if affinity is None:
        return []
    near, away = affinity.pod_affinity.preferred, affinity.pod_anti_affinity.preferred
    return [(w.pod_affinity_term, w.weight) for w in near] + [
        (w.pod_affinity_term, -w.weight) for w in away
    ]


def place(term: PodAffinityTerm, node: Node) -> list[tuple[str, str]]:
    key, labels = term.topology_key, node.metadata.labels
    return [(key, labels[key])] if key in labels else []


def together(term: PodAffinityTerm, node: Node, other: Node) -> bool:
    return bool(place(term, node)) and place(term, node) == place(term, other)


def normalized(scores: list[int]) -> list[int]:
    low, high = min(scores), max(scores)
    return [int(100 * ((s - low) / (high - low))) if high > low else 0 for s in scores]


# --- random worlds -------------------------------------------------------------------------------------------------------

SELECTORS = st.sampled_from(
    [
        None,
        EVERY,
        WEB,
        {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]},
        {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
    ]
)
WHERE = st.sampled_from(
    [
        OWN,
        OWN,
        {"namespaces": ["blue"]},
        {"namespaceSelector": {}},
        {"namespaceSelector": {"matchLabels": {"team": "x"}}},
        {"namespaces": ["green"], "namespaceSelector": {"matchLabels": {"team": "x"}}},
        {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}},
    ]
)
TERMS = st.tuples(
    st.sampled_from(["near", "away", "likes", "dislikes"]),
    st.sampled_from([HOST, ZONE, RACK]),
    SELECTORS,
    WHERE,
)
PODS = st.tuples(
    st.sampled_from(["blue", "green", "unknown"]),
    st.sampled_from([{}, {"app": "web"}, {"app": "db"}]),
    st.lists(TERMS, max_size=3),
)
NODES = st.fixed_dictionaries(
    {}, optional={ZONE: st.sampled_from(["z1", "z2"]), RACK: st.sampled_from(["r1", "r2", ""])}
)
NAMESPACES = {"blue": {"team": "x"}, "green": {"team": "y"}}
#: Nodes 0 to 4 exist or not, node 5 never does.
PLACED = st.lists(st.tuples(PODS, st.integers(0, 5)), max_size=8)


def a_pod(name: str, namespace: str, labels: dict[str, str], terms: Iterable[Term]) -> PodBuilder:
    builder = make_pod(name, namespace).uid(f"uid-{name}").labels(labels)
    affinity = builder.manifest["spec"].setdefault("affinity", {})
    for number, (kind, key, selector, where) in enumerate(terms):
        term = {"topologyKey": key, **where}
        if selector is not None:
            term["labelSelector"] = selector
        near = affinity.setdefault(
            "podAffinity" if kind in ("near", "likes") else "podAntiAffinity", {}
        )
        if kind in ("near", "away"):
            near.setdefault("requiredDuringSchedulingIgnoredDuringExecution", []).append(term)
        else:
            weighted = {"weight": 10 * number + 7, "podAffinityTerm": term}
            near.setdefault("preferredDuringSchedulingIgnoredDuringExecution", []).append(weighted)
    return builder


def a_namespace(name: str, labels: dict[str, str]) -> Namespace:
    return decode_as(Namespace, {"metadata": {"name": name, "labels": labels}})


def a_world(
    nodes: list[dict[str, str]], placed: list[tuple[tuple[Any, ...], int]]
) -> tuple[World, list[Pod]]:
    built = [make_node(f"n{i}").labels(labels).build() for i, labels in enumerate(nodes)]
    pods = [a_pod(f"p{i}", *what).on(f"n{row}").build() for i, (what, row) in enumerate(placed)]
    at = [row for _, row in placed]
    on_nodes = [(pod, built[row]) for pod, row in zip(pods, at, strict=True) if row < len(built)]
    return World(built, on_nodes, NAMESPACES), pods


def ask(probe: Pod, **args: Any) -> Asked:
    """The plugin, and a cluster that has its namespaces and nothing else."""
    namespaces = (a_namespace(name, labels) for name, labels in NAMESPACES.items())
    return Asked(InterPodAffinity(**args), probe, *namespaces)


@given(
    st.lists(NODES, min_size=1, max_size=5),
    PLACED,
    PODS,
    st.sampled_from([0, 1, 50]),
)
def test_like_a_node_and_a_pod_at_a_time(
    nodes: list[dict[str, str]],
    placed: list[tuple[tuple[Any, ...], int]],
    probe: tuple[Any, ...],
    hard_weight: int,
) -> None:
    world, pods = a_world(nodes, placed)
    pod = a_pod("probe", *probe).build()
    asked = ask(pod, hard_pod_affinity_weight=hard_weight)
    for obj in [*pods[::2], *world.nodes, *pods[1::2]]:
        asked.tell(obj)
    filtered, scores = asked.filter(), asked.score()
    rows = [asked.row(node) for node in world.nodes]
    assert [filtered[row] for row in rows] == [world.verdict(pod, node) for node in world.nodes]
    expected = [world.score(pod, node, hard_weight) for node in world.nodes]
    assert [scores[row] for row in rows] == expected
    alive = asked.cluster.view.nodes.alive
    scaled = asked.plugin.normalize(np.array(scores), alive, asked.state)
    assert [int(scaled[row]) for row in rows] == normalized(expected)
    check(asked.cluster)


@given(
    st.lists(NODES, min_size=2, max_size=4),
    st.lists(st.tuples(PODS, st.integers(0, 3)), min_size=1, max_size=6),
    PODS,
    st.data(),
)
def test_supposing_that_pods_go_and_come_is_like_a_cluster_without_and_with_them(
    nodes: list[dict[str, str]],
    placed: list[tuple[tuple[Any, ...], int]],
    probe: tuple[Any, ...],
    data: st.DataObject,
) -> None:
    world, pods = a_world(nodes, placed)
    pod = a_pod("probe", *probe).build()
    asked = ask(pod)
    for obj in [*world.nodes, *pods]:
        asked.tell(obj)
    before = asked.filter()
    if asked.plugin.prefilter(asked.pod, asked.cluster.view, asked.state) is SKIP:
        return  # upstream asks a plugin that had nothing to say no further, whoever comes
    view, state = asked.cluster.view, asked.state.clone()
    everywhere = view.rows(np.arange(len(view.nodes)))
    for _ in range(data.draw(st.integers(1, 3))):
        number = data.draw(st.integers(0, len(world.placed)))
        if number < len(world.placed):
            gone, there = world.placed.pop(number)
            asked.plugin.remove_pod(
                asked.pod, asked.cluster.info(gone), asked.on(there), view, state
            )
        else:
            come = a_pod(f"new{number}", *data.draw(PODS)).build()
            there = data.draw(st.sampled_from(world.nodes))
            world.placed.append((come, there))
            asked.plugin.add_pod(asked.pod, asked.cluster.info(come), asked.on(there), view, state)
        answer = asked.plugin.filter(asked.pod, everywhere, state)
        assert [
            said(asked.plugin, answer, len(everywhere))[asked.row(node)] for node in world.nodes
        ] == [world.verdict(pod, node) for node in world.nodes]
    assert asked.filter() == before, "the what-if leaked"


# --- corner cases --------------------------------------------------------------------------------------------------------


def term(kind: str, key: str, selector: dict[str, Any] | None = WEB, **where: Any) -> Term:
    return kind, key, selector, where


def web(name: str, *terms: Term, namespace: str = "blue") -> PodBuilder:
    return a_pod(name, namespace, {"app": "web"}, terms)


def db(name: str, *terms: Term, namespace: str = "blue") -> PodBuilder:
    return a_pod(name, namespace, {"app": "db"}, terms)


def asked_of(pod: PodBuilder, *others: PodBuilder) -> tuple[list[str], Asked]:
    """What is said of two nodes in zone z1, one in z2 and one without a zone."""
    asked = ask(pod.build())
    for name, zone in (("a1", "z1"), ("a2", "z1"), ("b1", "z2"), ("c1", "")):
        node: NodeBuilder = make_node(name)
        asked.cluster.put((node.zone(zone) if zone else node).build())
    for other in others:
        asked.cluster.put(other.build())
    return asked.filter()[:4], asked


SPOKEN_OF_ALL = {"namespaceSelector": dict[str, Any]()}


@pytest.mark.parametrize(
    ("pod", "others", "verdicts"),
    [
        pytest.param(
            db("new", term("near", ZONE)),
            [web("w").on("a1")],
            ["", "", NOT_NEAR, NOT_NEAR],
            id="near a pod in the zone; a node without the label fails",
        ),
        pytest.param(
            web("new", term("near", ZONE)),
            [],
            ["", "", "", NOT_NEAR],
            id="the first of a series goes anywhere that has the label",
        ),
        pytest.param(
            db("new", term("near", ZONE)),
            [],
            [NOT_NEAR] * 4,
            id="nobody matches and neither does the pod itself",
        ),
        pytest.param(
            web("new", term("near", ZONE)),
            [web("w").on("c1")],
            ["", "", "", NOT_NEAR],
            id="a match on a node without the label does not end the first-pod rule",
        ),
        pytest.param(
            web("new", term("near", ZONE), term("near", HOST)),
            [web("w").on("c1")],
            [NOT_NEAR] * 4,
            id="a match that counts for one of two terms does end it",
        ),
        pytest.param(
            db("new", term("near", ZONE), term("near", ZONE, {"matchLabels": {"tier": "gold"}})),
            [web("w").on("a1"), a_pod("g", "blue", {"tier": "gold"}, []).on("a1")],
            [NOT_NEAR] * 4,
            id="one pod has to match all affinity terms",
        ),
        pytest.param(
            db("new", term("away", ZONE), term("away", HOST, {"matchLabels": {"tier": "gold"}})),
            [web("w").on("a1"), a_pod("g", "blue", {"tier": "gold"}, []).on("b1")],
            [AWAY, AWAY, AWAY, ""],
            id="each anti-affinity term counts by itself",
        ),
        pytest.param(
            db("new", term("away", ZONE)),
            [web("w").on("c1")],
            [""] * 4,
            id="a node without the label passes anti-affinity",
        ),
        pytest.param(
            web("new"),
            [db("d", term("away", ZONE)).on("b1")],
            ["", "", UNWELCOME, ""],
            id="anti-affinity of placed pods holds against newcomers",
        ),
        pytest.param(
            web("new"),
            [db("d", term("near", ZONE)).on("b1")],
            [""] * 4,
            id="affinity of placed pods does not",
        ),
        pytest.param(
            web("new", term("away", HOST)),
            [web("w", term("away", HOST)).on("a1")],
            [AWAY, "", "", ""],
            id="of both anti-affinities the pod's own is named",
        ),
        pytest.param(
            web("new", term("near", HOST), term("away", HOST)),
            [web("w").on("a1")],
            [AWAY, NOT_NEAR, NOT_NEAR, NOT_NEAR],
            id="affinity is named before anti-affinity",
        ),
        pytest.param(
            db("new", term("away", HOST, None)),
            [web("w").on("a1")],
            [""] * 4,
            id="no selector selects nobody",
        ),
        pytest.param(
            db("new", term("away", HOST, {})),
            [web("w").on("a1")],
            [AWAY, "", "", ""],
            id="an empty selector selects everybody",
        ),
        pytest.param(
            db("new", term("away", HOST)),
            [web("w", namespace="green").on("a1")],
            [""] * 4,
            id="without namespaces the pod's own is meant",
        ),
        pytest.param(
            db("new", term("away", HOST, namespaces=["green"])),
            [web("w", namespace="green").on("a1"), web("v").on("a2")],
            [AWAY, "", "", ""],
            id="listed namespaces, and not the own",
        ),
        pytest.param(
            db("new", term("away", HOST, **SPOKEN_OF_ALL)),
            [web("w", namespace="green").on("a1"), web("v", namespace="unknown").on("a2")],
            [AWAY, AWAY, "", ""],
            id="an empty namespace selector is all, even those without an object",
        ),
        pytest.param(
            db(
                "new",
                term(
                    "away",
                    HOST,
                    namespaces=["green"],
                    namespaceSelector={"matchLabels": {"team": "x"}},
                ),
            ),
            [
                web("w", namespace="green").on("a1"),
                web("v", namespace="blue").on("a2"),
                web("u", namespace="unknown").on("b1"),
            ],
            [AWAY, AWAY, "", ""],
            id="names and selector together are a union",
        ),
        pytest.param(
            web("new", namespace="green"),
            [
                db("d", term("away", HOST, namespaceSelector={"matchLabels": {"team": "y"}})).on(
                    "a1"
                )
            ],
            [UNWELCOME, "", "", ""],
            id="a placed pod's namespace selector is asked of the newcomer's namespace",
        ),
        pytest.param(
            db("new", term("away", HOST)),
            [web("w").on("a1").terminating()],
            [AWAY, "", "", ""],
            id="a pod that is being deleted still counts",
        ),
        pytest.param(
            db("new", term("near", HOST)),
            [web("w").on("nowhere")],
            [NOT_NEAR] * 4,
            id="a pod on a node that does not exist does not count",
        ),
    ],
)
def test_filter(pod: PodBuilder, others: list[PodBuilder], verdicts: list[str]) -> None:
    got, asked = asked_of(pod, *others)
    assert got == verdicts
    check(asked.cluster)


def test_whether_eviction_may_help() -> None:
    _, asked = asked_of(db("new", term("near", ZONE), term("away", HOST)), web("w").on("a1"))
    asked.cluster.put(web("x", term("away", HOST, EVERY)).on("a2").build())
    asked.filter()
    answer = asked.plugin.filter(asked.pod, asked.cluster.view.nodes, asked.state)
    assert answer is not None
    codes = {outcome.message: outcome.code for outcome in answer.outcomes}
    assert codes == {
        NOT_NEAR: Code.UNRESOLVABLE,
        AWAY: Code.UNSCHEDULABLE,
        UNWELCOME: Code.UNSCHEDULABLE,
    }


def test_a_namespace_that_gets_another_label_changes_the_answer() -> None:
    pod = db("new", term("away", HOST, namespaceSelector={"matchLabels": {"team": "z"}}))
    verdicts, asked = asked_of(pod, web("w", namespace="green").on("a1"))
    assert verdicts == [""] * 4
    asked.cluster.put(a_namespace("green", {"team": "z"}))
    assert asked.filter() == [AWAY, "", "", ""]
    asked.cluster.remove(a_namespace("green", {}))
    assert asked.filter() == [""] * 4
    check(asked.cluster)


@pytest.mark.parametrize(
    ("pod", "others", "scores"),
    [
        pytest.param(
            db("new", term("likes", ZONE)), [web("w").on("a1")], [100, 100, 0, 0], id="own likes"
        ),
        pytest.param(
            db("new", term("dislikes", ZONE)),
            [web("w").on("a1")],
            [0, 0, 100, 100],
            id="own dislikes, below zero",
        ),
        pytest.param(
            web("new"),
            [db("d", term("likes", HOST)).on("a1")],
            [100, 0, 0, 0],
            id="likes of placed pods",
        ),
        pytest.param(
            web("new"),
            [db("d", term("near", ZONE)).on("a1")],
            [100, 100, 0, 0],
            id="required affinity of placed pods counts as liking",
        ),
        pytest.param(
            web("new"),
            [db("d", term("away", ZONE)).on("a1")],
            [0, 0, 0, 0],
            id="required anti-affinity does not",
        ),
        pytest.param(
            db("new", term("likes", HOST)),
            [web("w").on("a1"), web("x").on("a1"), web("y").on("b1")],
            [100, 0, 50, 0],
            id="each pod counts",
        ),
        pytest.param(
            db("new", term("likes", HOST)),
            [web("w").on("a1"), web("x").on("a1"), web("v").on("a1"), web("y").on("b1")],
            [100, 0, 33, 0],
            id="fractions are cut off",
        ),
        pytest.param(db("new", term("likes", ZONE)), [], [0, 0, 0, 0], id="nobody to like"),
    ],
)
def test_score(pod: PodBuilder, others: list[PodBuilder], scores: list[int]) -> None:
    _, asked = asked_of(pod, *others)
    raw = np.array(asked.score())
    everywhere = np.ones(len(raw), np.bool_)
    assert asked.plugin.normalize(raw, everywhere, asked.state).tolist() == scores


def test_only_feasible_nodes_set_the_scale() -> None:
    _, asked = asked_of(
        db("new", term("likes", HOST)),
        *(web(f"w{i}").on("a1") for i in range(4)),
        web("x").on("a2"),
    )
    raw, feasible = np.array(asked.score()), np.array([False, True, True, False])
    assert asked.plugin.normalize(raw, feasible, asked.state)[1:3].tolist() == [100, 0]


@pytest.mark.parametrize(
    ("args", "pod", "skips"),
    [
        pytest.param({}, db("new"), True, id="nothing to do with anybody"),
        pytest.param({}, web("new"), False, id="a placed pod likes it"),
        pytest.param(
            {"ignore_preferred_terms_of_existing_pods": True},
            web("new"),
            True,
            id="a placed pod likes it and nobody cares",
        ),
        pytest.param(
            {"ignore_preferred_terms_of_existing_pods": True},
            web("new", term("likes", HOST)),
            False,
            id="with likes of its own all likes count",
        ),
    ],
)
def test_prescore_skips(args: dict[str, Any], pod: PodBuilder, skips: bool) -> None:
    asked = ask(pod.build(), **args)
    asked.cluster.put(make_node("a1").build())
    asked.cluster.put(db("d", term("likes", HOST)).on("a1").build())
    nodes = asked.cluster.view.nodes
    answer = asked.plugin.prescore(asked.pod, nodes, nodes.alive, asked.state)
    assert (answer is SKIP) is skips


def test_a_weight_of_zero_leaves_required_affinity_of_placed_pods_out() -> None:
    cluster = make_cluster(make_node("a"), make_node("b"), db("d", term("near", HOST, WEB)).on("a"))
    cluster.put(web("w").on("a").build())
    assert decide(web("new"), cluster).score("a", "InterPodAffinity") == 100
    args = {"InterPodAffinity": {"hardPodAffinityWeight": 0}}
    lines = decide(web("new"), cluster, args=args).picture.lines()
    assert "InterPodAffinity" not in lines[0].scores


def test_terms_that_cannot_be_read_fail_their_own_pod_alone() -> None:
    bad = {"matchExpressions": [{"key": "app", "operator": "In", "values": []}]}
    verdict = ask(db("new", term("near", HOST, bad)).build())
    answer = verdict.plugin.prefilter(verdict.pod, verdict.cluster.view, verdict.state)
    assert isinstance(answer, Rejected)
    assert answer.code is Code.UNRESOLVABLE
    said_once = (
        "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"
    )
    assert answer.message == f"parsing pod: requiredAffinityTerms: {said_once}"
    both = ask(db("new", term("near", HOST, bad), term("away", HOST, bad)).build())
    answer = both.plugin.prefilter(both.pod, both.cluster.view, both.state)
    assert isinstance(answer, Rejected)
    assert answer.message == (
        f"parsing pod: [requiredAffinityTerms: {said_once}, requiredAntiAffinityTerms: {said_once}]"
    )
    got, _ = asked_of(web("new", term("near", HOST)), db("d", term("away", HOST, bad)).on("a1"))
    assert got == [""] * 4


@pytest.mark.parametrize("weight", [-1, 101])
def test_a_weight_out_of_range_is_refused(weight: int) -> None:
    args = InterPodAffinity.args_type(hard_pod_affinity_weight=weight)
    (problem,) = InterPodAffinity.check_args(args)
    wrong = f"Invalid value: {weight}: not in valid range [0, 100]"
    assert problem == ("hardPodAffinityWeight", wrong)


# --- what may cure a rejection -------------------------------------------------------------------------------------------


def woken(pod: PodBuilder, number: int, old: Any, new: Any) -> bool:
    asked = ask(pod.build())
    hint = asked.plugin.wakes_on()[number].hint
    told = (None if one is None else one.build() for one in (old, new))
    return hint(asked.pod, *told) is Hint.QUEUE


NEAR_WEB, AWAY_WEB = db("new", term("near", ZONE)), db("new", term("away", ZONE))


@pytest.mark.parametrize(
    ("pod", "old", "new", "wakes"),
    [
        pytest.param(NEAR_WEB, None, web("w").on("a1"), True, id="wanted and comes"),
        pytest.param(NEAR_WEB, None, web("w"), False, id="wanted and nowhere"),
        pytest.param(NEAR_WEB, None, db("w").on("a1"), False, id="not wanted and comes"),
        pytest.param(NEAR_WEB, web("w").on("a1"), None, False, id="wanted and goes"),
        pytest.param(NEAR_WEB, db("w").on("a1"), web("w").on("a1"), True, id="wanted from now on"),
        pytest.param(AWAY_WEB, web("w").on("a1"), None, True, id="unwanted and goes"),
        pytest.param(AWAY_WEB, web("w").on("a1"), db("w").on("a1"), True, id="no longer unwanted"),
        pytest.param(AWAY_WEB, None, web("w").on("a1"), False, id="unwanted and comes"),
        pytest.param(
            web("new"),
            db("d", term("away", ZONE)).on("a1"),
            None,
            True,
            id="it did not want this one",
        ),
        pytest.param(
            web("new"), db("d", term("near", ZONE)).on("a1"), None, False, id="it wanted this one"
        ),
        pytest.param(web("new"), web("new"), db("new"), True, id="own labels"),
    ],
)
def test_pods_that_wake(pod: PodBuilder, old: Any, new: Any, wakes: bool) -> None:
    assert woken(pod, 0, old, new) is wakes


BARE, ZONED = make_node("a"), make_node("a").zone("z1")


@pytest.mark.parametrize(
    ("pod", "old", "new", "wakes"),
    [
        pytest.param(NEAR_WEB, None, ZONED, True, id="a node with the label"),
        pytest.param(NEAR_WEB, None, BARE, False, id="a node without the label"),
        pytest.param(AWAY_WEB, None, BARE, True, id="where there is no label nothing is wrong"),
        pytest.param(NEAR_WEB, BARE, ZONED, True, id="the label comes"),
        pytest.param(NEAR_WEB, ZONED, make_node("a").zone("z2"), True, id="the label changes"),
        pytest.param(NEAR_WEB, ZONED, BARE, False, id="the label that is wanted goes"),
        pytest.param(AWAY_WEB, ZONED, BARE, True, id="the label that is in the way goes"),
        pytest.param(AWAY_WEB, BARE, ZONED, False, id="a label that is in the way comes"),
    ],
)
def test_nodes_that_wake(pod: PodBuilder, old: Any, new: Any, wakes: bool) -> None:
    assert woken(pod, 1, old, new) is wakes
