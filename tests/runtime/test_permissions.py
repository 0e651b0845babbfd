"""Rights: asked for one by one, named where they are missing, and found again once they are granted."""

from __future__ import annotations

import asyncio
from typing import Any

from bayplan.client import resources
from bayplan.client.request import Request
from bayplan.errors import TimedOut
from bayplan.runtime.permissions import Permissions, Right, needed
from bayplan.testing.virtual_time import VirtualClock, run
from tests.runtime.sent import Sent

WATCHED = (resources.PODS, resources.CSI_NODES)


def test_what_a_scheduler_needs() -> None:
    said = [str(right) for right in needed(WATCHED, ("kube-system", "mine"), writes=True)]
    assert said[:4] == [
        "list pods",
        "watch pods",
        "list csinodes.storage.k8s.io",
        "watch csinodes.storage.k8s.io",
    ]
    assert {"create pods/binding", "patch pods/status", "delete pods"} <= set(said)
    assert said[-3:] == [
        "get leases.coordination.k8s.io/mine",
        "create leases.coordination.k8s.io",
        "update leases.coordination.k8s.io/mine",
    ]


def test_a_dry_run_needs_to_read_and_no_more() -> None:
    assert {right.verb for right in needed(WATCHED, None, writes=False)} == {"list", "watch"}


def test_the_question_names_verb_resource_namespace_and_name() -> None:
    async def main() -> None:
        sent = Sent()
        sent.answer = lambda _: {"status": {"allowed": True}}
        right = Right("create", "pods", subresource="binding", namespace="here", name="p")
        await Permissions(sent, [right]).look()
        assert sent.bodies()[0]["spec"]["resourceAttributes"] == {
            "verb": "create",
            "resource": "pods",
            "subresource": "binding",
            "namespace": "here",
            "name": "p",
        }

    run(main())


def test_a_right_that_is_missing_is_asked_for_more_often_until_it_is_there() -> None:
    clock = VirtualClock()
    allowed = False

    async def main() -> None:
        nonlocal allowed
        sent = Sent()

        def answer(request: Request) -> Any:
            return {"status": {"allowed": allowed or b'"list"' in request.body}}

        sent.answer = answer
        wanted = list(needed((resources.PODS,), None, writes=False))
        permissions = Permissions(sent, wanted)
        looking = asyncio.create_task(permissions.run())
        await asyncio.sleep(10)
        assert [str(right) for right in wanted if permissions.lacks(right)] == ["watch pods"]
        assert len(sent.requests) == 8
        allowed = True
        await asyncio.sleep(50)
        assert not any(permissions.lacks(right) for right in wanted)
        assert len(sent.requests) == 10
        looking.cancel()

    run(main(), clock)


def test_without_an_answer_what_was_known_holds() -> None:
    async def main() -> None:
        sent = Sent()
        sent.answer = lambda _: {"status": {"allowed": False}}
        right = Right("list", "pods")
        permissions = Permissions(sent, [right])
        await permissions.look()
        sent.refuse = lambda _: TimedOut("no answer")
        await permissions.look()
        assert permissions.lacks(right)

    run(main())
