"""The log of decisions, told by a scheduler at work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from bayplan.runtime.decision_log import DecisionLog
from bayplan.telemetry.decision_files import Record
from bayplan.testing import make_node, make_pod
from bayplan.testing.virtual_time import settle
from tests.runtime.fakes import Bench, on_bench


class Kept:
    """A file in memory, on a disk that may be full."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.full = False
        self.closed = False

    def write(self, records: Sequence[Record], now: float) -> None:
        if self.full:
            raise OSError(28, "No space left on device")
        self.records += records

    def close(self, now: float) -> None:
        self.closed = True

    def only(self) -> Record:
        (record,) = self.records
        return record


Scenario = Callable[[Bench, DecisionLog, Kept], Awaitable[None]]


def logging(scenario: Scenario) -> list[int]:
    """Run it; how many records were lost, each time."""
    lost: list[int] = []

    async def run(bench: Bench) -> None:
        kept = Kept()
        log = DecisionLog(kept, bench.clock, lost.append)
        bench.scheduler.board.chronicle.observers.append(log)
        try:
            await scenario(bench, log, kept)
        finally:
            await log.close()
        assert kept.closed

    on_bench(run)
    return lost


def test_a_placed_pod() -> None:
    async def scenario(bench: Bench, log: DecisionLog, kept: Kept) -> None:
        bench.add_nodes(make_node("a"), make_node("b").cordoned())
        bench.api.create(make_pod("web").requests(cpu="1"))
        await bench.until_bound("default/web")
        await log.flush()
        record = dict(kept.only())
        chronicle = bench.scheduler.board.chronicle
        (attempt,) = chronicle.of("default/web")
        assert attempt.decision is not None
        scores = attempt.decision.picture().scores(attempt.decision.chosen)
        assert record.pop("scores") == {n: s.weighted for n, s in scores.items() if s.weighted}
        assert record.pop("score") == sum(s.weighted for s in scores.values())
        assert record.pop("uid")
        assert record == {
            "v": 1,
            "time": "2026-01-01T00:00:00.000000Z",
            "pod": "default/web",
            "profile": "default-scheduler",
            "attempt": 1,
            "result": "scheduled",
            "node": "a",
            "waited": 0.0,
            "deciding": 0.0,
            "seconds": 0.0,
            "nodes": 2,
            "feasible": 1,
            "equals": 1,
        }

    assert logging(scenario) == []


def test_a_pod_that_fits_nowhere() -> None:
    async def scenario(bench: Bench, log: DecisionLog, kept: Kept) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("big").requests(cpu="80"))
        await settle(lambda: bool(bench.api.condition("default/big")))
        await log.flush()
        record = kept.only()
        assert (record["result"], record["feasible"]) == ("unschedulable", 0)
        assert record["plugins"] == ["NodeResourcesFit"]
        assert record["message"] == bench.api.condition("default/big")["message"]
        assert "node" not in record

    assert logging(scenario) == []


def test_a_full_disk_costs_records_and_nothing_else() -> None:
    async def scenario(bench: Bench, log: DecisionLog, kept: Kept) -> None:
        bench.add_nodes(make_node("a"))
        kept.full = True
        bench.api.create(make_pod("one"))
        await bench.until_bound("default/one")
        await log.flush()
        kept.full = False
        bench.api.create(make_pod("two"))
        await bench.until_bound("default/two")
        await log.flush()
        assert kept.only()["pod"] == "default/two"

    assert logging(scenario) == [1]
