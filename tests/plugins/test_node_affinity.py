"""NodeAffinity: what a pod and its profile select, against one node at a time."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.cluster import Cluster
from bayplan.framework.events import Hint
from bayplan.framework.state import CycleState
from bayplan.framework.status import SKIP, Code, OnlyNodes, Rejected, Verdicts, unresolvable
from bayplan.plugins.node_affinity import NodeAffinity
from bayplan.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NOT_SELECTED = "node(s) didn't match Pod's node affinity/selector"
NOT_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"

Term = dict[str, Any]


def labelled(key: str, *values: str, operator: str = "In") -> Term:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def named(*names: str, operator: str = "In") -> Term:
    return {
        "matchFields": [
            {"key": "metadata.name", "operator": operator, "values": [name]} for name in names
        ]
    }


def rules(required: list[Term] | None, preferred: list[tuple[int, Term]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if required is not None:
        found[REQUIRED] = {"nodeSelectorTerms": required}
    if preferred:
        found[PREFERRED] = [{"weight": w, "preference": term} for w, term in preferred]
    return found


def pod_with(
    required: list[Term] | None = None,
    preferred: list[tuple[int, Term]] = [],  # noqa: B006 - never changed
    selector: dict[str, str] = {},  # noqa: B006 - never changed
) -> PodBuilder:
    builder = make_pod("web").node_selector(selector)
    builder.manifest["spec"]["affinity"] = {"nodeAffinity": rules(required, preferred)}
    return builder


def plugin_with(
    required: list[Term] | None = None,
    preferred: list[tuple[int, Term]] = [],  # noqa: B006 - never changed
) -> NodeAffinity:
    args = {"addedAffinity": rules(required, preferred)}
    return NodeAffinity(msgspec.convert(args, NodeAffinity.args_type))


def cluster_of(*labels: dict[str, str]) -> Cluster:
    cluster = Cluster()
    for i, of_node in enumerate(labels):
        cluster.put(node(i, of_node).build())
    return cluster


def node(i: int, labels: dict[str, str]) -> NodeBuilder:
    return make_node(f"n{i}").labels(labels)


def reasons(answer: Any, n: int) -> list[str]:
    """What is said of each node; empty where it passes."""
    if answer is None:
        return [""] * n
    if isinstance(answer, Verdicts):
        return [answer.outcomes[k - 1].message if k else "" for k in answer.index.tolist()]
    return ["" if passes else NOT_SELECTED for passes in answer.tolist()]


# --- PreFilter


@pytest.mark.parametrize(
    ("required", "answer"),
    [
        pytest.param(None, SKIP, id="nothing is required"),
        pytest.param([], None, id="no terms: Filter says that nothing matches"),
        pytest.param([labelled("zone", "a")], None, id="by label"),
        pytest.param([named("n1")], OnlyNodes(frozenset({"n1"})), id="by name"),
        pytest.param(
            [named("n1"), named("n2") | labelled("zone", "a")],
            OnlyNodes(frozenset({"n1", "n2"})),
            id="every term by name",
        ),
        pytest.param([named("n1"), labelled("zone", "a")], None, id="one term without a name"),
        pytest.param([named("n1"), {}], None, id="an empty term"),
        pytest.param([named("n1", operator="NotIn")], None, id="any name but one"),
        pytest.param(
            [named("n1", "n2")],
            unresolvable("pod affinity terms conflict"),
            id="names that contradict each other",
        ),
        pytest.param(
            [named("n1", "n2"), named("n3")],
            OnlyNodes(frozenset({"n3"})),
            id="one term contradicts itself and another does not",
        ),
    ],
)
def test_prefilter(required: list[Term] | None, answer: object) -> None:
    cluster = Cluster()
    pod = cluster.info(pod_with(required).build())
    assert NodeAffinity().prefilter(pod, cluster.view, CycleState()) == answer


def test_prefilter_does_not_skip_where_something_is_required() -> None:
    cluster = Cluster()
    plain = cluster.info(make_pod("web").build())
    selecting = cluster.info(make_pod("web").node_selector(zone="a").build())
    enforcing = plugin_with([labelled("zone", "a")])
    assert enforcing.prefilter(plain, cluster.view, CycleState()) is None
    assert NodeAffinity().prefilter(selecting, cluster.view, CycleState()) is None
    assert NodeAffinity().prefilter(plain, cluster.view, CycleState()) is SKIP
    preferring = plugin_with(preferred=[(1, labelled("zone", "a"))])
    assert preferring.prefilter(plain, cluster.view, CycleState()) is SKIP


# --- Filter and Score

LABELS = st.dictionaries(st.sampled_from(("zone", "cores")), st.sampled_from(("a", "b", "8")))
TERMS = st.sampled_from(
    (
        {},
        labelled("zone", "a"),
        labelled("zone", "a", "b"),
        labelled("zone", "a", operator="NotIn"),
        labelled("cores", operator="Exists"),
        labelled("cores", "4", operator="Gt"),
        labelled("zone", "b") | named("n0", operator="NotIn"),
        named("n1"),
    )
)
BROKEN = labelled("zone", "a", operator="Near")
TERM_LISTS = st.one_of(st.none(), st.lists(st.one_of(TERMS, st.just(BROKEN)), max_size=3))
PREFERENCES = st.lists(st.tuples(st.integers(0, 100), TERMS), max_size=3)


def matches(term: Term, labels: dict[str, str], name: str) -> bool:
    """One of TERMS or BROKEN."""
    holds = []
    for one in term.get("matchExpressions", []):
        value, values = labels.get(one["key"]), one["values"]
        holds.append(
            {
                "In": value in values,
                "NotIn": value not in values,
                "Exists": value is not None,
                "Gt": value == "8",
                "Near": False,
            }[one["operator"]]
        )
    holds += [
        (name in one["values"]) is (one["operator"] == "In") for one in term.get("matchFields", [])
    ]
    return bool(holds) and all(holds)


@given(
    st.lists(LABELS, min_size=1, max_size=5),
    TERM_LISTS,
    TERM_LISTS.map(lambda terms: terms and [term for term in terms if term is not BROKEN]),
    st.sampled_from(({}, {"zone": "a"}, {"zone": "b", "cores": "8"})),
)
def test_filter_like_a_node_at_a_time(
    labels: list[dict[str, str]],
    required: list[Term] | None,
    added: list[Term] | None,
    selector: dict[str, str],
) -> None:
    cluster, plugin = cluster_of(*labels), plugin_with(added)
    pod = cluster.info(pod_with(required, selector=selector).build())

    def expected(row: int) -> str:
        of_node, name = labels[row], f"n{row}"
        if added is not None and not any(matches(term, of_node, name) for term in added):
            return NOT_ENFORCED
        if not selector.items() <= of_node.items():
            return NOT_SELECTED
        if required is not None and not any(matches(term, of_node, name) for term in required):
            return NOT_SELECTED
        return ""

    some = np.arange(len(labels))[::-2]
    for nodes in (cluster.view.nodes, cluster.view.rows(some)):
        answer = plugin.filter(pod, nodes, CycleState())
        assert reasons(answer, len(nodes)) == [expected(row) for row in nodes.rows]


def test_filter_words_are_unresolvable() -> None:
    cluster = cluster_of({})
    pod = cluster.info(pod_with().build())
    answer = plugin_with([labelled("zone", "a")]).filter(pod, cluster.view.nodes, CycleState())
    assert isinstance(answer, Verdicts)
    assert answer.outcomes == (unresolvable(NOT_ENFORCED), unresolvable(NOT_SELECTED))
    assert NodeAffinity.rejection == unresolvable(NOT_SELECTED)


@given(st.lists(LABELS, min_size=1, max_size=5), PREFERENCES, PREFERENCES)
def test_score_like_a_node_at_a_time(
    labels: list[dict[str, str]],
    preferred: list[tuple[int, Term]],
    added: list[tuple[int, Term]],
) -> None:
    cluster, plugin, state = cluster_of(*labels), plugin_with(preferred=added), CycleState()
    pod = cluster.info(pod_with(preferred=preferred).build())
    some = np.arange(len(labels))[::-2]
    for nodes in (cluster.view.nodes, cluster.view.rows(some)):
        feasible = np.ones(len(nodes), np.bool_)
        skipped = plugin.prescore(pod, nodes, feasible, state) is SKIP
        assert skipped is not bool(preferred or added)
        answer = plugin.score(pod, nodes, state)
        got = [answer] * len(nodes) if isinstance(answer, int) else answer.tolist()
        assert got == [
            sum(w for w, term in (*preferred, *added) if matches(term, labels[row], f"n{row}"))
            for row in nodes.rows
        ]


def test_scores_are_normalised_to_the_best_node() -> None:
    raw, feasible = np.array([30, 60, 90], np.int64), np.array([True, True, False])
    assert NodeAffinity().normalize(raw, feasible, CycleState())[feasible].tolist() == [50, 100]


@given(st.lists(st.tuples(st.integers(0, 300), st.booleans()), min_size=1, max_size=6))
def test_normalize_like_a_node_at_a_time(weighed: list[tuple[int, bool]]) -> None:
    raw = np.array([weight for weight, _ in weighed], np.int64)
    feasible = np.array([fits for _, fits in weighed])
    scores = NodeAffinity().normalize(raw, feasible, CycleState()).tolist()
    most = max((weight for weight, fits in weighed if fits), default=0)
    for (weight, fits), score in zip(weighed, scores, strict=True):
        assert not fits or score == (100 * weight // most if most else 0)


def test_one_preferred_term_that_does_not_parse_fails_the_pod() -> None:
    cluster = cluster_of({})
    pod = cluster.info(pod_with(preferred=[(1, labelled("zone", "a")), (1, BROKEN)]).build())
    answer = NodeAffinity().prescore(pod, cluster.view.nodes, np.ones(1, np.bool_), CycleState())
    assert isinstance(answer, Rejected)
    assert answer.code is Code.ERROR
    assert answer.message.startswith('[1].matchExpressions[0].operator: Unsupported value: "Near"')


# --- Arguments


@pytest.mark.parametrize(
    ("required", "preferred", "path"),
    [
        pytest.param([BROKEN], [], f"addedAffinity.{REQUIRED}", id="required"),
        pytest.param(None, [(1, BROKEN)], f"addedAffinity.{PREFERRED}", id="preferred"),
    ],
)
def test_arguments_that_do_not_parse_are_found(
    required: list[Term] | None, preferred: list[tuple[int, Term]], path: str
) -> None:
    args = {"addedAffinity": rules(required, preferred)}
    problems = list(NodeAffinity.check_args(msgspec.convert(args, NodeAffinity.args_type)))
    assert [where for where, _ in problems] == [path]
    assert 'operator: Unsupported value: "Near"' in problems[0][1]


def test_good_arguments_and_none_pass() -> None:
    good = {"addedAffinity": rules([labelled("zone", "a")], [(1, named("n1"))])}
    for args in ({}, {"addedAffinity": None}, good):
        converted = msgspec.convert(args, NodeAffinity.args_type)
        assert list(NodeAffinity.check_args(converted)) == []


# --- Waking


def test_a_node_that_comes_to_match_wakes_a_pod() -> None:
    (event,) = NodeAffinity().wakes_on()
    assert event.hint is not None
    pod = Cluster().info(pod_with([labelled("zone", "a")]).build())
    right, wrong = node(0, {"zone": "a"}).build(), node(0, {"zone": "b"}).build()
    assert event.hint(pod, None, right) is Hint.QUEUE
    assert event.hint(pod, wrong, right) is Hint.QUEUE
    assert event.hint(pod, None, wrong) is Hint.SKIP
    assert event.hint(pod, right, right) is Hint.SKIP


def test_a_node_that_the_profile_rules_out_does_not_wake_a_pod() -> None:
    (event,) = plugin_with([labelled("disk", "ssd")]).wakes_on()
    assert event.hint is not None
    pod = Cluster().info(pod_with([labelled("zone", "a")]).build())
    assert event.hint(pod, None, node(0, {"zone": "a"}).build()) is Hint.SKIP
    both = node(0, {"zone": "a", "disk": "ssd"}).build()
    assert event.hint(pod, None, both) is Hint.QUEUE
