"""Addresses that are listened on, and the connections there, within bounds: so many, and none that is slow for ever.

Used by both servers, that of the scheduler's pages and that of the extender; what is answered is theirs to say.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from bayplan.errors import BayplanError

_HANDSHAKE_S: Final = 10.0
_CONNECTIONS: Final = 256
#: Requests that are being answered get so long when the server stops.
_GOODBYE_S: Final = 5.0

Handle = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class ListenError(BayplanError):
    """An address that cannot be listened on."""


class Listeners:
    """All that one server listens on."""

    def __init__(self, patience_s: float) -> None:
        #: How long a connection may be idle, or a request's head take.
        self._patience_s = patience_s
        self._open: list[tuple[asyncio.Server, web.Server]] = []

    async def listen(
        self, handle: Handle, host: str, port: int, tls: ssl.SSLContext | None, remedy: str
    ) -> int:
        """Answer requests to this address; returns the port, which is chosen where ``port`` is 0.

        Raises:
            ListenError: the address is taken or not ours; it ends with the remedy.
        """
        # Nothing of aiohttp's own in the log: what a stranger sends is no error of ours.
        http = web.Server(
            handle, access_log=None, keepalive_timeout=self._patience_s, lingering_time=2.0
        )

        def connection() -> asyncio.BaseProtocol:
            return http() if len(http.connections) < _CONNECTIONS else _HangUp()

        handshake_s = _HANDSHAKE_S if tls is not None else None
        try:
            server = await asyncio.get_running_loop().create_server(
                connection, host, port, ssl=tls, ssl_handshake_timeout=handshake_s
            )
        except OSError as error:
            raise ListenError(
                f"cannot listen on {host}:{port}: {error.strerror}; {remedy}"
            ) from error
        self._open.append((server, http))
        chosen: int = server.sockets[0].getsockname()[1]
        return chosen

    async def close(self) -> None:
        """Let those finish who are being answered, and hang up on the rest."""
        for server, http in self._open:
            server.close()
            http.pre_shutdown()
            await http.shutdown(_GOODBYE_S)
            await server.wait_closed()
        self._open.clear()


class _HangUp(asyncio.Protocol):
    """One connection too many."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.abort()  # type: ignore[attr-defined]
