"""From Reserve to PostBind: what holds a pod back, what goes wrong, and that everything is undone."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest

from bayplan import CycleState, PodInfo, Rejected
from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.framework.plugin import (
    PermitPlugin,
    PostBindPlugin,
    PreBindPlugin,
    ReservePlugin,
)
from bayplan.framework.status import SKIP, Skip
from bayplan.testing import make_node, make_pod
from bayplan.testing.virtual_time import settle
from tests.runtime.fakes import Bench, on_bench


class Ledger(ReservePlugin, PermitPlugin, PreBindPlugin, PostBindPlugin):
    """Says what a pod's annotations say at each point, and notes where it was."""

    log: ClassVar[list[str]] = []

    def reserve(self, pod: PodInfo, node: str, state: CycleState) -> Rejected | None:
        self.log.append("reserve")
        return self._answer(pod, "reserve")

    def unreserve(self, pod: PodInfo, node: str, state: CycleState) -> None:
        self.log.append("unreserve")

    def permit(self, pod: PodInfo, node: str, state: CycleState) -> Rejected | float | None:
        self.log.append("permit")
        if "wait" in pod.annotations:
            return float(pod.annotations["wait"])
        return self._answer(pod, "permit")

    def preflight(self, pod: PodInfo, node: str, state: CycleState) -> Skip | Rejected | None:
        return None if "prebind" in pod.annotations else SKIP

    async def prebind(self, pod: PodInfo, node: str, state: CycleState) -> Rejected | None:
        self.log.append("prebind")
        if pod.annotations["prebind"] == "slow":
            await asyncio.sleep(60)
        return self._answer(pod, "prebind")

    async def postbind(self, pod: PodInfo, node: str, state: CycleState) -> None:
        self.log.append("postbind")
        self._answer(pod, "postbind")

    @staticmethod
    def _answer(pod: PodInfo, point: str) -> Rejected | None:
        said = pod.annotations.get(point, "")
        if said == "raise":
            raise RuntimeError("broken")
        return Rejected("not now") if said == "reject" else None


@pytest.fixture(autouse=True)
def _fresh_ledger() -> None:
    Ledger.log.clear()


def uid_of(bench: Bench, key: str) -> str:
    uid: str = bench.api.pods[key]["metadata"]["uid"]
    return uid


@pytest.mark.parametrize(
    ("point", "said", "reason", "message"),
    [
        pytest.param(
            "reserve",
            "reject",
            "Unschedulable",
            "0/1 nodes are available: 1 not now.",
            id="reserve rejects",
        ),
        pytest.param(
            "permit",
            "reject",
            "Unschedulable",
            "0/1 nodes are available: 1 not now.",
            id="permit rejects",
        ),
        pytest.param("reserve", "raise", "SchedulerError", "RuntimeError: broken", id="reserve"),
        pytest.param("permit", "raise", "SchedulerError", "RuntimeError: broken", id="permit"),
        pytest.param("prebind", "raise", "SchedulerError", "RuntimeError: broken", id="prebind"),
        pytest.param("prebind", "reject", "SchedulerError", "not now", id="prebind rejects"),
    ],
)
def test_what_goes_wrong_is_undone_and_told(
    point: str, said: str, reason: str, message: str
) -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web").requests(cpu="3").annotation(point, said))
        await settle(lambda: bool(bench.api.condition("default/web")))
        condition = bench.api.condition("default/web")
        assert condition["reason"] == reason
        assert message in condition["message"]
        assert "unreserve" in Ledger.log
        assert bench.api.node_of("default/web") == ""
        bench.api.create(make_pod("next").requests(cpu="3"))
        await bench.until_bound("default/next")
        bench.check()

    on_bench(scenario, Ledger)


def test_the_points_run_in_order_and_a_failing_postbind_changes_nothing() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        pod = make_pod("web").annotation("prebind", "ok").annotation("postbind", "raise")
        bench.api.create(pod)
        await bench.until_bound("default/web")
        await settle(lambda: "postbind" in Ledger.log)
        assert Ledger.log == ["reserve", "permit", "prebind", "postbind"]
        bench.check()

    on_bench(scenario, Ledger)


def test_a_pod_with_something_to_prepare_is_nominated_before_it_is_bound() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web").annotation("prebind", "slow"))
        await settle(lambda: "prebind" in Ledger.log)
        assert bench.api.pods["default/web"]["status"]["nominatedNodeName"] == "a"
        assert bench.api.node_of("default/web") == ""
        await asyncio.sleep(61)
        await bench.until_bound("default/web")

    on_bench(scenario, Ledger)


def test_permit_holds_a_pod_until_it_is_allowed() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web").annotation("wait", "600"))
        await settle(lambda: bool(len(bench.scheduler.board.waiting)))
        (waiting,) = bench.scheduler.board.waiting
        assert bench.api.node_of("default/web") == ""
        waiting.allow("Ledger")
        await bench.until_bound("default/web")
        assert len(bench.scheduler.board.waiting) == 0
        bench.check()

    on_bench(scenario, Ledger)


def test_a_pod_that_waits_too_long_gives_its_room_up() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web").requests(cpu="3").annotation("wait", "10"))
        bench.api.create(make_pod("other").requests(cpu="3"))
        await settle(lambda: bool(bench.api.condition("default/other")))
        await asyncio.sleep(15)
        await bench.until_bound("default/other")
        said = "rejected due to timeout after waiting 10s at plugin Ledger"
        assert any(said in note for note in bench.api.notes("FailedScheduling"))

    on_bench(scenario, Ledger)


def test_a_waiting_pod_that_is_deleted_frees_its_room_at_once() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web").requests(cpu="3").annotation("wait", "600"))
        await settle(lambda: bool(len(bench.scheduler.board.waiting)))
        bench.api.create(make_pod("other").requests(cpu="3"))
        await settle(lambda: bool(bench.api.condition("default/other")))
        bench.api.delete("default/web")
        await asyncio.sleep(2)
        await bench.until_bound("default/other")
        assert "unreserve" in Ledger.log
        bench.check()

    on_bench(scenario, Ledger)


def test_a_pod_in_prebind_can_be_called_off() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web").annotation("prebind", "slow"))
        await settle(lambda: "prebind" in Ledger.log)
        assert bench.scheduler.board.waiting.call_off(uid_of(bench, "default/web"), "Someone")
        await settle(lambda: bool(bench.api.condition("default/web")))
        condition = bench.api.condition("default/web")
        assert condition["message"] == "preempted by Someone"
        assert condition["reason"] == "SchedulerError"
        assert "unreserve" in Ledger.log

    on_bench(scenario, Ledger)


def test_a_node_that_is_gone_before_the_binding_is_not_bound_to() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web").annotation("wait", "600"))
        await settle(lambda: bool(len(bench.scheduler.board.waiting)))
        bench.feed("nodes").on_gone("", "a", "", None)
        for waiting in bench.scheduler.board.waiting:
            waiting.allow("Ledger")
        await settle(lambda: bool(bench.api.condition("default/web")))
        assert bench.api.condition("default/web")["message"] == 'node "a" not found'
        assert bench.api.sent("POST", "/binding") == 0
        assert bench.scheduler.audit() == []

    on_bench(scenario, Ledger)


def test_stopping_lets_bindings_come_to_their_end() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("quick").annotation("prebind", "ok"))
        bench.api.create(make_pod("held").annotation("wait", "600"))
        await settle(lambda: bool(len(bench.scheduler.board.waiting)))
        await bench.scheduler.finish(within_s=5)
        assert bench.api.node_of("default/quick") == "a"
        assert bench.api.node_of("default/held") == ""
        assert bench.scheduler.binder.running == 0
        # Its room is given up, and nobody is told of an end that the next scheduler makes good.
        assert Ledger.log.count("unreserve") == 1
        assert bench.api.condition("default/held") == {}

    on_bench(scenario, Ledger)


def test_the_next_leader_does_not_wait_long_for_last_words() -> None:
    async def scenario(bench: Bench) -> None:
        send = bench.api.send

        async def slow(request: Request, lane: Lane, *, timeout_s: float | None = None) -> bytes:
            if request.path.endswith("/events"):
                await asyncio.sleep(3600)
            return await send(request, lane, timeout_s=timeout_s)

        bench.api.send = slow  # type: ignore[method-assign]
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web"))
        await bench.until_bound("default/web")
        loop = asyncio.get_running_loop()
        before = loop.time()
        await bench.scheduler.finish(within_s=15)
        assert loop.time() - before == pytest.approx(5, abs=0.1)

    on_bench(scenario, Ledger)


def test_a_mistake_of_ours_costs_one_attempt_and_gives_the_room_back() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        conditions = bench.scheduler.board.reporter.conditions
        hush, calls = conditions.hush, ["broken"]

        async def broken(uid: str) -> None:
            if calls:
                raise KeyError(calls.pop())
            await hush(uid)

        conditions.hush = broken  # type: ignore[method-assign]
        bench.api.create(make_pod("web").requests(cpu="3"))
        await settle(lambda: bool(bench.api.condition("default/web")))
        assert "internal error: KeyError" in bench.api.condition("default/web")["message"]
        await asyncio.sleep(3)
        await bench.until_bound("default/web")
        bench.check()

    on_bench(scenario)
