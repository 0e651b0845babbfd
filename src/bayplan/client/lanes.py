"""Lanes: who goes first when there are more requests than connections.

``Gate`` counts what is under way and lets the next one in. A lane has a limit of its own below the total, so a flood of
events or status patches always leaves connections on which a binding can start at once; and a renewal of a lease, on
which everything depends, waits for nobody. Asked by ``client.api`` for every call.
"""

from __future__ import annotations

import asyncio
from collections import deque
from enum import IntEnum
from typing import Final


class Lane(IntEnum):
    """What a request is for; the smaller goes first."""

    BIND = 0
    EVICTION = 1
    LEASE = 2
    STATUS = 3
    EVENT = 4
    READ = 5


#: The most that a lane may have under way, as a share of all connections.
_SHARES: Final = {
    Lane.BIND: 7 / 8,
    Lane.EVICTION: 1 / 2,
    Lane.STATUS: 1 / 2,
    Lane.EVENT: 1 / 2,
    Lane.READ: 1 / 2,
}
#: The part of all connections that is kept free for BIND.
_KEPT_FOR_BIND: Final = 1 / 4
#: Renewals under way at once, on top of all connections.
_LEASES: Final = 2


class Tokens:
    """So many requests per second on average, and so many at once after a pause."""

    def __init__(self, per_second: float, burst: int) -> None:
        self._per_second = per_second
        self._burst = max(float(burst), 1.0)
        self._left = self._burst
        self._at = float("-inf")

    def wait_s(self, now: float) -> float:
        """How long until there is one."""
        if now > self._at:
            self._left = min(self._burst, self._left + (now - self._at) * self._per_second)
            self._at = now
        wait = (1.0 - self._left) / self._per_second
        # A rounding error is not worth waiting for, and could be too short to wait for.
        return wait if wait > 1e-6 else 0.0

    def take(self) -> None:
        """Use one up."""
        self._left -= 1.0


class Gate:
    """Lets requests in, at most ``connections`` at once, the most urgent first."""

    def __init__(self, connections: int, tokens: Tokens | None = None) -> None:
        if connections < 1:
            raise ValueError("there has to be a connection")
        self._tokens = tokens
        self._alarm: asyncio.TimerHandle | None = None
        self._total = connections
        kept = int(connections * _KEPT_FOR_BIND) or (1 if connections > 1 else 0)
        #: The most that all but BIND (and LEASE) may have under way together.
        self._others = connections - kept
        self._limits = [
            _LEASES if lane is Lane.LEASE else max(1, int(connections * _SHARES[lane]))
            for lane in Lane
        ]
        #: Under way, per lane.
        self._busy = [0] * len(Lane)
        #: Under way without LEASE, and without LEASE and BIND.
        self._all_busy = 0
        self._others_busy = 0
        self._waiting: list[deque[asyncio.Future[None]]] = [deque() for _ in Lane]
        self._waiting_count = 0

    def enter_nowait(self, lane: Lane) -> bool:
        """Go in if nobody in the same lane waits and there is room."""
        if self._waiting[lane] or not self._has_room(lane):
            return False
        self._take(lane)
        return True

    async def enter(self, lane: Lane) -> None:
        """Go in, when it is this request's turn."""
        if self.enter_nowait(lane):
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[lane].append(turn)
        self._waiting_count += 1
        self._set_alarm()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self.leave(lane)  # the turn had come, and nobody takes it
            elif turn in self._waiting[lane]:
                self._waiting[lane].remove(turn)
                self._waiting_count -= 1
            raise

    def leave(self, lane: Lane) -> None:
        """Come out, and let in whoever is next."""
        self._busy[lane] -= 1
        if lane is not Lane.LEASE:
            self._all_busy -= 1
            if lane is not Lane.BIND:
                self._others_busy -= 1
        if self._waiting_count:
            self._let_in()

    def statistics(self) -> dict[str, dict[str, int]]:
        """Per lane, how many are under way and how many wait."""
        return {
            lane.name.lower(): {"busy": self._busy[lane], "waiting": len(self._waiting[lane])}
            for lane in Lane
        }

    def _has_room(self, lane: Lane) -> bool:
        if self._busy[lane] >= self._limits[lane]:
            return False
        if lane is Lane.LEASE:
            return True
        if self._all_busy >= self._total or not self._has_token():
            return False
        return lane is Lane.BIND or self._others_busy < self._others

    def _take(self, lane: Lane) -> None:
        self._busy[lane] += 1
        if lane is not Lane.LEASE:
            self._all_busy += 1
            if lane is not Lane.BIND:
                self._others_busy += 1
            if self._tokens is not None:
                self._tokens.take()

    def _let_in(self) -> None:
        for lane in Lane:
            waiting = self._waiting[lane]
            while waiting and self._has_room(lane):
                turn = waiting.popleft()
                self._waiting_count -= 1
                if turn.cancelled():
                    continue
                # Taken here and not when the task wakes up, or a newcomer could slip in between.
                self._take(lane)
                turn.set_result(None)
        self._set_alarm()

    def _has_token(self) -> bool:
        if self._tokens is None:
            return True
        return not self._tokens.wait_s(asyncio.get_running_loop().time())

    def _set_alarm(self) -> None:
        """Where somebody waits for a token only, nobody's coming out will wake him."""
        if self._tokens is None or self._alarm is not None or not self._waiting_count:
            return
        loop = asyncio.get_running_loop()
        wait = self._tokens.wait_s(loop.time())
        if wait:
            self._alarm = loop.call_later(wait, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self._let_in()
