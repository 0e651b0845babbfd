"""Moments of the monotonic clock as people read them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayplan.clock import Clock


class Times:
    """Turns moments into dates and ages, as of one moment."""

    def __init__(self, clock: Clock) -> None:
        self.now = clock.monotonic()
        self._wall = clock.now()

    def at(self, moment: float) -> str:
        """RFC 3339 with milliseconds, in UTC."""
        return iso(self._wall - (self.now - moment))

    def age(self, moment: float) -> float:
        """Seconds since then, to the millisecond."""
        return round(self.now - moment, 3)


def iso(seconds: float) -> str:
    """Seconds since 1970 as RFC 3339 with milliseconds, in UTC."""
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
