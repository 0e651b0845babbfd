"""``/debug/queue``: every pod that waits and every pod that is on its way, with what it waits for and for how long.

Read from the scheduling queue and the chronicle. The listing is written in pieces; pods move meanwhile, and each is shown as it
is when its turn comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bayplan.queueing.entry import Place
from bayplan.serve.debug.times import Times

if TYPE_CHECKING:
    from bayplan.queueing.entry import Queued
    from bayplan.runtime.chronicle import Try
    from bayplan.runtime.scheduler import Scheduler

#: Pods per piece of the answer: about half a millisecond.
_PIECE: Final = 100


def queue_page(scheduler: Scheduler, most: int) -> Iterator[bytes]:
    """The page, in pieces; at most so many waiting pods."""
    board = scheduler.board
    times = Times(board.clock)
    waiting = list(board.queue.pods())
    in_flight = [under_way(attempt, times) for attempt in board.chronicle.under_way()[:most]]
    head = {
        "time": times.at(times.now),
        "counts": {**board.queue.pending(), "inFlight": len(in_flight)},
        "unschedulable": by_plugin(scheduler),
        "inFlight": in_flight,
        "total": len(waiting),
    }
    yield msgspec.json.encode(head)[:-1] + b',"pods":['
    rows = islice((waits(each, times) for each in waiting if each.place is not Place.OUT), most)
    comma = b""
    while piece := list(islice(rows, _PIECE)):
        yield comma + msgspec.json.encode(piece)[1:-1]
        comma = b","
    yield b"]}\n"


def by_plugin(scheduler: Scheduler) -> list[dict[str, Any]]:
    """How many pods wait for each plugin, the most first; a pod counts once for each that turned it down."""
    counts = scheduler.board.queue.unschedulable_by_plugin()
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [
        {"plugin": plugin, "profile": profile, "pods": pods} for (plugin, profile), pods in ordered
    ]


def waits(queued: Queued, times: Times) -> dict[str, Any]:
    """One waiting pod."""
    attempts = queued.history.attempts
    row: dict[str, Any] = {
        "pod": queued.pod.key,
        "profile": queued.profile,
        "place": queued.place.value,
        "priority": queued.pod.priority,
        "attempts": queued.attempts,
        "age": times.age(_since(queued)),
        "inPlaceFor": times.age(queued.history.moves[-1].at if queued.history.moves else times.now),
        "plugins": sorted(queued.rejectors),
    }
    if queued.gated:
        row["gate"] = queued.gating_plugin
    if attempts:
        row["reason"] = attempts[-1].message
    if queued.place is Place.BACKOFF and queued.backoff_until is not None:
        row["backoffEnds"] = times.at(queued.backoff_until)
    return row


def _since(queued: Queued) -> float:
    moves = queued.history.moves
    return moves[0].at if moves else queued.queued_at


def under_way(attempt: Try, times: Times) -> dict[str, Any]:
    """One pod that is out."""
    return {
        "pod": attempt.pod.key,
        "profile": attempt.profile,
        "stage": attempt.stage,
        "node": attempt.node,
        "attempt": attempt.number,
        "age": times.age(attempt.began),
    }
