"""A plugin written per node and the same one written in columns say the same, attempt after attempt."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan import (
    CycleState,
    FilterPlugin,
    Mask,
    NodeInfo,
    Nodes,
    PodInfo,
    Reads,
    Rejected,
    ScorePlugin,
    Scores,
    Verdicts,
    scale,
    unresolvable,
)
from bayplan.cycle.attempt import attempt
from bayplan.cycle.outcome import Placed, Unplaced
from bayplan.testing import make_cluster, make_desk, make_node, make_pod

RETIRED, FULL = unresolvable("node is retired"), Rejected("node has pods enough")


class Frugal(FilterPlugin, ScorePlugin):
    """Few pods, much free CPU, nothing retired: a node at a time."""

    most: int = 2

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        if "retired" in node.labels:
            return RETIRED
        return FULL if node.pod_count >= self.most and pod.priority <= 0 else None

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        return node.free["cpu"] / 7 - 50 * len(node.taints)

    def normalize(self, raw: Scores, feasible: Mask, state: CycleState) -> Scores:
        return scale(np.maximum(raw, 0), feasible)


class FrugalColumns(FilterPlugin, ScorePlugin):
    """The same for all nodes at once."""

    name = "Frugal"
    reads = Reads.LABELS | Reads.USAGE | Reads.ALLOCATABLE | Reads.TAINTS
    most: int = 2

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Verdicts:
        index = np.zeros(len(nodes), np.int16)
        if pod.priority <= 0:
            index[nodes.pod_count >= self.most] = 2
        index[nodes.label("retired") >= 0] = 1
        return Verdicts(index, (RETIRED, FULL))

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Any:
        taints = np.array([len(nodes.taints_of(i)) for i in range(len(nodes))])
        return nodes.free("cpu") / 7 - 50 * taints

    def normalize(self, raw: Scores, feasible: Mask, state: CycleState) -> Scores:
        return scale(np.maximum(raw, 0), feasible)


NODES = st.tuples(st.integers(1, 4), st.booleans(), st.integers(0, 2))
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("node"), st.integers(0, 4), NODES),
        st.tuples(st.just("gone"), st.integers(0, 4), st.none()),
        st.tuples(st.just("pod"), st.integers(0, 3), st.none()),
        st.tuples(st.just("pod"), st.integers(0, 3), st.none()),
    ),
    max_size=14,
)


def a_node(i: int, drawn: tuple[int, bool, int]) -> Any:
    cpu, retired, taints = drawn
    node = make_node(f"n{i}").capacity(cpu=str(cpu))
    if retired:
        node.label("retired", "yes")
    for number in range(taints):
        node.taint(f"t{number}", effect="PreferNoSchedule")
    return node


@settings(max_examples=60)
@given(st.lists(NODES, min_size=1, max_size=5), EVENTS)
def test_both_forms_say_the_same(nodes: list[Any], events: list[Any]) -> None:
    cluster = make_cluster(*(a_node(i, drawn) for i, drawn in enumerate(nodes)))
    args = {"Frugal": {"most": 1}}
    desks = [make_desk(cluster, form, args=args) for form in (Frugal, FrugalColumns)]
    for number, (kind, which, what) in enumerate(events):
        if kind == "node":
            cluster.put(a_node(which, what).build())
            continue
        if kind == "gone":
            cluster.remove_node(f"n{which}")
            continue
        pod = make_pod(f"p{number}").requests(cpu=f"{which * 300}m").priority(which // 3)
        one, other = (attempt(cluster.info(pod.build()), desk) for desk in desks)
        assert isinstance(one, Placed | Unplaced)
        assert isinstance(other, Placed | Unplaced)
        assert one.decision.picture().lines() == other.decision.picture().lines()
        assert one.decision.node == other.decision.node
        if isinstance(one, Unplaced) and isinstance(other, Unplaced):
            assert one.message == other.message
        if isinstance(one, Placed):
            cluster.assume(one.pod, one.node)
