"""Waiting for what nobody announces: that a program is ready, that a permission has reached the API server.

It can only be asked for again and again. For objects there is ``history``, which waits for the event itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from bayplan.clock import Clock, SystemClock
from bayplan.errors import ControlPlaneError, TimedOut
from bayplan.testing.control_plane.processes import Process

#: Between two questions.
PAUSE_S = 0.05


def wait_until(
    condition: Callable[[], object],
    what: str,
    timeout_s: float = 30.0,
    clock: Clock | None = None,
) -> None:
    """Return once ``condition`` holds; ``TimedOut`` says that ``what`` did not come."""
    clock = clock or SystemClock()
    deadline = clock.monotonic() + timeout_s
    while not condition():
        if clock.monotonic() > deadline:
            raise TimedOut(f"no {what} within {timeout_s:g} s")
        threading.Event().wait(PAUSE_S)


def wait_ready(
    ready: Callable[[], object], process: Process, timeout_s: float, clock: Clock | None = None
) -> None:
    """Return once ``ready`` says so; raise with the end of its log if the process ends first, or takes too long."""

    def ready_or_ended() -> object:
        process.must_run()
        return ready()

    try:
        wait_until(ready_or_ended, "sign", timeout_s, clock)
    except TimedOut:
        raise ControlPlaneError(
            f"{process.name} is not ready after {timeout_s:g} s; {process.log} ends with:\n{process.tail()}"
        ) from None
