"""An explanation that was sent says what it said."""

from __future__ import annotations

import json

import pytest
from tests.sim.test_explanation import explained

from bayplan.cli.explanation_table import print_explanation
from bayplan.sim.explanation import Explanation
from bayplan.sim.explanation_json import from_json, to_json
from bayplan.testing import NodeBuilder, PodBuilder, make_node, make_pod

FULL = make_pod("x").requests(cpu="3").on("a")


def sent(explanation: Explanation, most: int | None = None) -> Explanation:
    return from_json(json.loads(json.dumps(to_json(explanation, most))))


def printed(explanation: Explanation, capsys: pytest.CaptureFixture[str], *, wide: bool) -> str:
    print_explanation(explanation, wide=wide)
    return capsys.readouterr().out


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(
    ("pod", "others", "node"),
    [
        pytest.param(
            make_pod("p"), [make_node("a"), make_node("b").taint("x")], "", id="one that fits"
        ),
        pytest.param(
            make_pod("p").requests(cpu="64"),
            [make_node(name) for name in "abcdefgh"],
            "",
            id="nowhere",
        ),
        pytest.param(
            make_pod("p").requests(cpu="2").priority(9),
            [make_node("a").capacity(cpu="4"), FULL],
            "",
            id="room is made",
        ),
        pytest.param(
            make_pod("p").on("b"),
            [make_node("a").capacity(cpu="64"), make_node("b")],
            "",
            id="on b",
        ),
        pytest.param(
            make_pod("p").requests(cpu="1"),
            [make_node("a"), make_node("b").taint("x")],
            "b",
            id="b?",
        ),
    ],
)
def test_it_prints_the_same(
    pod: PodBuilder,
    others: list[NodeBuilder | PodBuilder],
    node: str,
    wide: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = explained(pod, *others, node=node)
    assert printed(sent(told), capsys, wide=wide) == printed(told, capsys, wide=wide)


def test_of_many_nodes_a_part_is_sent_and_all_are_counted() -> None:
    nodes = [make_node(f"n{number:03}") for number in range(100)]
    cordoned = [make_node(f"c{number:03}").cordoned() for number in range(50)]
    told = explained(make_pod("p").on("n099"), *nodes, *cordoned)
    found = sent(told, most=5)
    assert found.counts == (100, 50)
    names = {line.node for line in found.lines}
    assert {told.chosen, "n099"} <= names
    assert len(found.turned_down) == 5
    assert len(names) <= 12
    assert found.headline() == told.headline()
    assert found.whereabouts() == told.whereabouts()


@pytest.mark.parametrize("answer", [{}, {"counts": None}, {"counts": {"fitting": 1}}])
def test_what_is_no_explanation(answer: dict[str, object]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        from_json(answer)
