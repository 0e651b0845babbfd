"""An evaluation that is kept up to date says what a fresh one says, and the record tells how it was at the time.

Random clusters and random events (pods and nodes coming, changing and going), the whole default profile and a per-node
plugin, a few classes of pods taking turns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan import FilterPlugin, NodeInfo, PodInfo, Rejected, ScorePlugin
from bayplan.cluster.audit import check
from bayplan.cluster.cluster import Cluster
from bayplan.cycle.attempt import attempt, evaluate
from bayplan.cycle.desk import Desk
from bayplan.cycle.evaluation import Evaluation
from bayplan.cycle.outcome import Failed, Placed
from bayplan.cycle.record import Decision, NodeLine, Picture
from bayplan.testing import NodeBuilder, PodBuilder, make_desk, make_node, make_pod

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


class Picky(FilterPlugin, ScorePlugin):
    """Reads a little of everything, node by node."""

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        if node.labels.get("disk") == "hdd" and node.pod_count > 2:
            return Rejected("busy disk")
        return None

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        return max(0, min(100, node.free["cpu"] / 100)) if node.zone else 7


def _node(i: int, zone: int, cpu: int, variant: int) -> NodeBuilder:
    node = make_node(f"n{i}").capacity(cpu=str(cpu), pods="6")
    if zone:
        node.zone(f"z{zone}")
    if variant == 1:
        node.label("disk", "hdd")
    if variant == 2:
        node.taint("dedicated", "a", "PreferNoSchedule")
    if variant == 3:
        node.cordoned()
    if variant == 4:
        node.image("registry/app:1", 500 << 20)
    if variant == 5:
        node.taint("dedicated", "b")
    return node


CLASSES: tuple[Callable[[str], PodBuilder], ...] = (
    lambda name: make_pod(name).requests(cpu="500m", memory="1Gi"),
    lambda name: make_pod(name).requests(cpu="1").label("app", "a").spread(1, ZONE, {"app": "a"}),
    lambda name: (
        make_pod(name).label("app", "b").affinity({"app": "b"}, HOST, anti=True).host_port(80)
    ),
    lambda name: (
        make_pod(name)
        .label("app", "a")
        .affinity({"app": "a"}, ZONE, weight=10)
        .spread(1, HOST, {"app": "a"}, hard=False)
        .image("registry/app:1")
    ),
    lambda name: (
        make_pod(name).label("app", "c").affinity({"app": "a"}, ZONE).tolerate("dedicated", "b")
    ),
    lambda name: make_pod(name).node_selector(disk="hdd").requests(memory="4Gi"),
)

NODES = st.tuples(st.integers(0, 7), st.integers(0, 3), st.integers(1, 4), st.integers(0, 5))
EVENTS = st.one_of(
    st.tuples(st.just("node"), NODES),
    st.tuples(st.just("no node"), st.integers(0, 7)),
    st.tuples(st.just("pod"), st.tuples(st.integers(0, 9), st.integers(0, 7), st.integers(0, 5))),
    st.tuples(st.just("no pod"), st.integers(0, 9)),
    st.tuples(st.just("dying pod"), st.tuples(st.integers(0, 9), st.integers(0, 7))),
    st.tuples(st.just("attempt"), st.integers(0, 5)),
)


def _happen(cluster: Cluster, kind: str, what: Any) -> None:
    match kind, what:
        case "node", (i, zone, cpu, variant):
            cluster.put(_node(i, zone, cpu, variant).build())
        case "no node", int(i):
            cluster.remove_node(f"n{i}")
        case "pod", (i, node, variant):
            cluster.put(CLASSES[variant](f"r{i}").on(f"n{node}").build())
        case "no pod", int(i):
            cluster.remove_pod("default", f"r{i}")
        case "dying pod", (i, node):
            cluster.put(CLASSES[1](f"r{i}").on(f"n{node}").terminating().build())
        case _:
            raise AssertionError(f"nobody knows what happens at {kind!r}")


def _same(kept: Evaluation, fresh: Evaluation, pod: PodInfo) -> None:
    assert kept.prefilter.rejection == fresh.prefilter.rejection
    if fresh.feasible is None:
        return
    assert kept.feasible is not None
    assert kept.feasible.open.tolist() == fresh.feasible.open.tolist()
    assert kept.ranking(pod).ranked.tolist() == fresh.ranking(pod).ranked.tolist()
    if fresh.feasible.open.any():
        told, wanted = _lines(kept, pod), _lines(fresh, pod)
        assert told == wanted


def _lines(evaluation: Evaluation, pod: PodInfo) -> list[NodeLine]:
    decision = Decision(pod, evaluation, {})
    decision.fits = True
    return Picture(decision).lines()


@settings(max_examples=60)
@given(
    start=st.lists(NODES, min_size=1, max_size=6),
    events=st.lists(EVENTS, min_size=1, max_size=25),
    per_node=st.booleans(),
)
def test_what_is_kept_equals_what_is_fresh(
    start: list[tuple[int, int, int, int]], events: list[tuple[str, Any]], per_node: bool
) -> None:
    cluster = Cluster()
    for node in start:
        cluster.put(_node(*node).build())
    desk = make_desk(cluster, *([Picky] if per_node else []))
    shown: list[tuple[Decision, list[NodeLine]]] = []
    for number, (kind, what) in enumerate(events):
        if kind == "attempt":
            assert isinstance(what, int)
            _attempt(desk, what, number, shown)
        else:
            _happen(cluster, kind, what)
        for variant, build in enumerate(CLASSES):
            if (number + variant) % 3 == 0:
                pod = cluster.info(build("probe").build())
                kept = desk.classes.evaluation(pod)
                kept_again = evaluate(pod, desk).evaluation
                assert kept is kept_again or kept.feasible is None or kept.log.end >= 0
                _same(kept_again, Evaluation(pod, desk.classes.plan, desk.view), pod)
    check(cluster)
    for decision, lines in shown:
        assert decision.picture().lines() == lines


def _attempt(
    desk: Desk, variant: int, number: int, shown: list[tuple[Decision, list[NodeLine]]]
) -> None:
    pod = desk.cluster.info(CLASSES[variant](f"a{number}").uid(f"a{number}").build())
    outcome = attempt(pod, desk)
    assert not isinstance(outcome, Failed), outcome.error
    shown.append((outcome.decision, outcome.decision.picture().lines()))
    if isinstance(outcome, Placed):
        ranked = Evaluation(pod, desk.classes.plan, desk.view).ranking(pod).ranked
        assert ranked[outcome.decision.chosen] == np.max(ranked)
        desk.cluster.assume(pod, outcome.node)
