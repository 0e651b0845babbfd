"""How everything that runs inside the embedded cluster hears of changes and finds time to act on them.

``follow`` tells of what is there and of every change after; a ``Desk`` collects keys that somebody has to look at, each
once however often it changes, and looks at them a little later in slices, so that requests are answered in between. Time
is the event loop's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from bayplan.embedded.entries import Change, ChangeType
from bayplan.errors import RequestRefused
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.embedded.store import Store

_log: Final = get_logger(__name__)

#: How long changes are collected before they are looked at.
COLLECT_S: Final = 0.02
#: How long one slice of work may hold the loop.
_SLICE_S: Final = 0.005
#: A refused write is tried again after this, twice as long each time, to the longest.
_RETRY_S: Final = 1.0
_LONGEST_RETRY_S: Final = 60.0

#: Namespace and name; the namespace is empty for what has none.
Key = tuple[str, str]


def follow(store: Store, resource: str, on_change: Callable[[Change], None]) -> Callable[[], None]:
    """Tell of every object of a resource, now and whenever it changes; what is returned ends it."""
    shelf = store.shelves[store.kind(resource).shelf]
    for entry in list(shelf.entries.values()):
        on_change(Change(ChangeType.ADDED, entry, None))
    return shelf.listen(on_change)


class Desk:
    """Keys to look at."""

    def __init__(self, name: str, look: Callable[[Key], bool | None]) -> None:
        self.name = name
        #: Looks at one key; True asks to be called again at once, as there is more of the same to do.
        self._look = look
        self._keys: dict[Key, None] = {}
        self._timer: asyncio.Handle | None = None
        self._later: dict[Key, asyncio.TimerHandle] = {}
        self._refused: dict[Key, float] = {}
        self._closed = False

    def add(self, key: Key) -> None:
        """Look at this soon."""
        if self._closed:
            return
        self._keys[key] = None
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(COLLECT_S, self._work)

    def _wake(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_soon(self._work)

    def add_later(self, key: Key, delay_s: float) -> None:
        """Look at this after a while, whatever happens until then."""
        if self._closed:
            return
        earlier = self._later.pop(key, None)
        if earlier is not None:
            earlier.cancel()
        self._later[key] = asyncio.get_running_loop().call_later(delay_s, self._due, key)

    def close(self) -> None:
        """Look at nothing any more."""
        self._closed = True
        self._keys.clear()
        if self._timer is not None:
            self._timer.cancel()
        for timer in self._later.values():
            timer.cancel()
        self._later.clear()

    def _due(self, key: Key) -> None:
        self._later.pop(key, None)
        self.add(key)

    def _work(self) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + _SLICE_S
        self._timer = None
        try:
            while self._keys:
                key = next(iter(self._keys))
                del self._keys[key]
                if self._look_at(key):
                    self._keys[key] = None
                    break
                if loop.time() >= until:
                    break
        finally:
            # Whatever one key does to us, the others get their turn.
            if self._keys and not self._closed:
                self._wake()

    def _look_at(self, key: Key) -> bool:
        try:
            more = bool(self._look(key))
        except RequestRefused as refusal:
            # A quota, a namespace that is going: it may be otherwise later.
            delay_s = self._refused.get(key, _RETRY_S)
            self._refused[key] = min(delay_s * 2, _LONGEST_RETRY_S)
            self.add_later(key, delay_s)
            namespace, name = key
            _log.info(
                "refused, tried again later",
                desk=self.name,
                namespace=namespace,
                name=name,
                why=refusal.message,
            )
            return False
        self._refused.pop(key, None)
        return more
