"""Waiting longer after each failure, and not in step with others.

As client-go's reflectors do: 0.8 s, doubling to 30 s, each wait stretched by up to its own length, and from the start
again after two quiet minutes. Used by informers.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Pace:
    """The numbers of a backoff."""

    first_s: float = 0.8
    longest_s: float = 30.0
    factor: float = 2.0
    #: A wait is drawn from [w, w * (1 + jitter)].
    jitter: float = 1.0
    #: So long without a failure, and it begins with ``first_s`` again.
    reset_after_s: float = 120.0


#: An informer's.
REFLECTOR: Final = Pace()


class Backoff:
    """How long to wait now."""

    def __init__(self, rng: random.Random, pace: Pace = REFLECTOR) -> None:
        self._rng = rng
        self._pace = pace
        self._next_s = pace.first_s
        self._last = float("-inf")

    def next(self, now: float) -> float:
        """The wait after a failure at ``now``."""
        pace = self._pace
        if now - self._last > pace.reset_after_s:
            self._next_s = pace.first_s
        self._last = now
        wait = self._next_s
        self._next_s = min(wait * pace.factor, pace.longest_s)
        return min(wait * (1.0 + pace.jitter * self._rng.random()), pace.longest_s)

    def reset(self) -> None:
        """Begin from the start: things work again."""
        self._next_s = self._pace.first_s
