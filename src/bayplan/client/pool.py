"""The connections to the API server that are kept: idle ones for the next request, busy ones with an eye on the time.

How many there may be is ``client.lanes``' business. Used by ``client.api``.
"""

from __future__ import annotations

import asyncio
from typing import Final

from bayplan.client.connection import Connection
from bayplan.client.dialing import Dialer
from bayplan.errors import CredentialsError, TimedOut
from bayplan.telemetry.log import get_logger

_log = get_logger(__name__)

#: How often overdue answers are looked for. One timer for all connections costs nothing; one per request would.
_SWEEP_S: Final = 0.25
#: A connection that was idle for longer was opened for a burst that is over; and something on the way may have forgotten it.
_IDLE_S: Final = 15.0
#: How often certificates are looked at while connections last.
_CERTIFICATES_S: Final = 60.0


class Pool:
    """Connections to one API server."""

    def __init__(self, dialer: Dialer) -> None:
        self._dialer = dialer
        #: The last one used is the first to be used again, so that the others fall idle and are closed.
        self._idle: list[Connection] = []
        self._busy: set[Connection] = set()
        self._generation = 0
        self._looked_at = float("-inf")
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    def take_idle(self) -> Connection | None:
        """A connection that was used before, if there is one."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable and connection.generation == self._generation:
                self._busy.add(connection)
                return connection
            connection.close()
        return None

    async def take_new(self) -> Connection:
        """A connection that was not used before."""
        connection = await self._dialer.dial()
        if connection.generation != self._generation:
            self._renew(connection.generation)
        self._busy.add(connection)
        if self._timer is None:
            self._looked_at = self._loop.time()
            self._timer = self._loop.call_later(_SWEEP_S, self._sweep)
        return connection

    def give_back(self, connection: Connection) -> None:
        """The answer was read, or will not be."""
        self._busy.discard(connection)
        if (
            connection.is_usable
            and connection.answer.is_complete
            and connection.answer.keep_alive
            and connection.generation == self._generation
        ):
            connection.idle_since = self._loop.time()
            self._idle.append(connection)
        else:
            connection.close()

    def look_at_certificates(self) -> None:
        """If other certificates hold by now, no connection made with the old ones is used again."""
        try:
            generation = self._dialer.generation()
        except CredentialsError as error:
            _log.warning("Cannot read the certificates again", err=str(error))
            return
        if generation != self._generation:
            self._renew(generation)

    def close(self) -> None:
        """Hang up everywhere."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for connection in [*self._idle, *self._busy]:
            connection.close()
        self._idle.clear()

    def statistics(self) -> dict[str, int]:
        """How many connections there are."""
        return {"idle": len(self._idle), "busy": len(self._busy)}

    def _sweep(self) -> None:
        now = self._loop.time()
        overdue = [each for each in self._busy if each.deadline <= now]
        for connection in overdue:
            connection.fail(TimedOut("no answer in time", sent=True))
        while self._idle and now - self._idle[0].idle_since > _IDLE_S:
            self._idle.pop(0).close()
        if now - self._looked_at > _CERTIFICATES_S:
            self._looked_at = now
            self.look_at_certificates()
        if self._idle or self._busy:
            self._timer = self._loop.call_later(_SWEEP_S, self._sweep)
        else:
            self._timer = None

    def _renew(self, generation: int) -> None:
        self._generation = generation
        for connection in self._idle:
            connection.close()
        self._idle.clear()
