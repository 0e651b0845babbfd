"""One resource's objects, their recent history, and who listens.

Fed by the store, which decides what is written; read by lists, watches and controllers. Knows versions and keys but no
Kubernetes semantics. The recent past is kept as changes: a list at an older version is made by taking changes back, and
a watch that starts in the past replays them. What is older than the window is forgotten, and asking for it is
refused with 410.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from bayplan.embedded import refusals
from bayplan.embedded.entries import Change, ChangeType, Entry
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.embedded.selecting import Selection

_log = get_logger(__name__)

#: Changes that a resource remembers, unless told otherwise.
WINDOW: Final = 20_000

Listener = Callable[[Change], None]


class Shelf:
    """The objects of one resource."""

    def __init__(self, name: str, *, window: int = WINDOW) -> None:
        self.name = name
        self.entries: dict[str, Entry] = {}
        self._window = window
        self._history: deque[Change] = deque()
        #: The newest version whose change is forgotten; watches can begin at it, not before.
        self._forgotten = 0
        self._sorted: list[str] = []
        self._in_order = True
        self._listeners: list[Listener] = []
        self._undelivered: deque[Change] = deque()
        self._delivering = False

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def oldest(self) -> int:
        """The oldest version that can be asked for."""
        return self._forgotten

    # Writing

    def put(self, entry: Entry) -> Change:
        """Keep a new version of an object and tell everyone."""
        previous = self.entries.get(entry.key)
        self.entries[entry.key] = entry
        if previous is None:
            self._sorted.append(entry.key)
            self._in_order = False
            return self._record(Change(ChangeType.ADDED, entry, None))
        return self._record(Change(ChangeType.MODIFIED, entry, previous))

    def remove(self, last: Entry) -> Change:
        """Forget an object; ``last`` is its final state under the version of its deletion."""
        previous = self.entries.pop(last.key)
        index = bisect_left(self.keys(), last.key)
        del self._sorted[index]
        return self._record(Change(ChangeType.DELETED, last, previous))

    def load(self, entry: Entry) -> None:
        """Put an object back that was there before the server started; nobody is told."""
        if entry.key not in self.entries:
            self._sorted.append(entry.key)
            self._in_order = False
        self.entries[entry.key] = entry

    def forget(self, version: int) -> None:
        """Drop the history up to and including a version, as a compaction does."""
        self._forgotten = max(self._forgotten, version)
        while self._history and self._history[0].version <= version:
            self._history.popleft()

    def _record(self, change: Change) -> Change:
        self._history.append(change)
        if len(self._history) > self._window:
            self._forgotten = self._history.popleft().version
        self._undelivered.append(change)
        # A listener may write: what it writes is told after what is being told now, so all see one order.
        if not self._delivering:
            self._deliver()
        return change

    def _deliver(self) -> None:
        self._delivering = True
        try:
            while self._undelivered:
                change = self._undelivered.popleft()
                for listener in tuple(self._listeners):
                    try:
                        listener(change)
                    except Exception as error:  # noqa: BLE001 - the others have to hear of it too
                        _log.exception("A listener failed", error, resource=self.name)
                change.forget()
        finally:
            self._delivering = False

    # Reading

    def keys(self) -> list[str]:
        """All keys in order. The shelf's own list: not to be changed."""
        if not self._in_order:
            self._sorted.sort()
            self._in_order = True
        return self._sorted

    def select(self, selection: Selection, after: str = "") -> Iterator[Entry]:
        """The objects of a selection in order, from behind a key on."""
        name = selection.only_name
        if name is not None and selection.namespace:
            entry = self.entries.get(f"{selection.namespace}/{name}")
            if entry is not None and entry.key > after and selection.matches(entry):
                yield entry
            return
        keys = self.keys()
        prefix = f"{selection.namespace}/" if selection.namespace else ""
        start = bisect_left(keys, prefix)
        if after:
            start = max(start, bisect_left(keys, after + "\0"))
        everything = selection.everything
        for index in range(start, len(keys)):
            key = keys[index]
            if prefix and not key.startswith(prefix):
                return
            entry = self.entries[key]
            if everything or selection.matches(entry):
                yield entry

    def since(self, version: int) -> list[Change]:
        """The changes after a version, oldest first.

        Raises:
            RequestRefused: 410, if some of them are forgotten.
        """
        if version < self._forgotten:
            raise refusals.too_old(version, self._forgotten)
        found: deque[Change] = deque()
        for change in reversed(self._history):
            if change.version <= version:
                break
            found.appendleft(change)
        return list(found)

    def as_of(self, version: int) -> Shelf:
        """The shelf as it was at a version, by taking back what has happened since.

        Raises:
            RequestRefused: 410, if that is too long ago.
        """
        changes = self.since(version)
        if not changes:
            return self
        past = Shelf(self.name, window=0)
        past.entries = dict(self.entries)
        for change in reversed(changes):
            if change.previous is None:
                past.entries.pop(change.entry.key, None)
            else:
                past.entries[change.entry.key] = change.previous
        past._sorted = sorted(past.entries)
        return past

    # Listening

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` with every change from now on, until the function returned is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None
