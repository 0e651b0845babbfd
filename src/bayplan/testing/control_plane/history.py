"""What happened to the objects of a collection, and waiting until something has.

A thread of its own watches, and watches again after every interruption, so that a test sees what came to pass while it did
something else. ``wait`` returns at the event that makes its condition true: nothing is asked for again and again.

Events that pass while the watch is down are lost, as they are for every client; the objects themselves are listed again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from bayplan.clock import Clock, SystemClock
from bayplan.errors import ApiError, TimedOut, Unreachable
from bayplan.testing.control_plane.api import Api, Lines, Obj, query

#: Before the next try while the server is away.
RETRY_S = 0.1

#: A bookmark comes every minute; a watch that is silent for longer is dead.
SILENCE_S = 90.0

Objects = dict[str, Obj]


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a watch; ``LISTED`` for an object that a list brought."""

    type: str
    object: Obj

    @property
    def key(self) -> str:
        return key_of(self.object)


class History:
    """Watches ``path`` from the moment it is entered until it is left."""

    def __init__(self, api: Api, path: str, clock: Clock | None = None) -> None:
        self.path = path
        self._api = api
        self._clock = clock or SystemClock()
        self._changed = threading.Condition()
        self._objects: Objects = {}
        self._events: list[Event] = []
        self._lists = 0
        self._failure: BaseException | None = None
        self._ended = threading.Event()
        self._lines: Lines | None = None
        self._thread = threading.Thread(target=self._run, name=f"history of {path}", daemon=True)

    def __enter__(self) -> History:
        self._thread.start()
        self.wait(lambda _: self._lists > 0, "the first list")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        with self._changed:
            lines = self._lines
        if lines is not None:
            lines.hang_up()
        self._thread.join()

    @property
    def objects(self) -> Objects:
        """By ``namespace/name``, as last seen."""
        with self._changed:
            return dict(self._objects)

    @property
    def events(self) -> list[Event]:
        """All so far, oldest first."""
        with self._changed:
            return list(self._events)

    def wait(
        self, condition: Callable[[Objects], Any], what: str, timeout_s: float = 30.0
    ) -> Objects:
        """The objects, once ``condition`` holds of them; ``TimedOut`` says that ``what`` did not come."""
        deadline = self._clock.monotonic() + timeout_s
        with self._changed:
            while not condition(self._objects):
                if self._failure is not None:
                    raise self._failure
                left = deadline - self._clock.monotonic()
                if left <= 0:
                    raise TimedOut(f"{self.path}: no {what} within {timeout_s:g} s")
                self._changed.wait(left)
            return dict(self._objects)

    # In the thread --------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        version = ""
        while not self._ended.is_set():
            try:
                version = self._watch(version or self._list())
            except Unreachable:
                self._ended.wait(RETRY_S)
            except ApiError as refused:
                # Too old (410), or a server that is just starting or ending: from the list again.
                version = ""
                if refused.status < 500 and refused.status not in {401, 403, 410, 429}:
                    self._fail(refused)
                    return
                self._ended.wait(RETRY_S)
            except Exception as broken:  # noqa: BLE001 - told to whoever waits
                self._fail(broken)
                return

    def _list(self) -> str:
        answer = self._api.get(self.path)
        with self._changed:
            before, self._objects = self._objects, {key_of(obj): obj for obj in answer["items"]}
            for key, gone in before.items():
                if key not in self._objects:
                    self._events.append(Event("DELETED", gone))
            self._events.extend(Event("LISTED", obj) for obj in self._objects.values())
            self._lists += 1
            self._changed.notify_all()
        version: str = answer["metadata"]["resourceVersion"]
        return version

    def _watch(self, version: str) -> str:
        """Follow from ``version`` until the server has said all it wanted; where to go on."""
        path = query(
            self.path, watch=1, resourceVersion=version, allowWatchBookmarks=1, timeoutSeconds=600
        )
        with self._api.lines(path, SILENCE_S) as lines:
            with self._changed:
                self._lines = lines
            if self._ended.is_set():
                return version
            try:
                for line in lines:
                    version = self._take(line)
            except Unreachable:
                pass  # an answer that broke off is one that ended
            finally:
                with self._changed:
                    self._lines = None
        return version

    def _take(self, line: Obj) -> str:
        obj = line["object"]
        if line["type"] == "ERROR":
            raise ApiError(obj.get("code", 500), obj.get("reason", ""), obj.get("message", ""))
        version: str = obj["metadata"]["resourceVersion"]
        if line["type"] != "BOOKMARK":
            event = Event(line["type"], obj)
            with self._changed:
                if event.type == "DELETED":
                    self._objects.pop(event.key, None)
                else:
                    self._objects[event.key] = obj
                self._events.append(event)
                self._changed.notify_all()
        return version

    def _fail(self, reason: BaseException) -> None:
        with self._changed:
            self._failure = reason
            self._changed.notify_all()


def key_of(obj: Obj) -> str:
    """``namespace/name``, or the name alone."""
    metadata = obj["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])
