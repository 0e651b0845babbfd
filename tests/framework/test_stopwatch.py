from __future__ import annotations

from itertools import count

import pytest

from bayplan import FilterPlugin, NodeInfo, PodInfo, Rejected, ScorePlugin
from bayplan.cycle.attempt import attempt
from bayplan.cycle.outcome import Failed
from bayplan.framework.stopwatch import Stopwatch
from bayplan.testing import make_node, make_pod
from bayplan.testing.scheduler import make_cluster, make_desk


class Picky(FilterPlugin, ScorePlugin):
    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        if pod.name == "cursed":
            raise RuntimeError("no")
        return Rejected("not this one") if node.name == "b" else None

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        return 7


def timed(name: str) -> list[tuple[str, str, str, float]]:
    told: list[tuple[str, str, str, float]] = []
    ticks = count()
    watch = Stopwatch(
        lambda: float(next(ticks)),
        lambda plugin, point, status, seconds: told.append((plugin, point, status, seconds)),
    )
    desk = make_desk(make_cluster(make_node("a"), make_node("b")), Picky)
    with watch.running():
        outcome = attempt(desk.cluster.info(make_pod(name).build()), desk)
    assert isinstance(outcome, Failed) == (name == "cursed")
    assert Stopwatch.current is None
    return told


def test_every_call_is_told_of_columns_as_one_nodes_one_by_one() -> None:
    told = timed("web")
    assert [one[:3] for one in told if one[0] == "Picky"] == [
        ("Picky", "Filter", "Success"),
        ("Picky", "Filter", "Unschedulable"),
        ("Picky", "Score", "Success"),
    ]
    assert ("TaintToleration", "Filter", "Success") in {one[:3] for one in told}
    assert {seconds for *_, seconds in told} == {1.0}
    # Skip is a status of its own, and bayplan's own points are not among them.
    assert ("NodePorts", "PreFilter", "Skip") in {one[:3] for one in told}
    assert {one[1] for one in told} <= {"PreFilter", "Filter", "PreScore", "Score"}


def test_a_plugin_that_raises() -> None:
    assert [one[:3] for one in timed("cursed") if one[0] == "Picky"] == [
        ("Picky", "Filter", "Error")
    ]


def test_it_stops_whatever_happens() -> None:
    watch = Stopwatch(lambda: 0.0, lambda *_: None)
    with pytest.raises(ZeroDivisionError), watch.running():
        raise ZeroDivisionError
    assert Stopwatch.current is None
