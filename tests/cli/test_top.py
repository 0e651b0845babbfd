"""The picture of two summaries."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console, Group
from tests.runtime.fakes import Bench, on_bench
from tests.serve.debug.visitor import Visitor, stuck

from bayplan.cli.top import Interval, follow, screen
from bayplan.testing import make_pod
from bayplan.testing.virtual_time import run


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


class Recorded:
    """Pages that were kept; when there are no more, whoever looks is told to stop."""

    def __init__(self, *summaries: dict[str, Any]) -> None:
        self.summaries = list(summaries)
        self.asked: list[tuple[str, str]] = []

    async def get(self, path: str, **query: str) -> Any:
        self.asked.append((path, query["nodes"]))
        if not self.summaries:
            raise KeyboardInterrupt
        return self.summaries.pop(0)


def test_each_look_is_compared_with_the_one_before() -> None:
    before, now = two_summaries()
    shown: list[str] = []

    def show(parts: Group) -> None:
        console = Console(width=160)
        with console.capture() as captured:
            console.print(parts)
        shown.append(captured.get().splitlines()[1])

    pages = Recorded(now, now)
    with pytest.raises(KeyboardInterrupt):
        run(follow(pages, before, Interval(2.0, 5), show))
    assert shown[0].startswith("attempts per second: 2.5 scheduled")
    assert shown[1] == "attempts per second: -"
    assert pages.asked == [("/debug/summary", "5")] * 3
