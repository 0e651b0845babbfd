"""``/debug/decisions``: the last attempts, latest first; and an attempt as JSON wherever one is told.

Read from the chronicle.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bayplan.serve.debug.times import Times

if TYPE_CHECKING:
    from bayplan.queueing.history import Attempts, History
    from bayplan.runtime.chronicle import Try
    from bayplan.runtime.scheduler import Scheduler

_PIECE: Final = 100


def attempts_page(scheduler: Scheduler, most: int) -> Iterator[bytes]:
    """The page, in pieces."""
    board = scheduler.board
    times = Times(board.clock)
    rows = (told(attempt, times) for attempt in list(board.chronicle.latest(most)))
    yield b'{"attempts":['
    comma = b""
    while piece := list(islice(rows, _PIECE)):
        yield comma + msgspec.json.encode(piece)[1:-1]
        comma = b","
    yield b"]}\n"


def told(attempt: Try, times: Times) -> dict[str, Any]:
    """One attempt that has ended."""
    found: dict[str, Any] = {
        "time": times.at(attempt.ended_at),
        "pod": attempt.pod.key,
        "profile": attempt.profile,
        "attempt": attempt.number,
        "result": attempt.result,
        "seconds": round(attempt.seconds, 6),
    }
    if attempt.node:
        found["node"] = attempt.node
    if attempt.message and attempt.message != attempt.node:
        found["message"] = attempt.message
    if attempt.plugins:
        found["plugins"] = sorted(attempt.plugins)
    decision = attempt.decision
    if decision is not None and decision.nominated is not None:
        found["nominatedNode"] = decision.nominated.node
    return found


def history_of(history: History, times: Times) -> dict[str, Any]:
    """Where a pod has waited, and all attempts at it."""
    return {
        "moves": [
            {"time": times.at(move.at), "place": move.place, "event": move.event}
            for move in history.moves
        ],
        "attempts": [_run(attempts, times) for attempts in history.attempts],
        "dropped": history.dropped,
    }


def _run(attempts: Attempts, times: Times) -> dict[str, Any]:
    return {
        "first": attempts.first,
        "last": attempts.last,
        "times": attempts.times,
        "firstTime": times.at(attempts.first_at),
        "lastTime": times.at(attempts.last_at),
        "result": attempts.result,
        "message": attempts.message,
        "plugins": sorted(attempts.plugins),
        "seconds": round(attempts.seconds, 6),
    }
