"""Conditions: the latest wish wins, what is there already is not written again, and one pod's patches never overlap."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from bayplan.cluster.cluster import Cluster
from bayplan.cluster.podinfo import PodInfo
from bayplan.errors import Conflict, ServerError
from bayplan.model.pod import Pod
from bayplan.runtime.reporting.conditions import Conditions
from bayplan.testing import make_pod
from bayplan.testing.virtual_time import VirtualClock, run, settle
from tests.runtime.sent import Sent


def shown(*, nominated: str = "", condition: tuple[str, str, str] | None = None) -> Pod:
    pod = make_pod("web").uid("u1").nominated(nominated)
    pod.manifest["metadata"]["generation"] = 4
    if condition is not None:
        status, reason, message = condition
        pod.manifest["status"]["conditions"] = [
            {"type": "PodScheduled", "status": status, "reason": reason, "message": message}
        ]
    return pod.build()


def info() -> PodInfo:
    return Cluster().info(shown())


def telling(scenario: Callable[[Conditions, Sent], Awaitable[None]]) -> None:
    clock = VirtualClock()

    async def main() -> None:
        sent = Sent()
        conditions = Conditions(sent, clock)
        conditions.seen(shown())
        writing = asyncio.create_task(conditions.run())
        try:
            await scenario(conditions, sent)
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)

    run(main(), clock)


def test_condition_and_nomination_go_in_one_patch() -> None:
    async def scenario(conditions: Conditions, sent: Sent) -> None:
        conditions.unscheduled(info(), "Unschedulable", "no room", "a")
        await settle()
        (body,) = sent.bodies()
        assert sent.requests[0].path == "/api/v1/namespaces/default/pods/web/status"
        assert body["metadata"] == {"uid": "u1"}
        assert body["status"]["nominatedNodeName"] == "a"
        (condition,) = body["status"]["conditions"]
        assert condition == {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "no room",
            "lastProbeTime": None,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "observedGeneration": 4,
        }

    telling(scenario)


def test_what_is_there_already_is_not_written_again() -> None:
    async def scenario(conditions: Conditions, sent: Sent) -> None:
        conditions.seen(shown(condition=("False", "Unschedulable", "no room"), nominated="a"))
        conditions.unscheduled(info(), "Unschedulable", "no room", "a")
        await settle()
        assert sent.requests == []
        # Of what differs no more than that is written, and the moment stays what it was.
        conditions.unscheduled(info(), "Unschedulable", "no room at all", "a")
        await settle()
        (body,) = sent.bodies()
        assert "nominatedNodeName" not in body["status"]
        assert "lastTransitionTime" not in body["status"]["conditions"][0]

    telling(scenario)


def test_what_was_written_is_known_before_the_watch_shows_it() -> None:
    async def scenario(conditions: Conditions, sent: Sent) -> None:
        for _ in range(3):
            conditions.unscheduled(info(), "Unschedulable", "no room", "")
            await settle()
        assert len(sent.requests) == 1

    telling(scenario)


def test_while_one_patch_is_under_way_only_the_latest_wish_is_kept() -> None:
    async def scenario(conditions: Conditions, sent: Sent) -> None:
        sent.open.clear()
        for number in range(10):
            conditions.unscheduled(info(), "Unschedulable", f"try {number}", None)
            await settle()
        assert len(sent.requests) == 1
        sent.open.set()
        await settle()
        assert [b["status"]["conditions"][0]["message"] for b in sent.bodies()] == [
            "try 0",
            "try 9",
        ]

    telling(scenario)


def test_a_promise_that_was_there_is_cleared() -> None:
    async def scenario(conditions: Conditions, sent: Sent) -> None:
        conditions.seen(shown(nominated="a"))
        conditions.unscheduled(info(), "Unschedulable", "no room", "")
        await settle()
        assert sent.bodies()[0]["status"]["nominatedNodeName"] is None

    telling(scenario)


def test_nothing_more_is_said_of_a_pod_that_has_a_node() -> None:
    async def scenario(conditions: Conditions, sent: Sent) -> None:
        conditions.unscheduled(info(), "Unschedulable", "no room", "")
        conditions.forget("u1")
        await settle()
        assert sent.requests == []

    telling(scenario)


def test_a_patch_that_fails_ends_nothing_and_is_not_taken_for_written() -> None:
    async def scenario(conditions: Conditions, sent: Sent) -> None:
        problems = [ServerError(500, "InternalError", "no"), Conflict(409, "Conflict", "another")]
        sent.refuse = lambda _: problems.pop() if problems else None
        for _ in range(3):
            conditions.unscheduled(info(), "Unschedulable", "no room", "")
            await settle()
        assert len(sent.requests) == 3

    telling(scenario)


def test_a_pod_that_is_to_be_bound_waits_for_what_is_being_written_and_no_more_is() -> None:
    async def scenario(conditions: Conditions, sent: Sent) -> None:
        sent.open.clear()
        conditions.unscheduled(info(), "Unschedulable", "no room", "")
        await settle()
        conditions.unscheduled(info(), "Unschedulable", "still no room", "")
        hushed = asyncio.create_task(conditions.hush("u1"))
        await settle()
        assert not hushed.done()
        sent.open.set()
        await settle()
        assert hushed.done()
        assert len(sent.requests) == 1

    telling(scenario)
