"""PreFilter: how the plugins' answers are put together, and which are none."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan import (
    SKIP,
    ClusterView,
    Code,
    CycleState,
    FilterPlugin,
    NodeInfo,
    OnlyNodes,
    PodInfo,
    PreFilterPlugin,
    PreScorePlugin,
    Reads,
    Rejected,
    ScorePlugin,
    unresolvable,
)
from bayplan.cycle.attempt import attempt
from bayplan.cycle.outcome import Failed, Unplaced
from bayplan.framework.plugin import Plugin
from bayplan.testing import Answer, decide, make_cluster, make_desk, make_node, make_pod

NODES = [make_node(name) for name in "abc"]


def giving(answer: Any, name: str = "P", *, filters: str = "") -> type[Plugin]:
    """A plugin that answers this in PreFilter; its Filter turns down the nodes that are named."""

    class Answering(PreFilterPlugin, FilterPlugin):
        reads = Reads.NOTHING

        def prefilter(self, pod: PodInfo, view: ClusterView, state: CycleState) -> Any:
            return answer

        def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
            return Rejected(f"not for {name}") if node.name in filters else None

    Answering.name = name
    return Answering


def asked(*plugins: type[Plugin]) -> Answer:
    return decide(make_pod("web"), make_cluster(*NODES), *plugins)


def only(names: str) -> OnlyNodes:
    return OnlyNodes(frozenset(names))


def test_a_plugin_that_steps_aside_is_not_asked_about_nodes() -> None:
    assert asked(giving(SKIP, filters="abc")).why_not("a") == ""
    assert asked(giving(None, filters="a")).why_not("a") == "not for P"


def test_only_some_nodes() -> None:
    answer = asked(giving(only("ab"), "P"), giving(only("bc"), "Q"))
    assert answer.node == "b"
    assert answer.why_not("a") == answer.why_not("c") == "node(s) didn't satisfy plugin(s) [P Q]"


def test_a_mutable_set_of_names_will_do() -> None:
    answer = asked(giving(OnlyNodes({"a"})))  # type: ignore[arg-type]
    assert answer.node == "a"


@pytest.mark.parametrize(
    ("plugins", "message", "rejected_by"),
    [
        pytest.param(
            [giving(only(""))],
            "node(s) didn't satisfy plugin P",
            {"P"},
            id="one plugin wants no node",
        ),
        pytest.param(
            [giving(only("a"), "Q"), giving(only("b"), "P")],
            "node(s) didn't satisfy plugin(s) [P Q] simultaneously",
            {"P", "Q"},
            id="two plugins do not agree",
        ),
        pytest.param([giving(unresolvable("never"))], "never", {"P"}, id="one says no"),
        pytest.param(
            [giving(only("a"), "Q"), giving(unresolvable("never"), "P")],
            "never",
            {"P"},
            id="who says no is to blame alone",
        ),
        pytest.param(
            [giving(Rejected("not now")), giving(unresolvable("never"), "Q")],
            "never",
            {"Q"},
            id="no for good ends it, no for now does not",
        ),
        pytest.param(
            [giving(Rejected("not now")), giving(Rejected("nor now"), "Q")],
            "nor now",
            {"Q"},
            id="of two the last is told",
        ),
    ],
)
def test_the_pod_is_turned_down_whole(
    plugins: list[type[Plugin]], message: str, rejected_by: set[str]
) -> None:
    answer = asked(*plugins)
    assert answer.message.startswith(f"0/3 nodes are available: {message}.")
    assert isinstance(answer.outcome, Unplaced)
    assert answer.outcome.rejected_by == rejected_by


WANTED = "wants None, SKIP, Rejected or OnlyNodes(a frozenset of names), got"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(True, f"{WANTED} True", id="a bool"),
        pytest.param("a", f"{WANTED} 'a'", id="the name of a node"),
        pytest.param(
            OnlyNodes(["a"]),  # type: ignore[arg-type]
            f"{WANTED} OnlyNodes(names=['a'])",
            id="a list of names",
        ),
        pytest.param(Rejected("broken", code=Code.ERROR), "broken", id="an error"),
    ],
)
def test_answers_that_are_none(answer: Any, words: str) -> None:
    cluster = make_cluster(*NODES)
    desk = make_desk(cluster, giving(answer))
    outcome = attempt(cluster.info(make_pod("web").build()), desk)
    assert isinstance(outcome, Failed)
    assert str(outcome.error) == f'running PreFilter plugin "P": {words}'


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(True, "wants None or SKIP, got True", id="a bool"),
        pytest.param(Rejected("broken"), "broken", id="a rejection comes too late"),
    ],
)
def test_prescore_likewise(answer: Any, words: str) -> None:
    class Early(PreScorePlugin, ScorePlugin):
        reads = Reads.NOTHING

        def prescore(self, *seen: Any) -> Any:
            return answer

        def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
            return 0

    cluster = make_cluster(*NODES)
    outcome = attempt(cluster.info(make_pod("web").build()), make_desk(cluster, Early))
    assert isinstance(outcome, Failed)
    assert str(outcome.error) == f'running PreScore plugin "Early": {words}'
