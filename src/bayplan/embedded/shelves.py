"""All shelves and the one counter of versions that they share.

The lowest layer of the store: whoever writes here has decided already what is written. Every write gets the next version
and is told to the journal, if there is one, before anybody else hears of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bayplan.embedded.entries import Entry
from bayplan.embedded.objects import Object, metadata
from bayplan.embedded.shelf import WINDOW, Shelf

#: Told of each write: the shelf, the entry, and whether it is gone with it.
Journal = Callable[[str, Entry, bool], None]


class Shelves:
    """Every object of the API, by resource."""

    def __init__(self, *, window: int = WINDOW) -> None:
        #: The version of the newest write.
        self.version = 1
        self.journal: Journal | None = None
        self._window = window
        self._shelves: dict[str, Shelf] = {}

    def __getitem__(self, name: str) -> Shelf:
        """The shelf of a resource, made when it is first asked for."""
        found = self._shelves.get(name)
        if found is None:
            found = self._shelves[name] = Shelf(name, window=self._window)
        return found

    def __iter__(self) -> Iterator[Shelf]:
        return iter(list(self._shelves.values()))

    def put(self, name: str, obj: Object) -> Entry:
        """Write an object; it gets the next version."""
        self.version += 1
        entry = Entry(name, obj, self.version)
        if self.journal is not None:
            self.journal(name, entry, False)  # noqa: FBT003
        self[name].put(entry)
        return entry

    def remove(self, name: str, obj: Object) -> Entry:
        """Take an object away; the entry is its last state, under the version of its deletion."""
        self.version += 1
        entry = Entry(name, obj, self.version)
        if self.journal is not None:
            self.journal(name, entry, True)  # noqa: FBT003
        self[name].remove(entry)
        return entry

    def load(self, name: str, obj: Object) -> None:
        """Put back what was there before the server started."""
        version = int(metadata(obj)["resourceVersion"])
        self.version = max(self.version, version)
        self[name].load(Entry(name, obj, version))

    def forget(self, version: int | None = None) -> None:
        """Compact: drop the history up to a version, by default all of it."""
        for shelf in self:
            shelf.forget(self.version if version is None else version)
