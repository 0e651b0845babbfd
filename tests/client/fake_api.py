"""Objects of one kind behind an HTTP server, as the API server lists and watches them; with faults on request."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from tests.client.scripted import CHUNKED, LAST_CHUNK, Received, Wire, chunk, refusal, reply


def pod(name: str, uid: str = "", **more: Any) -> dict[str, Any]:
    """A pod as JSON has it."""
    meta = {"name": name, "namespace": "default", "uid": uid or f"uid-{name}"}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": meta, **more}


@dataclass
class FakeApi:
    """Its ``answer`` is what a ``Scripted`` server needs."""

    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    version: int = 100
    history: list[tuple[int, bytes]] = field(default_factory=list)
    #: Watches from before this are too old.
    compacted: int = 0
    #: Answers to give instead, first come first served: to lists, and to watches.
    list_faults: list[bytes] = field(default_factory=list)
    watch_faults: list[bytes] = field(default_factory=list)
    #: Whether a watch is closed as soon as what it missed is told.
    closes_at_once: bool = False
    #: Whether its connection is cut instead.
    breaks_at_once: bool = False
    #: What discovery knows.
    resources: list[dict[str, str]] = field(default_factory=list)
    lists: list[dict[str, str]] = field(default_factory=list)
    watches: list[dict[str, str]] = field(default_factory=list)
    _open: dict[asyncio.Queue[bytes | None], Wire] = field(default_factory=dict)

    def put(self, obj: dict[str, Any], *, seen: bool = True) -> None:
        """Create or change an object; unseen: nobody who watches is told."""
        name = obj["metadata"]["name"]
        kind = "MODIFIED" if name in self.objects else "ADDED"
        self.objects[name] = self._stamp(obj)
        if seen:
            self._tell(kind, self.objects[name])

    def delete(self, name: str, *, seen: bool = True) -> None:
        """Delete an object."""
        obj = self._stamp(self.objects.pop(name))
        if seen:
            self._tell("DELETED", obj)

    def bookmark(self) -> None:
        """Tell everybody how far we are."""
        self.version += 1
        self._tell("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": str(self.version)}})

    def say(self, line: bytes) -> None:
        """Send any bytes to everybody who watches."""
        for queue in self._open:
            queue.put_nowait(line)

    def end_watches(self) -> None:
        """End every watch in good order."""
        for queue in self._open:
            queue.put_nowait(None)

    def compact(self) -> None:
        """Forget the past."""
        self.version += 1
        self.compacted = self.version
        self.history.clear()

    @property
    def watching(self) -> int:
        """How many watches somebody listens to."""
        return sum(not wire.is_gone for wire in self._open.values())

    async def answer(self, request: Received, wire: Wire) -> bytes | None:
        if not request.path.rstrip("/").endswith("/pods"):
            return reply(200, {"kind": "APIResourceList", "resources": self.resources})
        if request.query.get("watch") == "true":
            self.watches.append(request.query)
            return await self._watch(request, wire)
        self.lists.append(request.query)
        if self.list_faults:
            return self.list_faults.pop(0)
        return self._list(request)

    def _list(self, request: Received) -> bytes:
        begin = int(request.query.get("continue", "0"))
        end = begin + int(request.query["limit"])
        names = sorted(self.objects)
        meta = {"resourceVersion": str(self.version)}
        if end < len(names):
            meta["continue"] = str(end)
        items = [self.objects[name] for name in names[begin:end]]
        return reply(200, {"kind": "PodList", "apiVersion": "v1", "metadata": meta, "items": items})

    async def _watch(self, request: Received, wire: Wire) -> bytes | None:
        if self.watch_faults:
            return self.watch_faults.pop(0)
        since = int(request.query["resourceVersion"])
        if since < self.compacted:
            return refusal(410, "Expired", "too old resource version")
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        await wire.send(CHUNKED)
        if self.breaks_at_once:
            return None
        for version, line in self.history:
            if version > since:
                queue.put_nowait(line)
        if self.closes_at_once:
            queue.put_nowait(None)
        self._open[queue] = wire
        try:
            while (told := await queue.get()) is not None:
                await wire.send(chunk(told))
            return LAST_CHUNK
        finally:
            del self._open[queue]

    def _stamp(self, obj: dict[str, Any]) -> dict[str, Any]:
        self.version += 1
        meta = {**obj["metadata"], "resourceVersion": str(self.version)}
        return {**obj, "metadata": meta}

    def _tell(self, kind: str, obj: dict[str, Any]) -> None:
        line = json.dumps({"type": kind, "object": obj}).encode() + b"\n"
        self.history.append((self.version, line))
        self.say(line)
