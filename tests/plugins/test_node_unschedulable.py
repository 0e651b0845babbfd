"""NodeUnschedulable against one line of Python, and what opens a node to a pod."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.cluster import Cluster
from bayplan.framework.events import Hint
from bayplan.framework.state import CycleState
from bayplan.framework.status import unresolvable
from bayplan.plugins.node_unschedulable import NodeUnschedulable
from bayplan.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod

KEY = "node.kubernetes.io/unschedulable"


def node(name: str, *, cordoned: bool) -> NodeBuilder:
    builder = make_node(name)
    return builder.cordoned() if cordoned else builder


TOLERANT = [
    pytest.param(make_pod("web").tolerate(KEY, operator="Exists"), id="by key"),
    pytest.param(make_pod("web").tolerate(KEY, effect="NoSchedule"), id="by key, value and effect"),
    pytest.param(make_pod("web").tolerate("", operator="Exists"), id="everything"),
]
INTOLERANT = [
    pytest.param(make_pod("web"), id="nothing"),
    pytest.param(make_pod("web").tolerate(KEY, "yes"), id="another value"),
    pytest.param(make_pod("web").tolerate(KEY, operator="Exists", effect="NoExecute"), id="effect"),
    pytest.param(make_pod("web").tolerate("other", operator="Exists"), id="another key"),
]


@pytest.mark.parametrize("pod", TOLERANT)
def test_who_tolerates_the_taint_tolerates_the_cordon(pod: PodBuilder) -> None:
    cluster = Cluster()
    cluster.put(node("a", cordoned=True).build())
    answer = NodeUnschedulable().filter(cluster.info(pod.build()), cluster.view.nodes, CycleState())
    assert answer is None


@pytest.mark.parametrize("pod", INTOLERANT)
def test_others_do_not_fit(pod: PodBuilder) -> None:
    cluster = Cluster()
    cluster.put(node("a", cordoned=True).build())
    answer = NodeUnschedulable().filter(cluster.info(pod.build()), cluster.view.nodes, CycleState())
    assert answer is not None
    assert answer.tolist() == [False]


@given(st.lists(st.booleans(), max_size=6), st.booleans())
def test_like_one_node_at_a_time(cordoned: list[bool], tolerant: bool) -> None:
    cluster, plugin = Cluster(), NodeUnschedulable()
    for i, is_cordoned in enumerate(cordoned):
        cluster.put(node(f"n{i}", cordoned=is_cordoned).build())
    builder = make_pod("web")
    pod = cluster.info((builder.tolerate(KEY, operator="Exists") if tolerant else builder).build())
    expected = [tolerant or not is_cordoned for is_cordoned in cordoned]
    rows = np.arange(len(cordoned))[::2]
    for nodes in (cluster.view.nodes, cluster.view.rows(rows)):
        answer = plugin.filter(pod, nodes, CycleState())
        got = [True] * len(nodes) if answer is None else answer.tolist()
        assert got == [expected[row] for row in nodes.rows]


def test_a_node_that_opens_wakes_a_pod() -> None:
    on_node, _ = NodeUnschedulable().wakes_on()
    assert on_node.hint is not None
    pod = Cluster().info(make_pod("web").build())
    shut, opened = node("a", cordoned=True).build(), node("a", cordoned=False).build()
    assert on_node.hint(pod, None, opened) is Hint.QUEUE
    assert on_node.hint(pod, shut, opened) is Hint.QUEUE
    assert on_node.hint(pod, None, shut) is Hint.SKIP
    assert on_node.hint(pod, opened, opened) is Hint.SKIP


def test_a_new_toleration_of_its_own_wakes_a_pod() -> None:
    _, on_pod = NodeUnschedulable().wakes_on()
    assert on_pod.hint is not None
    before = make_pod("web").uid("1").build()
    after = make_pod("web").uid("1").tolerate(KEY, operator="Exists").build()
    unrelated = make_pod("web").uid("1").tolerate("gpu", operator="Exists").build()
    stranger = make_pod("db").uid("2").tolerate(KEY, operator="Exists").build()
    pod = Cluster().info(before)
    assert on_pod.hint(pod, before, after) is Hint.QUEUE
    assert on_pod.hint(pod, before, unrelated) is Hint.SKIP
    assert on_pod.hint(pod, stranger, stranger) is Hint.SKIP


def test_words() -> None:
    assert NodeUnschedulable.rejection == unresolvable("node(s) were unschedulable")
