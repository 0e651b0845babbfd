from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.fakes import Bench, on_bench
from tests.serve.debug.visitor import Visitor, stuck

from bayplan.cli.queue import only, print_queue


@pytest.fixture
def page() -> dict[str, Any]:
    found: list[dict[str, Any]] = []

    async def scenario(bench: Bench) -> None:
        await stuck(bench)
        bench.clock.advance(95)
        found.append(await Visitor(bench).get("/debug/queue"))

    on_bench(scenario)
    return found[0]


def test_who_waits_for_what(page: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    print_queue(page)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "0 active, 0 backoff, 1 unschedulable, 1 gated, 0 in flight"
    big = next(line for line in lines if line.startswith("default/big"))
    assert big.split()[:7] == [
        "default/big",
        "unschedulable",
        "95s",
        "95s",
        "1",
        "0",
        "NodeResourcesFit,NodeUnschedulable",
    ]
    assert "0/2 nodes are available" in big
    held = next(line for line in lines if line.startswith("default/held"))
    assert held.split()[-1] == "SchedulingGates"


def test_a_part_of_it(page: dict[str, Any]) -> None:
    assert [row["pod"] for row in only(page, "", "gated")["pods"]] == ["default/held"]
    assert only(page, "other", None)["pods"] == []
    assert only(page, "", "in-flight")["pods"] == []


def test_pods_on_their_way(capsys: pytest.CaptureFixture[str]) -> None:
    way = {"pod": "a/b", "profile": "p", "stage": "waiting", "node": "n", "attempt": 2, "age": 3.0}
    page = {
        "counts": {"active": 7, "inFlight": 1},
        "unschedulable": [],
        "inFlight": [way],
        "total": 7,
        "pods": [],
    }
    print_queue(page)
    text = capsys.readouterr().out
    assert "a/b   waiting   3.0s   3.0s" in text
    assert "7 more wait" in text
