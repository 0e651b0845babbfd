"""The only reader of time.

Whoever needs the time takes a ``Clock`` and asks it; the core does not even do that, it takes the
time as an argument. So a test, or a replay of last week's cluster, decides what time it is.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Two times, as floats in seconds: one to show to people, one to measure with."""

    def now(self) -> float:
        """Seconds since 1970-01-01 UTC. May jump when the machine's clock is set."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment. Never goes back; only differences mean anything."""


class SystemClock:
    """The machine's own clocks."""

    __slots__ = ()

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()
