"""The picture of two summaries."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from tests.runtime.fakes import Bench, on_bench
from tests.serve.debug.visitor import Visitor, stuck

from bayplan.cli.top import screen
from bayplan.testing import make_pod


def text_of(now: dict[str, Any], before: dict[str, Any] | None) -> str:
    console = Console(width=160, record=True, file=None, quiet=False, force_terminal=False)
    with console.capture() as captured:
        console.print(screen(now, before))
    return captured.get()


def two_summaries() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []

    async def scenario(bench: Bench) -> None:
        visitor = Visitor(bench)
        await stuck(bench)
        found.append(await visitor.get("/debug/summary"))
        bench.clock.advance(2)
        for number in range(5):
            bench.api.create(make_pod(f"p{number}").requests(cpu="100m"))
        await bench.until_bound(*(f"default/p{number}" for number in range(5)))
        found.append(await visitor.get("/debug/summary"))

    on_bench(scenario)
    return found


def test_rates_come_of_two_looks() -> None:
    before, now = two_summaries()
    assert "attempts so far: 1 scheduled, 1 unschedulable, 0 error" in text_of(before, None)
    text = text_of(now, before)
    assert "attempts per second: 2.5 scheduled, 0.0 unschedulable, 0.0 error" in text
    assert "waiting: 0 active, 0 backoff, 1 unschedulable, 1 gated; 0 in flight" in text
    assert "the oldest waits for 2.0s" in text
    assert "gated by SchedulingGates" in text
    assert "2 nodes (1 cordoned): cpu  19%" in text
    assert "███████" in text


def test_another_process_that_answers_makes_no_negative_rates() -> None:
    before, now = two_summaries()
    assert "attempts per second: -" in text_of(before, now)


def test_an_instance_that_stands_by_says_so() -> None:
    before, _ = two_summaries()
    assert "stands by" in text_of({**before, "leading": False}, None)
