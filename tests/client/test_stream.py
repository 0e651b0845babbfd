"""Lines off an endless answer: taken as they come, and no more of them held than fits."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest

from bayplan.client import stream as module
from bayplan.client.api import Api
from bayplan.client.connection import Connection
from bayplan.client.stream import Stream
from bayplan.errors import Forbidden, TimedOut, Unreachable
from bayplan.testing.virtual_time import VirtualClock, run, settle
from tests.client.scripted import (
    CHUNKED,
    LAST_CHUNK,
    Answer,
    Received,
    Scripted,
    Wire,
    always,
    chunk,
    refusal,
)


class Mute(asyncio.Transport):
    """The other end of nothing."""

    def write(self, data: object) -> None:
        pass

    def abort(self) -> None:
        pass


def streaming(answer: Answer, play: Callable[[Stream], Awaitable[None]]) -> None:
    clock = VirtualClock()

    async def scene() -> None:
        async with Scripted(answer) as server:
            api = Api.open(server.access(), clock, random.Random(1))
            stream = await api.stream("/watch", silence_s=90)
            try:
                await play(stream)
            finally:
                stream.close()
                await settle()

    run(scene(), clock)


async def everything(stream: Stream) -> list[bytes]:
    lines: list[bytes] = []
    while batch := await stream.batch():
        lines += batch
    return lines


def test_lines_wherever_the_chunks_end() -> None:
    pieces = [b"on", b"e\ntwo\nth", b"ree\n", b"\n", b"fo", b"ur\n"]

    async def play(stream: Stream) -> None:
        assert await everything(stream) == [b"one", b"two", b"three", b"four"]

    streaming(always(CHUNKED + b"".join(chunk(piece) for piece in pieces) + LAST_CHUNK), play)


def test_an_answer_that_breaks_off_is_an_error_after_its_lines() -> None:
    async def answer(request: Received, wire: Wire) -> bytes | None:
        await wire.send(CHUNKED + chunk(b"one\n") + chunk(b"tw"))
        return None

    async def play(stream: Stream) -> None:
        await settle()
        assert await stream.batch() == [b"one"]
        with pytest.raises(Unreachable, match="closed the connection"):
            await stream.batch()

    streaming(answer, play)


def test_garbage_between_chunks_is_an_error() -> None:
    async def answer(request: Received, wire: Wire) -> bytes | None:
        await wire.send(CHUNKED + chunk(b"one\n"))
        await asyncio.sleep(1)
        await wire.send(b"garbage\r\n")
        return None

    async def play(stream: Stream) -> None:
        assert await stream.batch() == [b"one"]
        with pytest.raises(Unreachable, match="does not speak HTTP"):
            await stream.batch()

    streaming(answer, play)


def test_lines_that_come_before_anybody_reads_are_kept() -> None:
    """The head, and right behind it a line: both are read before the task that waits for the head has its turn."""

    async def scene() -> None:
        connection = Connection(1_000)
        connection.connection_made(Mute())
        head = connection.ask(b"", 1e9, until_head=True)
        for piece in (CHUNKED, chunk(b"one\n"), LAST_CHUNK):
            connection.get_buffer(0)[: len(piece)] = piece
            connection.buffer_updated(len(piece))
        await head
        stream = Stream(connection, 90)
        assert await stream.batch() == [b"one"]
        assert await stream.batch() == []
        stream.close()

    run(scene())


def test_silence_ends_it_and_any_byte_puts_that_off() -> None:
    clock_at: list[float] = []

    async def answer(request: Received, wire: Wire) -> bytes | None:
        await wire.send(CHUNKED)
        for _ in range(3):
            await asyncio.sleep(80)
            await wire.send(chunk(b"\n"))
        await asyncio.sleep(1e6)
        return None

    async def play(stream: Stream) -> None:
        with pytest.raises(TimedOut, match="nothing came for 90 s"):
            await stream.batch()
        clock_at.append(asyncio.get_running_loop().time())

    streaming(answer, play)
    assert clock_at == [3 * 80 + 90]


def test_a_reader_who_is_busy_makes_the_server_wait_only_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_ENOUGH", 1_000_000)
    line = b"x" * 9_999 + b"\n"
    sent = 0

    async def answer(request: Received, wire: Wire) -> bytes:
        nonlocal sent
        await wire.send(CHUNKED)
        for _ in range(3_000):
            await wire.send(chunk(line))
            sent += 1
        return LAST_CHUNK

    async def play(stream: Stream) -> None:
        await settle(rounds=20_000)
        # What we hold, and what the kernel does; not all of it.
        assert 100 <= sent < 2_900
        held = sent
        await settle(rounds=2_000)
        assert sent == held
        assert len(await everything(stream)) == 3_000

    streaming(answer, play)


def test_a_busy_reader_whose_connection_breaks_gets_what_has_come_and_then_hears_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_ENOUGH", 100)
    line = b"x" * 999 + b"\n"

    async def answer(request: Received, wire: Wire) -> bytes:
        await wire.send(CHUNKED + chunk(line))
        await asyncio.sleep(1e6)
        return LAST_CHUNK

    async def play(stream: Stream) -> None:
        await settle()
        stream._connection.fail(Unreachable("gone", sent=True))
        await settle()
        assert await stream.batch() == [line[:-1]]
        with pytest.raises(Unreachable, match="gone"):
            await stream.batch()

    streaming(answer, play)


def test_a_refusal_is_an_error_of_its_kind() -> None:
    async def play(stream: Stream) -> None:
        raise AssertionError("there is no stream")

    with pytest.raises(Forbidden, match="WATCH /watch: 403 Forbidden: no"):
        streaming(always(refusal(403, "Forbidden", "no")), play)
