"""Desks: each key once, a little later, in slices, and again after a refusal."""

from __future__ import annotations

import asyncio
import itertools

from bayplan.embedded import refusals
from bayplan.embedded.following import COLLECT_S, Desk, Key
from bayplan.testing.virtual_time import run

A, B = ("default", "a"), ("default", "b")


def test_many_changes_are_one_look() -> None:
    async def main() -> None:
        seen: list[Key] = []
        desk = Desk("test", seen.append)
        for key in (A, B, A, A):
            desk.add(key)
        assert seen == []
        await asyncio.sleep(COLLECT_S * 1.5)
        assert seen == [A, B]
        desk.add(A)
        await asyncio.sleep(COLLECT_S * 1.5)
        assert seen == [A, B, A]

    run(main())


def test_more_to_do_lets_others_have_their_turn() -> None:
    async def main() -> None:
        seen: list[Key] = []

        def look(key: Key) -> bool:
            seen.append(key)
            return key == A and seen.count(A) < 3

        desk = Desk("test", look)
        desk.add(A)
        desk.add(B)
        await asyncio.sleep(1)
        assert seen == [A, B, A, A]

    run(main())


def test_a_refused_key_is_tried_again_ever_later() -> None:
    async def main() -> None:
        loop, tries = asyncio.get_running_loop(), list[float]()

        def look(key: Key) -> None:
            tries.append(loop.time())
            if len(tries) < 4:
                raise refusals.forbidden("pods", "", key[1], "exceeded quota")

        desk = Desk("test", look)
        desk.add(A)
        await asyncio.sleep(60)
        waits = [round(later - earlier) for earlier, later in itertools.pairwise(tries)]
        assert waits == [1, 2, 4]

    run(main())


def test_one_that_fails_keeps_nobody_waiting() -> None:
    async def main() -> None:
        loop, seen, trouble = asyncio.get_running_loop(), list[Key](), list[object]()
        loop.set_exception_handler(lambda _, context: trouble.append(context["exception"]))

        def look(key: Key) -> None:
            if key == A:
                raise ZeroDivisionError
            seen.append(key)

        desk = Desk("test", look)
        desk.add(A)
        desk.add(B)
        await asyncio.sleep(1)
        assert seen == [B]
        assert [type(one) for one in trouble] == [ZeroDivisionError]

    run(main())


def test_a_closed_desk_looks_at_nothing() -> None:
    async def main() -> None:
        seen: list[Key] = []
        desk = Desk("test", seen.append)
        desk.add(A)
        desk.add_later(B, 1)
        desk.close()
        desk.add(B)
        await asyncio.sleep(10)
        assert seen == []

    run(main())


def test_a_reminder_replaces_the_one_before() -> None:
    async def main() -> None:
        loop, seen = asyncio.get_running_loop(), list[float]()
        desk = Desk("test", lambda _: seen.append(loop.time()))
        desk.add_later(A, 1)
        desk.add_later(A, 5)
        await asyncio.sleep(10)
        assert [round(one) for one in seen] == [5]

    run(main())
