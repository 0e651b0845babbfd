"""One attempt: what it comes to, and what a bad plugin does to it (its pod fails, and nothing else)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bayplan import (
    ClusterView,
    CycleState,
    FilterPlugin,
    Mask,
    NodeInfo,
    Nodes,
    PodInfo,
    PreScorePlugin,
    Reads,
    Rejected,
    ScorePlugin,
    Scores,
)
from bayplan.cluster.audit import check
from bayplan.cycle.attempt import attempt
from bayplan.cycle.outcome import Failed, Placed, Unplaced
from bayplan.errors import PluginError
from bayplan.framework.plugin import Plugin
from bayplan.framework.status import Code, Verdicts
from bayplan.testing import decide, make_cluster, make_desk, make_node, make_pod


def test_the_emptier_node_is_chosen() -> None:
    cluster = make_cluster(
        make_node("full"), make_node("free"), make_pod("there").requests(cpu="3").on("full")
    )
    assert decide(make_pod("web").requests(cpu="1"), cluster).node == "free"


def test_a_pod_that_fits_nowhere_says_why() -> None:
    cluster = make_cluster(make_node("a"), make_node("b").taint("dedicated"))
    answer = decide(make_pod("big").requests(cpu="5"), cluster)
    assert answer.message.startswith(
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s)."
    )
    assert isinstance(answer.outcome, Unplaced)
    assert answer.outcome.rejected_by == {"NodeResourcesFit", "TaintToleration"}


def test_a_cluster_without_nodes_says_so() -> None:
    answer = decide(make_pod("web"), make_cluster())
    assert answer.message == "no nodes available to schedule pods"
    assert answer.outcome.decision.post_filter == ""


def test_equal_seeds_give_equal_choices_and_other_seeds_others() -> None:
    nodes = [make_node(f"n{i}") for i in range(50)]
    pod = make_pod("web")
    chosen = [decide(pod, make_cluster(*nodes), seed=seed).node for seed in (1, 1, 2, 3)]
    assert chosen[0] == chosen[1]
    assert len(set(chosen)) > 1


def test_the_nominated_node_is_taken_though_another_is_better() -> None:
    cluster = make_cluster(
        make_node("promised"), make_node("free"), make_pod("r").requests(cpu="3").on("promised")
    )
    assert (
        decide(make_pod("web").requests(cpu="1").nominated("promised"), cluster).node == "promised"
    )


def test_room_promised_to_a_pod_of_equal_priority_is_left_to_it() -> None:
    cluster = make_cluster(
        make_node("only"), make_pod("first").requests(cpu="3").priority(5).nominated("only")
    )
    pod = make_pod("second").requests(cpu="2").priority(5)
    assert decide(pod, cluster).why_not("only") == "Insufficient cpu"
    assert decide(pod.priority(6), cluster).node == "only"


def test_scores_are_weighed_among_the_nodes_that_are_not_promised_to_others() -> None:
    soft = "PreferNoSchedule"
    cluster = make_cluster(
        make_node("promised").taint("a", effect=soft).taint("b", effect=soft),
        make_node("worse").taint("a", effect=soft),
        make_node("better"),
        make_pod("first").requests(cpu="3").nominated("promised"),
    )
    answer = decide(make_pod("second").requests(cpu="2"), cluster)
    assert answer.why_not("promised") == "Insufficient cpu"
    assert answer.score("better", "TaintToleration") == 100
    assert answer.score("worse", "TaintToleration") == 0
    alone = decide(make_pod("small").requests(cpu="1"), cluster)
    assert alone.score("worse", "TaintToleration") == 50


def test_why_no_node_fits_is_told_though_prescore_would_fail() -> None:
    class Broken(FilterPlugin, PreScorePlugin, ScorePlugin):
        reads = Reads.NOTHING

        def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
            return Rejected("not here") if pod.labels else None

        def prescore(
            self, pod: PodInfo, nodes: Nodes, feasible: Mask, state: CycleState
        ) -> Rejected:
            return Rejected("broken")

        def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> int:
            return 0

    cluster = make_cluster(make_node("a"))
    answer = decide(make_pod("web").label("picky", "yes"), cluster, Broken)
    assert answer.message.startswith("0/1 nodes are available: 1 not here.")
    with pytest.raises(PluginError, match="broken"):
        decide(make_pod("web"), cluster, Broken)


def test_plugins_after_one_that_turned_the_pod_down_for_good_are_not_asked_later_either() -> None:
    cluster = make_cluster(make_node("a"))
    desk = make_desk(cluster)
    near = make_pod("web").label("app", "web").claim("absent").affinity({"app": "web"}, "zone")
    for name in ("", "more", "and-more"):
        if name:  # news for InterPodAffinity, which comes after the plugins of volumes
            cluster.put(make_pod(name).label("app", "web").on("a").build())
        outcome = attempt(cluster.info(near.build()), desk)
        assert isinstance(outcome, Unplaced)
        assert 'persistentvolumeclaim "absent" not found' in outcome.message


def test_an_error_about_a_node_counts_from_when_nothing_else_turns_the_node_down() -> None:
    class Confused(FilterPlugin):
        reads = Reads.NOTHING

        def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Verdicts:
            bad = np.array([nodes.name(i) == "bad" for i in range(len(nodes))])
            return Verdicts(bad.astype(np.int16), (Rejected("confused", code=Code.ERROR),))

    there = make_pod("there").requests(cpu="4").on("bad")
    cluster = make_cluster(make_node("bad"), make_node("good"), there)
    desk = make_desk(cluster, Confused)
    info = cluster.info(make_pod("web").requests(cpu="1").build())
    for _ in range(2):
        placed = attempt(info, desk)
        assert isinstance(placed, Placed)
        assert placed.node == "good"
    cluster.remove(there.build())
    failed = attempt(info, desk)
    assert isinstance(failed, Failed)
    assert "confused" in str(failed.error)
    cluster.put(there.version("2").uid("another").build())
    assert isinstance(attempt(info, desk), Placed)


# --- bad plugins -------------------------------------------------------------------------------------------------------


def _filter_giving(answer: Callable[[int], Any]) -> type[Plugin]:
    class Bad(FilterPlugin):
        reads = Reads.NOTHING

        def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Mask:
            mask: Mask = answer(len(nodes))
            return mask

    return Bad


def _score_giving(answer: Callable[[int], Any]) -> type[Plugin]:
    class Bad(ScorePlugin):
        reads = Reads.NOTHING

        def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Any:
            return answer(len(nodes))

    return Bad


def _node_score_giving(answer: Any) -> type[Plugin]:
    class Bad(ScorePlugin):
        def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
            score: float = answer() if callable(answer) else answer
            return score

    return Bad


def _raise() -> float:
    raise ZeroDivisionError("division by zero")


@pytest.mark.parametrize(
    ("plugin", "said"),
    [
        pytest.param(
            _filter_giving(lambda n: np.ones(n + 1, bool)),
            "wants a mask of 2 bools",
            id="mask too long",
        ),
        pytest.param(
            _filter_giving(lambda n: np.ones(n)), "wants a mask of 2 bools", id="mask of floats"
        ),
        pytest.param(_filter_giving(lambda n: "yes"), "wants a mask of 2 bools", id="not a mask"),
        pytest.param(
            _score_giving(lambda n: np.ones(n - 1)), "wants 2 scores", id="scores too short"
        ),
        pytest.param(
            _score_giving(lambda n: np.full(n, np.nan)), "not a finite number", id="column NaN"
        ),
        pytest.param(
            _score_giving(lambda n: np.full(n, 101)), "invalid score 101", id="column above 100"
        ),
        pytest.param(_node_score_giving(math.nan), "nan is not a finite number", id="NaN"),
        pytest.param(_node_score_giving(math.inf), "inf is not a finite number", id="infinity"),
        pytest.param(_node_score_giving(-3), "invalid score -3", id="below 0"),
        pytest.param(_node_score_giving("high"), "'high' is not a finite number", id="text"),
        pytest.param(
            _node_score_giving(_raise), "ZeroDivisionError: division by zero", id="raises"
        ),
    ],
)
def test_a_bad_plugin_fails_its_pod_and_is_named(plugin: type[Plugin], said: str) -> None:
    cluster = make_cluster(make_node("a"), make_node("b"))
    outcome = attempt(cluster.info(make_pod("web").build()), make_desk(cluster, plugin))
    assert isinstance(outcome, Failed)
    assert said in str(outcome.error)
    assert '"Bad"' in str(outcome.error)


def test_a_plugin_that_fails_once_does_no_harm_to_the_next_pod() -> None:
    class Moody(FilterPlugin):
        calls = 0

        def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
            Moody.calls += 1
            if Moody.calls == 2:
                raise RuntimeError("bad day")
            return None

    cluster = make_cluster(make_node("a"), make_node("b"))
    desk = make_desk(cluster, Moody)
    first = attempt(cluster.info(make_pod("web").build()), desk)
    assert isinstance(first, Failed)
    assert str(first.error) == 'running Filter plugin "Moody": on node b: RuntimeError: bad day'
    assert isinstance(attempt(cluster.info(make_pod("web").build()), desk), Placed)


def test_data_that_nobody_supplied_turn_the_node_down_visibly() -> None:
    class Cool(FilterPlugin):
        def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
            return Rejected("too hot") if node.usage.temperature > 70 else None

    cluster = make_cluster(make_node("hot").usage(temperature=90), make_node("unknown"))
    answer = decide(make_pod("web"), cluster, Cool)
    assert answer.why_not("hot") == "too hot"
    assert answer.why_not("unknown") == "no data for 'temperature'"


def test_a_plugin_that_reads_the_pods_name_is_asked_for_every_pod() -> None:
    class ByName(FilterPlugin):
        def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
            return None if pod.name == node.name else Rejected("not mine")

    cluster = make_cluster(make_node("a"), make_node("b"))
    desk = make_desk(cluster, ByName)
    for name in ("a", "b", "a"):
        outcome = attempt(cluster.info(make_pod(name).build()), desk)
        assert isinstance(outcome, Placed)
        assert outcome.node == name


def test_a_plugin_is_asked_again_only_about_nodes_that_changed() -> None:
    asked: list[str] = []

    class Counting(FilterPlugin):
        def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
            asked.append(node.name)
            return Rejected("full") if node.pod_count > 5 else None

    cluster = make_cluster(*(make_node(f"n{i}") for i in range(10)))
    desk = make_desk(cluster, Counting)
    for number in range(4):
        info = cluster.info(make_pod(f"p{number}").build())
        outcome = attempt(info, desk)
        assert isinstance(outcome, Placed)
        cluster.assume(info, outcome.node)
    assert len(asked) == 10 + 3
    cluster.put(make_node("n3").label("new", "label").build())  # the plugin does not read labels
    attempt(cluster.info(make_pod("p9").build()), desk)
    assert len(asked) == 10 + 3 + 1
    check(cluster)


# --- a fully custom scheduler ------------------------------------------------------------------------------------------


class _Last:
    def schedule(self, pod: PodInfo, view: ClusterView) -> str | Rejected:
        if pod.labels.get("refuse"):
            return Rejected("not today")
        if pod.labels.get("invent"):
            return "nowhere"
        return max(node.name for node in view.in_zone("z1"))


def test_a_custom_algorithm_decides_and_the_record_knows() -> None:
    cluster = make_cluster(make_node("a").zone("z1"), make_node("b").zone("z1"), make_node("c"))
    desk = make_desk(cluster)
    desk.algorithm = _Last()
    placed = attempt(cluster.info(make_pod("web").build()), desk)
    assert isinstance(placed, Placed)
    assert placed.node == "b"
    refused = attempt(cluster.info(make_pod("x").label("refuse", "y").build()), desk)
    assert isinstance(refused, Unplaced)
    assert refused.message.startswith("0/3 nodes are available: not today.")
    assert refused.rejected_by == {"_Last"}
    invented = attempt(cluster.info(make_pod("x").label("invent", "y").build()), desk)
    assert isinstance(invented, Failed)
    assert "got 'nowhere'" in str(invented.error)
    assert [decision.node for decision in desk.ring] == ["b", ""]


# --- plugins that write where they may only look -----------------------------------------------------------------------


class _Promises(FilterPlugin):
    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        self.handle.nominate(pod, node.name)
        return None


class _Activates(ScorePlugin):
    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        self.handle.activate([pod])
        return 0


class _Overwrites(ScorePlugin):
    reads = Reads.USAGE

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores:
        requested = nodes.requested("cpu")
        requested[0] = 0
        return requested


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        pytest.param(_Promises, "handle.nominate may not be called", id="a filter that nominates"),
        pytest.param(_Activates, "handle.activate may not be called", id="a score that activates"),
        pytest.param(_Overwrites, "read-only", id="a score that changes a column"),
    ],
)
def test_deciding_is_looking_and_no_more(plugin: type[Plugin], message: str) -> None:
    cluster = make_cluster(make_node("a"), make_node("b"))
    desk = make_desk(cluster, plugin)
    outcome = attempt(cluster.info(make_pod("p").build()), desk)
    assert isinstance(outcome, Failed)
    assert plugin.name in str(outcome.error)
    assert message in str(outcome.error)
    assert len(cluster.nominations) == 0
    check(cluster)
