"""Events do not last: after an hour they go, as in a real cluster, so that a long run does not fill the memory.

Started by the server; looks once a minute.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from bayplan.embedded.objects import seconds_of, text_at

if TYPE_CHECKING:
    from bayplan.embedded.store import Store

#: How long an event is kept.
LIFETIME_S: Final = 3600.0
#: How often somebody looks.
INTERVAL_S: Final = 60.0


class EventExpiry:
    """Takes old events away."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Look now and then from now on."""
        self._timer = asyncio.get_running_loop().call_later(INTERVAL_S, self._tick)

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _tick(self) -> None:
        self.expire()
        self.start()

    def expire(self) -> None:
        """Delete every event that has had its time since it was last written."""
        oldest_s = self._store.clock.now() - LIFETIME_S
        for entry in list(self._store.shelves["events"].entries.values()):
            event = entry.decode()
            # A series is written again and again, and lives as long as it goes on.
            last = text_at(event, "series", "lastObservedTime") or text_at(event, "lastTimestamp")
            seen_s = seconds_of(last or text_at(event, "metadata", "creationTimestamp"))
            if seen_s is not None and seen_s < oldest_s:
                self._store.delete("events", entry.name, entry.namespace)
