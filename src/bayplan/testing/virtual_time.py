"""An event loop whose time jumps: waiting takes no time, and always the same course.

Public, for tests of anything that waits: ``run(main())`` runs a coroutine to its end, and whenever nothing is left to do
but wait, the clock is put forward to the next alarm. Real sockets work as long as both ends live in this loop.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

#: Where virtual time begins, in seconds since 1970: 2026-01-01T00:00:00Z.
START = 1_767_225_600.0


class VirtualClock:
    """A clock that only the loop, or a test by hand, puts forward (``bayplan.clock.Clock``)."""

    def __init__(self, now: float = START) -> None:
        self._start = now
        self._passed = 0.0

    def now(self) -> float:
        """Seconds since 1970."""
        return self._start + self._passed

    def monotonic(self) -> float:
        """Seconds that have passed."""
        return self._passed

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._passed += seconds


class _JumpingSelector(selectors.DefaultSelector):
    """Looks for what is ready; instead of waiting for more it puts the clock forward."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            # Nothing but another thread (a name lookup, an executor) can go on: really wait.
            return super().select(None)
        self._clock.advance(timeout)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on a virtual clock."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        super().__init__(_JumpingSelector(clock))

    def time(self) -> float:
        return self.clock.monotonic()


def run(main: Coroutine[Any, Any, T], clock: VirtualClock | None = None) -> T:
    """Run a coroutine in virtual time."""
    made = clock or VirtualClock()
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(made)) as runner:
        return runner.run(main)


async def settle(until: Callable[[], bool] | None = None, rounds: int = 200) -> None:
    """Let everything run that needs no time to pass, at most so many rounds, or until something holds."""
    for _ in range(rounds):
        if until is not None and until():
            return
        await asyncio.sleep(0)
    if until is not None and not until():
        raise AssertionError(f"does not come about within {rounds} rounds of the loop")
