"""A copy of the process answers: in a real loop, since a copy takes real time."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bayplan.errors import TimedOut
from bayplan.runtime.aside import Aside, Work


def test_what_the_copy_does_happens_to_the_copy_alone() -> None:
    mine = ["as it was"]

    def work() -> Iterator[bytes]:
        mine.append("changed")
        yield f"{len(mine)} {os.getpid()}".encode()

    count, pid = asyncio.run(Aside().ask(work)).split()
    assert (int(count), mine) == (2, ["as it was"])
    assert int(pid) != os.getpid()


def test_the_last_answer_counts_however_long_it_is() -> None:
    long = b"x" * 1_000_000
    assert asyncio.run(Aside().ask(lambda: [b"short", long])) == long


def test_out_of_patience_the_best_so_far_is_taken() -> None:
    def work() -> Iterator[bytes]:
        yield b"half"
        while True:
            pass

    assert asyncio.run(Aside(patience_s=0.1).ask(work)) == b"half"


def test_without_any_answer_it_says_so() -> None:
    def work() -> Iterator[bytes]:
        yield str(1 // len(os.environ.get("NOT SET", ""))).encode()

    with pytest.raises(TimedOut):
        asyncio.run(Aside(patience_s=5).ask(work))


def test_one_question_at_a_time() -> None:
    def work(number: int) -> Work:
        return lambda: [b"%d" % number]

    async def main() -> list[bytes]:
        aside = Aside()
        return await asyncio.gather(*(aside.ask(work(number)) for number in range(4)))

    assert asyncio.run(main()) == [b"0", b"1", b"2", b"3"]


def test_connections_stay_with_the_original() -> None:
    """The copy holds no end of a pipe that the original has: it would keep the other side from seeing the end."""
    reading, writing = os.pipe()

    def work() -> Iterator[bytes]:
        try:
            os.write(writing, b"still open")
        except OSError:
            yield b"closed"

    try:
        assert asyncio.run(Aside().ask(work)) == b"closed"
    finally:
        os.close(reading)
        os.close(writing)


def test_what_a_plugin_prints_there_harms_nobody(capfd: pytest.CaptureFixture[str]) -> None:
    def work() -> Iterator[bytes]:
        os.write(1, b"on its standard output\n")
        os.write(2, b"and on the other\n")
        yield b"done"

    assert asyncio.run(Aside().ask(work)) == b"done"
    assert capfd.readouterr() == ("", "")


def test_whoever_gives_up_asking_leaves_no_copy_behind(tmp_path: Path) -> None:
    note = tmp_path / "pid"

    def work() -> Iterator[bytes]:
        fresh = tmp_path / "fresh"
        fresh.write_text(str(os.getpid()))
        fresh.rename(note)
        while True:
            yield b"still at it"

    async def main() -> None:
        asking = asyncio.create_task(Aside().ask(work))
        while not note.exists():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(main())
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)
