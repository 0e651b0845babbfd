"""A foreign extender: a small HTTP server written from the contract alone, that shares no code with ours.

It keeps what it was sent and answers what a test told it to.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

#: From arguments to what is encoded as the answer.
Verb = Callable[[dict[str, Any]], Any]


class Foreign:
    """An extender at ``url``."""

    def __init__(self) -> None:
        self.port = 0
        self.scheme = "http"
        #: What is answered, by verb.
        self.verbs: dict[str, Verb] = {}
        #: Every call: the verb and the arguments.
        self.calls: list[tuple[str, dict[str, Any]]] = []
        #: Written instead of an answer, byte by byte, where it is set.
        self.raw: bytes | None = None
        #: Awaited before an answer is given.
        self.before: Callable[[dict[str, Any]], Awaitable[None]] | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/scheduler"

    def asked(self, verb: str) -> list[dict[str, Any]]:
        """The arguments of all calls of a verb."""
        return [arguments for called, arguments in self.calls if called == verb]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while await self._one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        line, *headers = head.split("\r\n")
        method, path, _ = line.split(" ")
        fields = dict(header.lower().split(": ", 1) for header in headers if header)
        assert method == "POST"
        assert fields["content-type"] == "application/json"
        body = json.loads(await reader.readexactly(int(fields["content-length"])))
        verb = path.removeprefix("/scheduler/")
        self.calls.append((verb, body))
        if self.before is not None:
            await self.before(body)
        if self.raw is not None:
            writer.write(self.raw)
            await writer.drain()
            return False
        answer = json.dumps(self.verbs[verb](body)).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(answer), answer))
        await writer.drain()
        return True

    def hang_up(self) -> None:
        for writer in self._writers:
            writer.transport.abort()


@asynccontextmanager
async def foreign_extender(tls: ssl.SSLContext | None = None) -> AsyncIterator[Foreign]:
    """An extender that runs as long as the block."""
    foreign = Foreign()
    server = await asyncio.start_server(foreign.serve, "127.0.0.1", 0, ssl=tls)
    foreign.port = server.sockets[0].getsockname()[1]
    foreign.scheme = "http" if tls is None else "https"
    try:
        yield foreign
    finally:
        server.close()
        foreign.hang_up()
        await asyncio.sleep(0)


def only(*names: str) -> Verb:
    """Filter: these nodes pass, and it says of the others that they do not please."""

    def answer(arguments: dict[str, Any]) -> Any:
        given = names_in(arguments)
        return {
            "NodeNames": [name for name in given if name in names],
            "FailedNodes": {name: "does not please" for name in given if name not in names},
        }

    return answer


def names_in(arguments: dict[str, Any]) -> list[str]:
    if arguments["NodeNames"] is not None:
        return list(arguments["NodeNames"])
    return [node["metadata"]["name"] for node in arguments["Nodes"]["items"]]
