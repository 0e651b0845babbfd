"""TaintToleration against a taint at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.cluster import Cluster
from bayplan.framework.events import Hint
from bayplan.framework.state import CycleState
from bayplan.framework.status import unresolvable
from bayplan.plugins.taint_toleration import TaintToleration
from bayplan.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod

Taint = tuple[str, str, str]
Toleration = tuple[str, str, str, str]

KEYS, VALUES = ("", "gpu", "spot"), ("", "yes", "5")
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
TAINTS = st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES), st.sampled_from(EFFECTS))
TOLERATIONS = st.tuples(
    st.sampled_from(KEYS),
    st.sampled_from(VALUES),
    st.sampled_from(("", *EFFECTS)),
    st.sampled_from(("", "Equal", "Exists", "Lt", "Gt", "nonsense")),
)


def node(name: str, taints: list[Taint]) -> NodeBuilder:
    builder = make_node(name)
    for taint in taints:
        builder.taint(*taint)
    return builder


def pod_with(tolerations: list[Toleration]) -> PodBuilder:
    builder = make_pod("web").uid("web-1")
    for key, value, effect, operator in tolerations:
        builder.tolerate(key, value, effect, operator)
    return builder


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    key, value, effect, operator = toleration
    if effect not in ("", taint[2]) or key not in ("", taint[0]):
        return False
    return operator == "Exists" or (operator in ("", "Equal") and value == taint[1])


def untolerated(taints: list[Taint], tolerations: list[Toleration]) -> list[str]:
    return [t[2] for t in taints if not any(tolerates(one, t) for one in tolerations)]


def values(answer: Any, n: int, default: Any) -> list[Any]:
    if answer is None:
        return [default] * n
    return [answer] * n if isinstance(answer, int) else list(answer.tolist())


@given(
    st.lists(st.lists(TAINTS, max_size=3), min_size=1, max_size=6),
    st.lists(TOLERATIONS, max_size=3),
)
def test_like_a_taint_at_a_time(taints: list[list[Taint]], tolerations: list[Toleration]) -> None:
    cluster, plugin, state = Cluster(), TaintToleration(), CycleState()
    pod = cluster.info(pod_with(tolerations).build())
    for i, of_node in enumerate(taints):
        cluster.put(node(f"n{i}", of_node).build())
        # Asked after every node: new sets of taints have to be noticed.
        plugin.filter(pod, cluster.view.nodes, state)
    left = [untolerated(of_node, tolerations) for of_node in taints]
    some = np.arange(len(taints))[::-2]
    for nodes in (cluster.view.nodes, cluster.view.rows(some)):
        fits = values(plugin.filter(pod, nodes, state), len(nodes), True)
        assert fits == [set(left[row]) <= {"PreferNoSchedule"} for row in nodes.rows]
        scores = values(plugin.score(pod, nodes, state), len(nodes), 0)
        assert scores == [left[row].count("PreferNoSchedule") for row in nodes.rows]


def test_without_disliked_taints_all_nodes_score_alike() -> None:
    cluster = Cluster()
    cluster.put(node("a", [("gpu", "", "NoSchedule")]).build())
    pod = cluster.info(pod_with([]).build())
    assert TaintToleration().score(pod, cluster.view.nodes, CycleState()) == 0


@pytest.mark.parametrize(
    ("raw", "normalized"),
    [
        pytest.param([0, 0], [100, 100], id="no disliked taints"),
        pytest.param([0, 1, 3], [100, 67, 0], id="the fewer the better"),
    ],
)
def test_normalize(raw: list[int], normalized: list[int]) -> None:
    everywhere = np.ones(len(raw), np.bool_)
    scores = TaintToleration().normalize(np.array(raw, np.int64), everywhere, CycleState())
    assert scores.tolist() == normalized


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=6))
def test_normalize_like_a_node_at_a_time(counted: list[tuple[int, bool]]) -> None:
    """100 for the fewest disliked taints, 0 for the most among the feasible nodes."""
    raw = np.array([count for count, _ in counted], np.int64)
    feasible = np.array([fits for _, fits in counted])
    scores = TaintToleration().normalize(raw, feasible, CycleState()).tolist()
    most = max((count for count, fits in counted if fits), default=0)
    for (count, fits), score in zip(counted, scores, strict=True):
        assert not fits or score == (100 - 100 * count // most if most else 100)


def test_nodes_with_the_same_taints_share_one_set_whenever_they_were_tainted() -> None:
    cluster = Cluster()
    for name, when in (("a", "2026-01-01T00:00:00Z"), ("b", "2026-01-02T00:00:00Z")):
        builder = node(name, [("node.kubernetes.io/unreachable", "", "NoExecute")])
        builder.manifest["spec"]["taints"][0]["timeAdded"] = when
        cluster.put(builder.build())
    assert cluster.view.nodes.taint_set.tolist() == [1, 1]


def test_a_node_that_becomes_tolerable_wakes_a_pod() -> None:
    on_node, _ = TaintToleration().wakes_on()
    assert on_node.hint is not None
    pod = Cluster().info(pod_with([("gpu", "", "", "Exists")]).build())
    closed = node("a", [("spot", "", "NoSchedule")]).build()
    opened = node("a", [("gpu", "", "NoSchedule"), ("spot", "", "PreferNoSchedule")]).build()
    assert on_node.hint(pod, None, opened) is Hint.QUEUE
    assert on_node.hint(pod, closed, opened) is Hint.QUEUE
    assert on_node.hint(pod, opened, opened) is Hint.SKIP
    assert on_node.hint(pod, opened, closed) is Hint.SKIP


def test_a_new_toleration_of_its_own_wakes_a_pod() -> None:
    _, on_pod = TaintToleration().wakes_on()
    assert on_pod.hint is not None
    own = pod_with([]).build()
    pod = Cluster().info(own)
    assert on_pod.hint(pod, own, own) is Hint.QUEUE
    stranger = make_pod("db").uid("db-1").build()
    assert on_pod.hint(pod, stranger, stranger) is Hint.SKIP


def test_words() -> None:
    assert TaintToleration.rejection == unresolvable("node(s) had untolerated taint(s)")
