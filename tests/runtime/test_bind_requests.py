"""What becomes of a pod whose binding is refused, or whose answer is lost (the cases 1 to 8 of the fault list)."""

from __future__ import annotations

import asyncio

import pytest

from bayplan.client.request import Request
from bayplan.errors import BayplanError, Forbidden, ServerError, TimedOut, TooManyRequests
from bayplan.testing import make_node, make_pod
from bayplan.testing.virtual_time import settle
from tests.runtime.fakes import Bench, Trouble, on_bench


def first_binding(problem: BayplanError, times: int = 1) -> Trouble:
    """The trouble of the first bindings."""
    left = [problem] * times

    def trouble(request: Request) -> BayplanError | None:
        return left.pop() if left and request.path.endswith("/binding") else None

    return trouble


def conflicts(bench: Bench) -> dict[tuple[str, ...], float]:
    counter = bench.scheduler.board.metrics._bind_conflicts
    return dict(counter.values)


@pytest.mark.parametrize(
    "problem",
    [
        pytest.param(TimedOut("no answer", sent=True), id="no answer"),
        pytest.param(ServerError(504, "Timeout", "etcdserver: request timed out"), id="504"),
    ],
)
def test_a_binding_whose_answer_is_lost_is_a_success_and_not_made_twice(
    problem: BayplanError,
) -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.lose = first_binding(problem)
        bench.api.create(make_pod("web"))
        await bench.until_bound("default/web")
        await settle(lambda: bool(bench.api.events))
        assert bench.api.sent("POST", "/binding") == 1
        assert bench.api.notes("Scheduled") == ["Successfully assigned default/web to a"]
        assert bench.api.notes("FailedScheduling") == []
        bench.check()

    on_bench(scenario)


def test_a_binding_that_never_arrived_is_made_again_on_the_same_node() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.refuse = first_binding(TimedOut("no answer", sent=True))
        bench.api.create(make_pod("web"))
        await bench.until_bound("default/web")
        assert bench.api.sent("POST", "/binding") == 2
        assert bench.api.notes("FailedScheduling") == []
        bench.check()

    on_bench(scenario)


@pytest.mark.parametrize("who", ["the API server", "the watch"])
def test_the_room_stays_taken_until_it_is_known_what_became_of_the_binding(who: str) -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.lagging = True
        silent = True

        def refuse(request: Request) -> BayplanError | None:
            # The binding is carried out, and then nobody answers any more.
            return TimedOut("no answer", sent=True) if silent and request.method == "GET" else None

        bench.api.refuse = refuse
        bench.api.lose = first_binding(TimedOut("no answer", sent=True))
        bench.api.create(make_pod("web").requests(cpu="3"))
        bench.api.create(make_pod("other").requests(cpu="3"))
        bench.api.catch_up()
        bench.api.lagging = True
        await asyncio.sleep(60)
        assert bench.api.node_of("default/other") == ""
        assert bench.scheduler.binder.running == 1
        if who == "the API server":
            silent = False
        else:
            bench.api.catch_up()
        await asyncio.sleep(11)
        assert bench.scheduler.binder.running == 0
        bench.api.catch_up()
        await settle()
        assert [bench.api.node_of(f"default/{name}") for name in ("web", "other")] == ["a", ""]
        bench.check()

    on_bench(scenario)


def test_a_pod_bound_elsewhere_is_adopted_where_it_is() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a").capacity(cpu="8"), make_node("b"))
        bench.api.create(make_pod("web").requests(cpu="3"))
        await asyncio.sleep(0)  # the watch tells the scheduler
        bench.api.lagging = True
        bench.api.bind("default/web", "b")
        await settle(lambda: bool(conflicts(bench)))
        await settle(lambda: not bench.scheduler.binder.running)
        assert conflicts(bench) == {("assigned",): 1}
        assert bench.api.notes("Scheduled") == []
        placed = bench.scheduler.board.cluster.view.node("b")
        assert placed is not None
        assert [pod.name for pod in placed.pods] == ["web"]
        bench.api.catch_up()
        bench.check()

    on_bench(scenario)


def test_a_pod_that_is_gone_is_dropped_without_a_word() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web"))
        await asyncio.sleep(0)
        bench.api.lagging = True
        bench.api.delete("default/web")
        await settle(lambda: bool(conflicts(bench)))
        await settle(lambda: not bench.scheduler.binder.running)
        assert conflicts(bench) == {("gone",): 1}
        assert bench.api.events == []
        assert bench.api.sent("PATCH") == 0
        bench.api.catch_up()
        bench.check()

    on_bench(scenario)


def test_a_pod_created_anew_under_the_same_name_is_scheduled_on_its_own() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web").uid("first"))
        await asyncio.sleep(0)
        bench.api.lagging = True
        bench.api.delete("default/web")
        bench.api.create(make_pod("web").uid("second"))
        await settle(lambda: bool(conflicts(bench)))
        assert conflicts(bench) == {("uid",): 1}
        bench.api.catch_up()
        await bench.until_bound("default/web")
        await settle(lambda: bool(bench.api.events))
        assert bench.api.notes("Scheduled") == ["Successfully assigned default/web to a"]
        bench.check()

    on_bench(scenario)


def test_a_pod_whose_deletion_has_begun_leaves_its_room_to_others() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web").requests(cpu="3"))
        await asyncio.sleep(0)
        bench.api.pods["default/web"]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        await settle(lambda: bool(conflicts(bench)))
        assert conflicts(bench) == {("deleting",): 1}
        bench.api.create(make_pod("other").requests(cpu="3"))
        await bench.until_bound("default/other")
        bench.check()

    on_bench(scenario)


@pytest.mark.parametrize(
    "problem",
    [
        pytest.param(TooManyRequests(429, "TooManyRequests", "later"), id="429"),
        pytest.param(Forbidden(403, "Forbidden", "cannot create pods/binding"), id="403"),
    ],
)
def test_a_refused_binding_is_undone_told_and_tried_again_after_a_while(
    problem: BayplanError,
) -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.refuse = first_binding(problem)
        bench.api.create(make_pod("web"))
        await settle(lambda: bool(bench.api.condition("default/web")))
        condition = bench.api.condition("default/web")
        assert condition["reason"] == "SchedulerError"
        assert problem.message in condition["message"]  # type: ignore[attr-defined]
        await asyncio.sleep(2)
        await bench.until_bound("default/web")
        bench.check()

    on_bench(scenario)


def test_nothing_is_bound_once_somebody_else_leads() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.leading = False
        bench.api.create(make_pod("web"))
        await settle()
        assert bench.api.sent("POST", "/binding") == 0
        assert bench.api.node_of("default/web") == ""

    on_bench(scenario)
