"""When no node fits: who is asked to make room, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan import (
    ClusterView,
    Code,
    CycleState,
    Nominated,
    PodInfo,
    PostFilterPlugin,
    Reads,
    Rejected,
    unresolvable,
)
from bayplan.cycle.attempt import attempt
from bayplan.cycle.outcome import Failed, Outcome, Unplaced
from bayplan.framework.plugin import Plugin
from bayplan.testing import make_cluster, make_desk, make_node, make_pod


def giving(answer: Any, name: str = "P") -> type[Plugin]:
    class Answering(PostFilterPlugin):
        reads = Reads.NOTHING

        def postfilter(
            self, pod: PodInfo, view: ClusterView, state: CycleState, failures: Any
        ) -> Any:
            return answer(view, failures) if callable(answer) else answer

    Answering.name = name
    return Answering


def asked(*plugins: type[Plugin]) -> Outcome:
    """These alone are asked, on a cluster with a full, a tainted and a cordoned node."""
    cluster = make_cluster(
        make_node("full").capacity(cpu="1"),
        make_node("tainted").taint("t"),
        make_node("cordoned").cordoned(),
        make_pod("there").requests(cpu="1").on("full"),
    )
    desk = make_desk(cluster, *plugins)
    own = tuple(plugin for plugin in desk.profile.postfilter if isinstance(plugin, plugins))
    object.__setattr__(desk.profile, "postfilter", own)
    return attempt(cluster.info(make_pod("web").requests(cpu="1").build()), desk)


NOTHING_FITS = (
    "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s),"
    " 1 node(s) were unschedulable."
)


@pytest.mark.parametrize(
    ("plugins", "said"),
    [
        pytest.param([], "", id="nobody to ask"),
        pytest.param([giving(Rejected("no"))], " no", id="one that cannot"),
        pytest.param(
            [giving(Rejected("no")), giving(Rejected("nor I"), "Q")], " no, nor I", id="two"
        ),
        pytest.param(
            [giving(unresolvable("never")), giving(Rejected("nor I"), "Q")],
            " never",
            id="one that rules it out is asked last",
        ),
        pytest.param(
            [giving(Rejected("broken", code=Code.ERROR)), giving(Rejected("nor I"), "Q")],
            " broken",
            id="an error is told with the rest, as in Kubernetes",
        ),
    ],
)
def test_what_is_said(plugins: list[type[Plugin]], said: str) -> None:
    outcome = asked(*plugins)
    assert isinstance(outcome, Unplaced)
    assert outcome.message == NOTHING_FITS + said
    assert outcome.nominated is None


def test_the_first_that_can_makes_room() -> None:
    def on_full(view: ClusterView, failures: Any) -> Nominated:
        victims = view.nodes.pods_on(view.row_of("full") or 0)
        return Nominated("full", tuple(victims))

    outcome = asked(giving(Rejected("no")), giving(on_full, "Q"), giving(unresolvable("z"), "R"))
    assert isinstance(outcome, Unplaced)
    assert outcome.nominated is not None
    assert outcome.nominated.node == "full"
    assert [pod.key for pod in outcome.nominated.victims] == ["default/there"]
    assert outcome.message == NOTHING_FITS


def test_why_nodes_were_turned_down() -> None:
    seen: dict[str, Any] = {}

    def look(view: ClusterView, failures: Any) -> Rejected:
        names = view.cluster.nodes.row_names()
        for code in (Code.UNSCHEDULABLE, Code.UNRESOLVABLE):
            seen[code.label] = [names[row] for row in failures.rows_with(code)]
        seen["words"] = failures.verdict(view.row_of("tainted")).message
        seen["whole"] = failures.rejected_by_prefilter
        return Rejected("seen")

    asked(giving(look))
    assert seen == {
        "Unschedulable": ["full"],
        "UnschedulableAndUnresolvable": ["tainted", "cordoned"],
        "words": "node(s) had untolerated taint(s)",
        "whole": None,
    }


@pytest.mark.parametrize("answer", [None, True, "full"], ids=repr)
def test_answers_that_are_none(answer: Any) -> None:
    outcome = asked(giving(answer))
    assert isinstance(outcome, Failed)
    words = f'running PostFilter plugin "P": wants Nominated or Rejected, got {answer!r}'
    assert str(outcome.error) == words
