"""Opening connections to the API server: through a proxy if need be, over TLS, and with somebody at the other end.

Used by ``client.pool`` and, for watches, by ``client.api``.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from typing import Final

from bayplan.client.access import ClusterAccess, Proxy
from bayplan.client.connection import Connection
from bayplan.errors import TimedOut, Unreachable

#: After so long without a byte the kernel asks whether the other side is still there, so often, so far apart.
_KEEPALIVE: Final = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
#: What was sent and is not acknowledged for so long never will be.
_UNACKNOWLEDGED_MS: Final = 60_000

# What asyncio reads into, for each connection over TLS. It has 256 KiB: a burst that opens another fifty connections would cost
# 13 MB. No record of TLS is longer than 16 KiB, and several of them fit into this.
SSLProtocol.max_size = 64 * 1024


class Dialer:
    """Opens connections to one API server."""

    def __init__(self, access: ClusterAccess, *, timeout_s: float, body_limit: int) -> None:
        self._access = access
        self._timeout_s = timeout_s
        self._body_limit = body_limit

    async def dial(self) -> Connection:
        """A new connection.

        Raises:
            Unreachable: nobody is there, or it is not whom we trust.
            CredentialsError: our own certificate cannot be read.
        """
        server = self._access.server
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._dial()
        except TimeoutError:
            raise TimedOut(f"no connection to {server} within {self._timeout_s:.0f} s") from None
        except ssl.SSLCertVerificationError as error:
            raise Unreachable(
                f"{server} has a certificate that cannot be verified: {error.verify_message}",
                refused=True,
            ) from error
        except ConnectionRefusedError as error:
            raise Unreachable(f"nobody listens at {server}", refused=True) from error
        except OSError as error:
            why = error.strerror or str(error) or type(error).__name__
            raise Unreachable(f"no connection to {server}: {why}") from error

    def generation(self) -> int:
        """Of the certificates, after a look whether they have changed."""
        trust = self._access.trust
        if trust is None:
            return 0
        trust.context(self._access.credentials.certificate)
        return trust.generation

    async def _dial(self) -> Connection:
        access, loop = self._access, asyncio.get_running_loop()
        trust, server, proxy = access.trust, access.server, access.proxy
        context = trust.context(access.credentials.certificate) if trust is not None else None
        generation = trust.generation if trust is not None else 0
        name = (trust.server_name if trust is not None else "") or server.host
        connection = Connection(self._body_limit, generation)
        if proxy is None:
            # One address after the other: asyncio's way of trying several at once leaves sockets open when it is cancelled.
            await loop.create_connection(
                lambda: connection,
                server.host,
                server.port,
                ssl=context,
                server_hostname=name if context is not None else None,
            )
        else:
            await loop.create_connection(lambda: connection, proxy.host, proxy.port)
            try:
                await _connect_through(connection, proxy, server.authority)
                if context is not None:
                    await connection.secure(context, name)
            except BaseException:
                connection.close()
                raise
        _keep_alive(connection.transport)
        return connection


async def _connect_through(connection: Connection, proxy: Proxy, authority: str) -> None:
    lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
    if proxy.user:
        user = base64.b64encode(proxy.user.reveal().encode()).decode()
        lines.append(f"Proxy-Authorization: Basic {user}")
    data = "\r\n".join([*lines, "", ""]).encode()
    answer = await connection.ask(data, float("inf"), without_body=True)
    if answer.status != 200:
        raise Unreachable(
            f"the proxy {proxy.host}:{proxy.port} does not connect to {authority}: {answer.status}"
        )
    connection.answered = 0


def _keep_alive(transport: asyncio.Transport) -> None:
    sock: socket.socket | None = transport.get_extra_info("socket")
    if sock is None:
        return
    # Not every system has all of them; without one, the watchdogs above still notice.
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEEPALIVE:
            if hasattr(socket, option):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNACKNOWLEDGED_MS)
