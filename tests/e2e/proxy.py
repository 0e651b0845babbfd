"""A wire between the scheduler and the API server that can be cut, stopped up, or made to lose what comes back.

It passes bytes on and understands none of them: what is said is encrypted. Runs in a thread of its own.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import urlsplit

import yaml

T = TypeVar("T")

_PIECE = 65536


class Proxy:
    """From entry to exit, in front of one address of this machine. Outlives whoever is at either end."""

    def __init__(self) -> None:
        self._port = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loses_answers = False
        #: So many pieces of answers and watches got lost.
        self.lost = 0
        self._stopped_up: set[asyncio.StreamWriter] = set()

    def __enter__(self) -> Proxy:
        self._thread.start()
        self._server = self._do(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def kubeconfig(self, original: Path) -> Path:
        """The same kubeconfig, through here."""
        config = yaml.safe_load(original.read_text(encoding="utf-8"))
        for entry in config["clusters"]:
            self._port = urlsplit(entry["cluster"]["server"]).port or 443
            entry["cluster"]["server"] = f"https://127.0.0.1:{self.port}"
        path = original.with_name(f"proxied-{original.name}")
        path.write_text(yaml.safe_dump(config), encoding="utf-8")
        path.chmod(0o600)
        return path

    # What goes wrong ------------------------------------------------------------------------------------------------------

    def cut(self) -> None:
        """Break all connections; new ones are taken."""
        self._do(self._cut())

    def lose_answers(self) -> None:
        """From now on what the API server says gets lost; what is said to it arrives."""
        self._do(self._set(loses=True))

    def stop_up(self) -> None:
        """Nothing gets through any more on the connections there are, and nobody hangs up; new ones work."""
        self._do(self._stop_up())

    def mend(self) -> None:
        """Cut what is broken; from now on all is well."""
        self._do(self._set(loses=False))
        self.cut()

    # In the thread --------------------------------------------------------------------------------------------------------

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _set(self, *, loses: bool) -> None:
        self._loses_answers = loses

    async def _stop_up(self) -> None:
        self._stopped_up |= self._writers

    async def _cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _end(self) -> None:
        self._server.close()
        await self._cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            writer.transport.abort()
            return
        ends = {writer, back}
        self._writers |= ends
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pass_on(reader, back, answers=False))
                both.create_task(self._pass_on(there, writer, answers=True))
        except* OSError:
            pass
        finally:
            self._writers -= ends
            self._stopped_up -= ends
            for end in ends:
                end.transport.abort()

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers: bool
    ) -> None:
        while piece := await reader.read(_PIECE):
            if writer in self._stopped_up:
                continue
            if answers and self._loses_answers:
                self.lost += 1
                continue
            writer.write(piece)
            await writer.drain()
        raise ConnectionResetError
