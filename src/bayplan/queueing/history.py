"""What has become of a pod so far: where it waited and what brought it there, and how each attempt at it ended.

Kept by ``queueing.scheduling`` (moves) and ``runtime.chronicle`` (attempts) for as long as the pod is pending, and a while
longer in the chronicle; read by whoever explains. Attempts that end alike one after the other are one entry with a count, so
that a pod that was turned down a thousand times takes no more room than one that was turned down once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

#: Entries of each sort; beyond that the oldest but the first go.
_MOST: Final = 32
_FIRST: Final = 1


class Move(NamedTuple):
    """A pod came to a place."""

    #: Monotonic seconds, like all times here.
    at: float
    #: ``active``, ``backoff``, ``unschedulable``, ``gated``.
    place: str
    #: The event that brought it there, as the metric has it.
    event: str


@dataclass(slots=True)
class Attempts:
    """One attempt, or several in a row that ended alike."""

    #: ``scheduled``, ``unschedulable``, ``error``.
    result: str
    #: Why it came to nothing, or where the pod was bound.
    message: str
    #: Those who turned it down.
    plugins: frozenset[str]
    #: The numbers of the first and the last, and when they began.
    first: int
    last: int
    first_at: float
    last_at: float
    #: Of the last: from taking it off the queue to its end.
    seconds: float
    times: int = 1


class History:
    """All of it for one pod."""

    __slots__ = ("attempts", "dropped", "moves")

    def __init__(self) -> None:
        self.moves: list[Move] = []
        self.attempts: list[Attempts] = []
        #: Attempts that are kept no more.
        self.dropped = 0

    def moved(self, at: float, place: str, event: str) -> None:
        """The pod waits somewhere else."""
        moves = self.moves
        moves.append(Move(at, place, event))
        if len(moves) > _MOST:
            del moves[_FIRST]

    def tried(self, attempt: Attempts) -> None:
        """An attempt has ended."""
        if self.attempts:
            before = self.attempts[-1]
            if (before.result, before.message) == (attempt.result, attempt.message):
                before.last, before.last_at = attempt.last, attempt.last_at
                before.seconds, before.plugins = attempt.seconds, attempt.plugins
                before.times += 1
                return
        self.attempts.append(attempt)
        if len(self.attempts) > _MOST:
            self.dropped += self.attempts[_FIRST].times
            del self.attempts[_FIRST]
