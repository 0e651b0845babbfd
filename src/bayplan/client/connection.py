"""One connection to the API server: a request goes out, its answer comes in, and only then the next one.

Made by ``client.dialing``, kept by ``client.pool``, asked by ``client.api``; ``client.stream`` reads on where an answer
does not end. A ``BufferedProtocol`` with a parser of its own costs a fifth of what a general HTTP client does
(docs/decisions/0012-client.md).
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Final, cast

from bayplan.client.wire import Answer, NotHttp
from bayplan.errors import Unreachable

#: Read at once: of an ordinary answer all, of a list or a burst of events much.
_READ_BYTES: Final = 64 * 1024


class Connection(asyncio.BufferedProtocol):
    """A connection that is busy with one request, or idle."""

    def __init__(self, body_limit: int, generation: int = 0) -> None:
        #: Of the certificates that it was opened with.
        self.generation = generation
        self.answer = Answer(body_limit)
        #: How many answers have come.
        self.answered = 0
        #: When the answer has to be there, and since when nobody asks; in the loop's time.
        self.deadline = float("inf")
        self.idle_since = 0.0
        self.last_heard = 0.0
        #: Takes over where an answer is read piece by piece: called at every piece and at the end.
        self.on_piece: Callable[[], None] | None = None
        #: Why it cannot be used any more; None while it can.
        self.lost: str | None = None
        self._loop = asyncio.get_running_loop()
        self._buffer = memoryview(bytearray(_READ_BYTES))
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Answer] | None = None
        self._until_head = False
        self._was_hung_up = False

    @property
    def is_usable(self) -> bool:
        return self.lost is None

    @property
    def went_stale(self) -> bool:
        """Whether the server hung up, after earlier answers, before anything of this one came: it was about to anyway."""
        return self._was_hung_up and self.answered > 0 and not self.answer.has_begun

    @property
    def transport(self) -> asyncio.Transport:
        assert self._transport is not None, "not connected yet"
        return self._transport

    def ask(
        self, data: bytes, deadline: float, *, until_head: bool = False, without_body: bool = False
    ) -> asyncio.Future[Answer]:
        """Send a request; the future has the answer, or ``Unreachable``.

        Args:
            data: the request, head and body.
            deadline: in the loop's time; whoever keeps the connection sees to it.
            until_head: do not wait for the body of a good answer.
            without_body: the answer has none.
        """
        if self.lost is not None:
            raise Unreachable(self.lost)
        self.answer.begin(without_body=without_body)
        self.deadline = deadline
        self._until_head = until_head
        self._waiter = waiter = self._loop.create_future()
        self.transport.write(data)
        return waiter

    def fail(self, error: Unreachable) -> None:
        """Give up on the answer, and on the connection with it."""
        self._lose(error)
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """Hang up."""
        self._lose(Unreachable("the connection was closed", sent=True))
        if self._transport is not None:
            # Not close(): over TLS that waits for the other side, which may not be there any more.
            self._transport.abort()

    async def secure(self, context: ssl.SSLContext, name: str) -> None:
        """Go on over TLS, after a proxy has connected us through."""
        made = await self._loop.start_tls(self.transport, self, context, server_hostname=name)
        if made is None:
            raise Unreachable("the connection broke while TLS was agreed on")
        self._transport = made

    # asyncio.BufferedProtocol -----------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.last_heard = self.idle_since = self._loop.time()

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.last_heard = self._loop.time()
        try:
            self.answer.feed(bytes(self._buffer[:nbytes]))
        except NotHttp as error:
            self.fail(Unreachable(f"the server does not speak HTTP: {error}", sent=True))
            return
        if self.on_piece is not None:
            self.on_piece()
        elif self._waiter is None:
            if self._until_head:
                return  # the body of a stream, which its reader will find when it has its turn
            # An answer to nothing that was asked: whatever comes next would be taken for the wrong one.
            self.close()
        elif self.answer.is_complete or (self._until_head and self.answer.status == 200):
            self._answered()

    def eof_received(self) -> None:
        """The other side has closed; with None the transport does too."""

    def connection_lost(self, exc: Exception | None) -> None:
        self._was_hung_up = self.lost is None
        if self.answer.close() and self._waiter is not None:
            self._answered()
        why = str(exc) if exc is not None and str(exc) else "the server closed the connection"
        self._lose(Unreachable(why, sent=True))
        # Transports over TLS hold their protocol: a circle that only the garbage collector would find, long after.
        self._transport = None

    def _answered(self) -> None:
        waiter, self._waiter = self._waiter, None
        self.answered += 1
        if waiter is not None and not waiter.done():
            waiter.set_result(self.answer)

    def _lose(self, error: Unreachable) -> None:
        if self.lost is None:
            self.lost = error.message
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)
        if self.on_piece is not None:
            self.on_piece()
