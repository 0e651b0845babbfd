"""Preemption carried out: who is deleted, in which order, what is told, and what happens when it fails."""

from __future__ import annotations

import asyncio

import pytest

from bayplan.client.request import Request
from bayplan.errors import BayplanError, ServerError
from bayplan.testing import make_node, make_pod
from bayplan.testing.builders import PodBuilder
from bayplan.testing.virtual_time import settle
from tests.runtime.fakes import Bench, on_bench
from tests.runtime.test_binding import Ledger


@pytest.fixture(autouse=True)
def _fresh_ledger() -> None:
    Ledger.log.clear()


def victim(name: str, cpu: str = "3") -> PodBuilder:
    return make_pod(name).requests(cpu=cpu).priority(1)


def preemptor(cpu: str = "3") -> PodBuilder:
    return make_pod("important").requests(cpu=cpu).priority(1000)


def test_the_victim_goes_and_the_preemptor_takes_its_place() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(victim("low"))
        await bench.until_bound("default/low")
        bench.api.create(preemptor())
        await settle(lambda: "default/low" not in bench.api.pods)
        (patch,) = [r.body.decode() for r in bench.api.requests if r.path.endswith("/low/status")]
        assert '"type":"DisruptionTarget"' in patch
        assert "default-scheduler: preempting to accommodate a higher priority pod" in patch
        await asyncio.sleep(2)
        await bench.until_bound("default/important")
        await settle(lambda: bool(bench.api.notes("Preempted")))
        uid = bench.api.pods["default/important"]["metadata"]["uid"]
        assert bench.api.notes("Preempted") == [f"Preempted by pod {uid} on node a"]
        (event,) = [e for e in bench.api.events if e["reason"] == "Preempted"]
        assert event["regarding"]["name"] == "low"
        assert event["related"]["name"] == "important"
        bench.check()

    on_bench(scenario)


def test_the_node_is_promised_in_memory_and_in_the_status_while_the_victim_goes() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(victim("low"))
        await bench.until_bound("default/low")
        held: list[Request] = []

        def stay(request: Request) -> BayplanError | None:
            if request.method == "DELETE":
                held.append(request)
                return ServerError(500, "InternalError", "not now")
            return None

        bench.api.refuse = stay
        bench.api.create(preemptor())
        await settle(lambda: bool(held))
        await settle(
            lambda: bool(bench.api.pods["default/important"]["status"].get("nominatedNodeName"))
        )
        assert bench.api.pods["default/important"]["status"]["nominatedNodeName"] == "a"
        assert bench.scheduler.board.cluster.nominations.node_of("default/important") == "a"

    on_bench(scenario)


def test_nothing_is_tried_before_the_last_victim_is_seen_to_leave() -> None:
    """Its end follows at once on the deletion: an attempt in between would only make the backoff longer."""

    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        for name in ("one", "two"):
            bench.api.create(victim(name, "1"))
        await bench.until_bound("default/one", "default/two")
        bench.api.lagging = True
        bench.api.create(preemptor("4"))
        bench.api.catch_up()
        bench.api.lagging = True
        await settle(lambda: bench.api.sent("DELETE") == 2)
        await asyncio.sleep(3)
        queued = bench.scheduler.board.queue.get("default/important")
        assert queued is not None
        assert queued.attempts == 1
        # Something else happens, which may make room.
        bench.scheduler.pods.on_put(make_pod("other").uid("x").requests(cpu="1").on("b").build())
        bench.scheduler.pods.on_gone("default", "other", "x", None)
        await settle()
        assert queued.attempts == 1
        bench.api.catch_up()
        await bench.until_bound("default/important")
        assert queued.attempts == 2
        bench.check()

    on_bench(scenario)


def test_a_watch_that_does_not_show_the_last_victim_leave_is_not_waited_for_for_ever() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(victim("low"))
        await bench.until_bound("default/low")
        bench.api.create(preemptor())
        await settle(lambda: bench.scheduler.board.queue.get("default/important") is not None)
        bench.api.lagging = True
        await settle(lambda: bench.api.sent("DELETE") == 1)
        queued = bench.scheduler.board.queue.get("default/important")
        assert queued is not None
        assert queued.attempts == 1
        await asyncio.sleep(6)
        assert queued.attempts > 1
        bench.api.catch_up()
        await asyncio.sleep(10)
        await bench.until_bound("default/important")
        bench.check()

    on_bench(scenario)


def test_a_victim_with_a_time_of_grace_opens_the_way_when_its_deletion_begins() -> None:
    async def scenario(bench: Bench) -> None:
        left: list[str] = []
        bench.scheduler.pods.on_leaving.append(left.append)
        begun = make_pod("low").uid("low").on("a")
        begun.manifest["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        begun.manifest["metadata"]["deletionGracePeriodSeconds"] = 0
        bench.scheduler.pods.on_put(begun.build())
        assert left == []
        begun.manifest["metadata"]["deletionGracePeriodSeconds"] = 30
        bench.scheduler.pods.on_put(begun.build())
        assert left == ["low"]
        begun.manifest["metadata"] |= {"deletionGracePeriodSeconds": 0, "finalizers": ["a.b/c"]}
        bench.scheduler.pods.on_put(begun.build())
        assert left == ["low", "low"]

    on_bench(scenario)


def test_where_one_deletion_fails_the_last_victim_is_spared_and_the_pod_is_tried_again() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        for name in ("one", "two", "three"):
            bench.api.create(victim(name, "1"))
        await bench.until_bound("default/one", "default/two", "default/three")
        refused: list[str] = []

        def refuse(request: Request) -> BayplanError | None:
            """The first that is to be deleted cannot be, until its time has come."""
            if request.method != "DELETE":
                return None
            if not refused:
                refused.append(request.path)
            if request.path in refused:
                return ServerError(500, "InternalError", "etcd is slow")
            return None

        bench.api.refuse = refuse
        bench.api.create(preemptor("4"))
        await settle(lambda: bool(refused))
        await settle()
        # One was deleted beside the one that could not be; the third was never asked to go.
        assert len(bench.api.pods) == 3
        asked = bench.api.sent("DELETE")
        await asyncio.sleep(30)
        # Tried again, but not in a tight circle.
        assert asked < bench.api.sent("DELETE") < asked + 12
        refused[:] = ["nobody"]
        await asyncio.sleep(12)
        await bench.until_bound("default/important")
        assert set(bench.api.pods) == {"default/important"}
        bench.check()

    on_bench(scenario)


def test_a_victim_that_waits_at_permit_is_called_off_and_not_deleted() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(victim("low").annotation("wait", "600"))
        await settle(lambda: bool(len(bench.scheduler.board.waiting)))
        bench.api.create(preemptor())
        await asyncio.sleep(3)
        await bench.until_bound("default/important")
        assert "default/low" in bench.api.pods
        assert bench.api.sent("DELETE") == 0
        assert bench.api.notes("Preempted")[0].endswith("on node a (in kube-scheduler memory).")

    on_bench(scenario, Ledger)


def test_pods_of_lower_priority_lose_a_node_that_was_promised_to_them() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(victim("low"))
        await bench.until_bound("default/low")
        bench.api.create(make_pod("middle").requests(cpu="3").priority(10).nominated("a"))
        bench.api.refuse = lambda request: (
            ServerError(500, "InternalError", "no") if request.method == "DELETE" else None
        )
        bench.api.create(preemptor())
        await settle(
            lambda: not bench.api.pods["default/middle"]["status"].get("nominatedNodeName")
        )
        assert bench.api.pods["default/middle"]["status"]["nominatedNodeName"] == ""

    on_bench(scenario)


def test_nobody_is_evicted_once_somebody_else_leads() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(victim("low"))
        await bench.until_bound("default/low")
        bench.leading = False
        bench.api.create(preemptor())
        await settle()
        assert bench.api.sent("DELETE") == 0
        assert "default/low" in bench.api.pods

    on_bench(scenario)
