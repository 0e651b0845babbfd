"""A watch: what one client sees of a shelf's changes, as lines of JSON.

Fed by the shelf, read by the HTTP side. A change is judged against the client's selection at once and its line put into
the queue; lines are shared between watches of the same form. Who does not keep up is cut off, as kube-apiserver does:
it can list again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from bayplan.embedded.entries import Change, ChangeType, Entry, at_version
from bayplan.embedded.objects import encode
from bayplan.embedded.refusals import status_of

if TYPE_CHECKING:
    from bayplan.embedded.forms import Form
    from bayplan.embedded.selecting import Selection
    from bayplan.embedded.shelf import Shelf
    from bayplan.errors import RequestRefused

#: Lines that may wait for a slow client, beside those of the state it begins with.
MOST_WAITING: Final = 100_000

#: Bytes that are sent in one go at most.
_BATCH: Final = 1 << 18


class Watch:
    """One client's watch of one shelf."""

    def __init__(self, shelf: Shelf, selection: Selection, form: Form) -> None:
        self.shelf = shelf
        #: Nothing is put into the queue any more; what is in it is still sent.
        self.ended = False
        #: Nothing is sent: a connection that has died and nobody noticed.
        self.frozen = False
        self._selection = selection
        self._form = form
        self._first = True
        self._lines: list[bytes] = []
        self._room = MOST_WAITING
        self._wake = asyncio.Event()
        self._stop = shelf.listen(self._on_change)

    def show(self, entries: Iterable[Entry]) -> None:
        """Begin with the state there is: each object as if it had just been added."""
        for entry in entries:
            self._room += 1
            self._put(line(ChangeType.ADDED, self._object(entry)))

    def replay(self, changes: Iterable[Change]) -> None:
        """Begin in the past."""
        for change in changes:
            seen = self._line_of(change, fresh=self._first)
            if seen:
                self._put(seen)

    def bookmark(self, version: int, *, initial_end: bool = False) -> None:
        """Tell the client that it has seen everything up to a version."""
        self._put(line("BOOKMARK", self._form.bookmark(version, initial_end=initial_end)))

    def fail(self, refusal: RequestRefused) -> None:
        """Tell the client what is wrong, and end."""
        self._put(line("ERROR", encode(status_of(refusal))))
        self.end()

    def put_raw(self, raw: bytes) -> None:
        """Send something that is no watch event."""
        self._put(raw)

    def end(self) -> None:
        """Put nothing into the queue any more."""
        self._stop()
        self.ended = True
        self._wake.set()

    async def lines(self) -> bytes:
        """Wait for lines; empty once the watch has ended."""
        while self.frozen or not (self._lines or self.ended):
            self._wake.clear()
            await self._wake.wait()
        taken, size = 0, 0
        for one in self._lines:
            taken, size = taken + 1, size + len(one)
            if size > _BATCH:
                break
        batch = b"".join(self._lines[:taken])
        del self._lines[:taken]
        return batch

    def thaw(self) -> None:
        """Look again at what is in the queue."""
        self._wake.set()

    def _on_change(self, change: Change) -> None:
        if self._first and self._form.headed:
            seen = self._line_of(change, fresh=True)
        else:
            key = (self._form.key, self._seen_as(change))
            seen = change.recall(key) or self._line_of(change)
            if seen:
                change.remember(key, seen)
        if seen:
            self._put(seen)

    def _seen_as(self, change: Change) -> ChangeType | None:
        """What the change is to this client; None where it does not see it."""
        if self._selection.everything:
            return change.type
        before = change.previous is not None and self._selection.matches(change.previous)
        if change.type is ChangeType.DELETED:
            return ChangeType.DELETED if before else None
        if self._selection.matches(change.entry):
            return ChangeType.MODIFIED if before else ChangeType.ADDED
        return ChangeType.DELETED if before else None

    def _line_of(self, change: Change, *, fresh: bool = False) -> bytes:
        kind = self._seen_as(change)
        if kind is None:
            return b""
        entry = change.entry
        if kind is ChangeType.DELETED and change.type is not ChangeType.DELETED:
            # It left the selection: the client sees what it knew, under the version of the change.
            entry = at_version(self.shelf.name, change.previous or entry, change.version)
        return line(kind, self._form.frame(entry, first=fresh))

    def _object(self, entry: Entry) -> bytes:
        return self._form.frame(entry, first=self._first)

    def _put(self, raw: bytes) -> None:
        if self.ended:
            return
        self._first = False
        self._lines.append(raw)
        if len(self._lines) > self._room:
            self._lines.clear()
            self.end()
        self._wake.set()


def line(kind: str, obj: bytes) -> bytes:
    """A watch event."""
    return b'{"type":"' + kind.encode() + b'","object":' + obj + b"}\n"
