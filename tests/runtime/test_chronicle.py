"""What the chronicle knows of attempts, told by a scheduler at work."""

from __future__ import annotations

from contextvars import Context

from bayplan import FilterPlugin, NodeInfo, PermitPlugin, PodInfo, Rejected
from bayplan.framework.state import CycleState
from bayplan.runtime.chronicle import Try
from bayplan.testing import make_node, make_pod
from bayplan.testing.virtual_time import settle
from tests.runtime.fakes import Bench, on_bench


class Notebook:
    """An observer that writes everything down."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str, str]] = []
        self.points: dict[str, float] = {}

    def decided(self, attempt: Try) -> None:
        self.heard.append(("decided", attempt.pod.key, attempt.node))
        self.points = attempt.points

    def ended(self, attempt: Try) -> None:
        self.heard.append(("ended", attempt.pod.key, attempt.result))

    def context(self, attempt: Try) -> Context | None:
        return None


def test_a_bound_pod() -> None:
    async def scenario(bench: Bench) -> None:
        notebook = Notebook()
        chronicle = bench.scheduler.board.chronicle
        chronicle.observers.append(notebook)
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web"))
        await bench.until_bound("default/web")
        (attempt,) = chronicle.of("default/web")
        assert (attempt.result, attempt.node, attempt.number) == ("scheduled", "a", 1)
        assert attempt.decision is not None
        assert attempt.decision.kept
        assert chronicle.under_way() == []
        assert notebook.heard == [
            ("decided", "default/web", "a"),
            ("ended", "default/web", "scheduled"),
        ]
        assert "Filter" in notebook.points

    on_bench(scenario)


def test_attempts_that_come_to_nothing_and_the_one_that_does_not() -> None:
    async def scenario(bench: Bench) -> None:
        chronicle = bench.scheduler.board.chronicle
        bench.add_nodes(make_node("small"))
        bench.api.create(make_pod("big").requests(cpu="8"))
        await settle(lambda: bool(bench.api.condition("default/big")))
        queued = bench.scheduler.board.queue.get("default/big")
        assert queued is not None
        (failed,) = queued.history.attempts
        assert (failed.result, failed.plugins) == ("unschedulable", frozenset({"NodeResourcesFit"}))
        assert failed.message == bench.api.condition("default/big")["message"]
        bench.add_nodes(make_node("large").capacity(cpu="16"))
        await bench.until_bound("default/big")
        assert [a.result for a in chronicle.of("default/big")] == ["unschedulable", "scheduled"]
        assert [a.result for a in queued.history.attempts] == ["unschedulable", "scheduled"]

    on_bench(scenario)


class Broken(FilterPlugin):
    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        raise RuntimeError("out of order")


class Patient(PermitPlugin):
    def permit(self, pod: PodInfo, node: str, state: CycleState) -> Rejected | float | None:
        return 3600.0


def test_an_attempt_that_breaks_has_no_decision_but_an_end() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web"))
        chronicle = bench.scheduler.board.chronicle
        await settle(lambda: bool(chronicle.of("default/web")))
        attempt = chronicle.of("default/web")[0]
        assert (attempt.stage, attempt.result) == ("", "error")
        assert "out of order" in attempt.message
        assert attempt.decision is None

    on_bench(scenario, Broken)


def test_a_pod_that_permit_holds_back_is_on_its_way() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web"))
        chronicle = bench.scheduler.board.chronicle
        await settle(lambda: any(a.stage == "waiting" for a in chronicle.under_way()))
        assert [a.node for a in chronicle.of("default/web")] == ["a"]

    on_bench(scenario, Patient)


def test_what_is_kept_is_bounded() -> None:
    async def scenario(bench: Bench) -> None:
        chronicle = bench.scheduler.board.chronicle
        chronicle._size = 3
        bench.add_nodes(make_node("a"))
        names = [f"p{number}" for number in range(5)]
        for name in names:
            bench.api.create(make_pod(name))
        await bench.until_bound(*(f"default/{name}" for name in names))
        assert len(chronicle) == 3
        assert [attempt.pod.name for attempt in chronicle.latest(2)] == ["p4", "p3"]
        assert chronicle.of("default/p0") == []

    on_bench(scenario)


def test_a_dry_run_ends_with_what_would_be() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web"))
        chronicle = bench.scheduler.board.chronicle
        await settle(lambda: bool(len(chronicle)))
        assert [a.result for a in chronicle.of("default/web")] == ["dry-run"]

    on_bench(scenario, dry_run=True)
