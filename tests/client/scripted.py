"""An HTTP server that answers as a test tells it to, in the loop of the test.

It reads requests itself, byte by byte if need be, so that a test sees what was really sent and may answer with anything,
also with what no server should.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

from bayplan.client.access import Address, ClusterAccess, Credentials
from bayplan.client.credentials import Fixed
from bayplan.client.trust import Trust
from bayplan.testing.virtual_time import settle


@dataclass(frozen=True)
class Received:
    """A request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    #: Which connection it came on; the first is 1.
    connection: int
    #: Whose certificate the client has shown; empty: none.
    peer: str = ""

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return {key: values[0] for key, values in parse_qs(urlsplit(self.target).query).items()}

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Wire:
    """The connection that a request came on, to answer by hand."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @property
    def is_gone(self) -> bool:
        """Whether the client has hung up."""
        return self._reader.at_eof() or self._writer.is_closing()

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def cut(self) -> None:
        """Reset the connection."""
        self._writer.transport.abort()


Answer = Callable[[Received, Wire], Awaitable[bytes | None]]


def reply(status: int = 200, body: Any = b"", *fields: str) -> bytes:
    """An answer with a length; a body that is no bytes is sent as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(data)}", *fields]
    return "\r\n".join([*head, "", ""]).encode() + data


def refusal(code: int, reason: str, message: str = "", *fields: str, **more: Any) -> bytes:
    """An answer that is no."""
    return reply(code, status(code, reason, message, **more), *fields)


def status(code: int, reason: str, message: str = "", **more: Any) -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
        **more,
    }


#: The head of an answer in chunks.
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


@dataclass
class Scripted:
    """The server. ``answer`` gives the bytes to send, or None if it sent them itself; then the connection is closed."""

    answer: Answer
    context: ssl.SSLContext | None = None
    port: int = 0
    requests: list[Received] = field(default_factory=list)
    connections: int = 0

    async def __aenter__(self) -> Scripted:
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", self.port, ssl=self.context
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.hang_up()
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await settle(lambda: not self._tasks)
        await self._server.wait_closed()

    def hang_up(self) -> None:
        """Close every connection, as a server does that restarts."""
        for writer in list(self._writers):
            writer.close()

    def access(
        self,
        credentials: Credentials | None = None,
        trust: Trust | None = None,
        prefix: str = "",
    ) -> ClusterAccess:
        address = Address("127.0.0.1", self.port, secure=trust is not None, prefix=prefix)
        return ClusterAccess(address, credentials or Fixed(), trust)

    @property
    def asked(self) -> list[str]:
        """``GET /api/v1/nodes``, for each request."""
        return [f"{request.method} {request.target}" for request in self.requests]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        task = asyncio.current_task()
        assert task is not None
        self._writers.add(writer)
        self._tasks.add(task)
        try:
            while True:
                request = await _read(reader, number, _peer(writer))
                self.requests.append(request)
                answer = await self.answer(request, Wire(reader, writer))
                if answer is None:
                    return
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            return  # nor is a cancelled one an error: it is the end of the test
        finally:
            self._tasks.discard(task)
            self._writers.discard(writer)
            writer.close()


def _peer(writer: asyncio.StreamWriter) -> str:
    certificate = writer.get_extra_info("peercert") or {}
    subject = dict(pair for part in certificate.get("subject", ()) for pair in part)
    return str(subject.get("commonName", ""))


async def _read(reader: asyncio.StreamReader, number: int, peer: str) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, target, headers, body, number, peer)


def always(answer: bytes) -> Answer:
    """The same to everything."""

    async def give(request: Received, wire: Wire) -> bytes:
        return answer

    return give


def in_turn(*answers: bytes) -> Answer:
    """One after the other; the last one again and again."""
    left = list(answers)

    async def give(request: Received, wire: Wire) -> bytes:
        return left.pop(0) if len(left) > 1 else left[0]

    return give
