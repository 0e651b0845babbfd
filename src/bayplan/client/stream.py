"""An answer without an end, line by line: a watch.

Bytes are taken off the connection as they come, whether or not anybody reads the lines, so that the API server does not
cut off a reader who was busy for a moment; only after ``_ENOUGH`` bytes is it made to wait. Opened by ``client.api``, read
by ``client.informer``.
"""

from __future__ import annotations

import asyncio
from typing import Final

from bayplan.client.connection import Connection
from bayplan.client.wire import Lines
from bayplan.errors import TimedOut, Unreachable

#: Unread bytes that are held at most. With four kilobytes per event this is eight thousand events.
_ENOUGH: Final = 32 * 1024 * 1024
#: etcd takes no object beyond 1.5 MB unless told to; JSON can make several times that of it.
_LINE_LIMIT: Final = 32 * 1024 * 1024


class Stream:
    """The lines of one answer."""

    def __init__(self, connection: Connection, silence_s: float) -> None:
        self._connection = connection
        self._silence_s = silence_s
        self._lines = Lines(_LINE_LIMIT)
        self._unread: list[bytes] = []
        self._unread_bytes = 0
        self._paused = False
        self._error: Unreachable | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(silence_s, self._listen)
        connection.on_piece = self._on_piece
        self._on_piece()

    async def batch(self) -> list[bytes]:
        """The lines that have come since, at least one; none at all if the server ended the answer.

        Raises:
            TimedOut: nothing came for so long that nobody may be there any more.
            Unreachable: the connection broke.
        """
        while not self._unread:
            if self._error is not None:
                raise self._error
            if self._connection.answer.is_complete:
                return []
            self._waiter = self._loop.create_future()
            await self._waiter
        lines, self._unread, self._unread_bytes = self._unread, [], 0
        if self._paused:
            self._paused = False
            if self._connection.is_usable:
                self._connection.transport.resume_reading()
        return lines

    @property
    def skipped(self) -> int:
        """Lines that were too long to be kept."""
        return self._lines.skipped

    def close(self) -> None:
        """Hang up."""
        self._timer.cancel()
        self._connection.on_piece = None
        self._connection.close()

    def _on_piece(self) -> None:
        connection = self._connection
        piece = connection.answer.take()
        if piece:
            lines = self._lines.feed(piece)
            self._unread_bytes += len(piece)
            self._unread += lines
        if connection.lost is not None and not connection.answer.is_complete:
            self._error = self._error or Unreachable(connection.lost, sent=True)
        elif self._unread_bytes > _ENOUGH and not self._paused and connection.is_usable:
            self._paused = True
            connection.transport.pause_reading()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _listen(self) -> None:
        """Hang up if nothing has come for too long; else look again when that could be."""
        if self._connection.lost is not None or self._connection.answer.is_complete:
            return
        now = self._loop.time()
        left = self._connection.last_heard + self._silence_s - now
        if left > 0 or self._paused:
            self._timer = self._loop.call_later(max(left, self._silence_s / 4), self._listen)
            return
        self._error = TimedOut(f"nothing came for {self._silence_s:.0f} s", sent=True)
        self._connection.fail(self._error)
