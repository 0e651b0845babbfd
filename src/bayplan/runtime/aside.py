"""Heavy questions, answered by a copy of the process: the copy may take its time and try what it likes.

``fork`` makes the copy: it shares the memory as it is at that moment, columns, plugins and all, so nothing has to be written
down and read again, plugins need not be installed anywhere else, and what is tried changes nobody's cluster. The copy closes
every connection it has inherited, answers over a pipe, and ends. One question at a time; a pause of the loop of some
milliseconds for the copying of page tables is all that the scheduling notices (measured in decision 0031).

Asked by the debug pages.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import struct
import warnings
from collections.abc import Callable, Iterable
from typing import Final, NoReturn

from bayplan.errors import TimedOut

#: Answers, each better than the one before: whoever has no more patience takes the last.
Work = Callable[[], Iterable[bytes]]

_HEAD: Final = struct.Struct("<Q")
_CHUNK: Final = 1 << 16
_REAP_S: Final = 0.005


class Aside:
    """Answers questions in copies of the process."""

    def __init__(self, patience_s: float = 20.0) -> None:
        self._patience_s = patience_s
        self._turn = asyncio.Lock()

    async def ask(self, work: Work) -> bytes:
        """The last answer that came in time.

        Raises:
            TimedOut: there was none.
        """
        async with self._turn:
            return await _ask(work, self._patience_s)


async def _ask(work: Work, patience_s: float) -> bytes:
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn of forking with threads: the copy uses none of what they may hold.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _answer(work, writing)
    os.close(writing)
    collected = bytearray()
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await _read(reading, collected)
    finally:
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        try:
            await _reap(child)
        except asyncio.CancelledError:
            os.waitpid(child, 0)  # noqa: ASYNC222 - it was killed
            raise
    answer = _last(bytes(collected))
    if answer is None:
        raise TimedOut(f"there was no answer within {patience_s:g} s", sent=True)
    return answer


async def _read(reading: int, collected: bytearray) -> None:
    """Everything until the other end is closed."""
    over = asyncio.Event()

    def take() -> None:
        piece = os.read(reading, _CHUNK)
        collected.extend(piece)
        if not piece:
            over.set()

    loop = asyncio.get_running_loop()
    loop.add_reader(reading, take)
    try:
        await over.wait()
    finally:
        loop.remove_reader(reading)


async def _reap(child: int) -> None:
    # It was killed, if it was not done: this takes no time to speak of.
    while not _is_gone(child):  # noqa: ASYNC110 - a signal handler for children would be the whole process's
        await asyncio.sleep(_REAP_S)


def _is_gone(child: int) -> bool:
    return os.waitpid(child, os.WNOHANG)[0] != 0


def _last(collected: bytes) -> bytes | None:
    """The last answer that is complete."""
    answer, at = None, 0
    while at + _HEAD.size <= len(collected):
        (length,) = _HEAD.unpack_from(collected, at)
        at += _HEAD.size
        if at + length > len(collected):
            break
        answer = collected[at : at + length]
        at += length
    return answer


def _answer(work: Work, writing: int) -> NoReturn:
    """The whole life of the copy."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2, signal.SIGVTALRM):
            signal.signal(number, signal.SIG_DFL)
        _let_go_of_all_but(writing)
        # Collecting would touch, and so copy, every page.
        gc.disable()
        os.nice(10)
        for answer in work():
            _write(writing, _HEAD.pack(len(answer)) + answer)
    finally:
        os._exit(0)


def _let_go_of_all_but(writing: int) -> None:
    """A connection that the scheduler hangs up on must not stay open here; and what a plugin prints is not for its log."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    # Not every number up to the limit: in a container that may be a thousand million.
    for number in map(int, os.listdir("/dev/fd")):
        if number > 2 and number != writing:
            with contextlib.suppress(OSError):  # the listing's own is among them, and closed by now
                os.close(number)


def _write(writing: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(writing, view) :]
