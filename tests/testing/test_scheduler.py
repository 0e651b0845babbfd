from __future__ import annotations

from collections.abc import Sequence

import pytest

from bayplan import (
    Action,
    FilterPlugin,
    Hint,
    NodeInfo,
    PodInfo,
    Rejected,
    Resource,
    ScorePlugin,
    WakeOn,
)
from bayplan.errors import PluginError
from bayplan.model.node import Node
from bayplan.testing import decide, make_cluster, make_node, make_pod, place, wakes


class Few(FilterPlugin, ScorePlugin):
    """At most so many pods on a node, and the emptiest first."""

    most: int = 1

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        return Rejected("enough pods") if node.pod_count >= self.most else None

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        return 100 - node.pod_count

    def wakes_on(self) -> Sequence[WakeOn]:
        def is_empty(pod: PodInfo, old: Node | None, new: Node) -> Hint:
            return Hint.SKIP if new.metadata.labels.get("full") else Hint.QUEUE

        return [
            WakeOn(Resource.NODE, Action.ADD, is_empty),
            WakeOn(Resource.ASSIGNED_POD, Action.DELETE),
        ]


def test_pods_one_after_the_other() -> None:
    cluster = make_cluster(make_node("a"), make_node("b"))
    answers = place((make_pod(f"p{i}") for i in range(3)), cluster, Few)
    assert {answer.node for answer in answers[:2]} == {"a", "b"}
    assert answers[2].node == ""
    assert answers[2].rejected == {"a": "enough pods", "b": "enough pods"}
    assert repr(answers[0]) == f"Answer({answers[0].node!r})"


def test_arguments_and_an_answer() -> None:
    cluster = make_cluster(make_node("a"), make_pod("other").on("a"))
    assert decide(make_pod("p"), cluster, Few).why_not("a") == "enough pods"
    answer = decide(make_pod("p"), cluster, Few, args={"Few": {"most": 2}})
    assert (answer.node, answer.message, answer.score("a", "Few")) == ("a", "", 99)


def test_a_plugin_that_raises_fails_the_test() -> None:
    class Broken(FilterPlugin):
        def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
            raise KeyError("disk")

    with pytest.raises(PluginError, match="on node a: KeyError: 'disk'"):
        decide(make_pod("p"), make_cluster(make_node("a")), Broken)


def test_without_a_word_everything_wakes() -> None:
    class Silent(FilterPlugin):
        def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
            return Rejected("no")

    assert wakes(Silent, make_pod("p"), (Resource.NODE, Action.UPDATE_NODE_TAINT))


@pytest.mark.parametrize(
    ("event", "node", "expected"),
    [
        pytest.param((Resource.NODE, Action.ADD), make_node("a"), True, id="a node"),
        pytest.param(
            (Resource.NODE, Action.ADD),
            make_node("a").label("full", "y"),
            False,
            id="the hint says no",
        ),
        pytest.param(
            (Resource.NODE, Action.UPDATE_NODE_LABEL), make_node("a"), False, id="not listed"
        ),
        pytest.param((Resource.ASSIGNED_POD, Action.DELETE), None, True, id="without a hint"),
    ],
)
def test_what_wakes(event: tuple[Resource, Action], node: object, expected: bool) -> None:
    assert wakes(Few, make_pod("p"), event, new=node) is expected
