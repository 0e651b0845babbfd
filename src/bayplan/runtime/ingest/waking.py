"""Telling the queue what happened, and keeping the time that it took.

Used by all handlers; whoever waits for volumes or claims to change hears of it here too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayplan.clock import Clock
    from bayplan.framework.events import ClusterEvent
    from bayplan.queueing.scheduling import SchedulingQueue
    from bayplan.telemetry.metrics import Metrics


class Waker:
    """From a handled event to the pods that it may wake."""

    def __init__(self, queue: SchedulingQueue, metrics: Metrics, clock: Clock) -> None:
        self._queue = queue
        self._metrics = metrics
        self._clock = clock
        #: Called after every handled event: there may be something to schedule now.
        self.on_change: list[Callable[[], None]] = []

    def wake(self, event: ClusterEvent) -> None:
        """Something happened that may cure a rejection."""
        self._queue.on_event(event, self._clock.monotonic())

    @contextmanager
    def handling(self) -> Iterator[Callable[[ClusterEvent], None]]:
        """Handle one watch event: what is woken by it counts for the time that the handling takes."""
        started = self._clock.monotonic()
        label = ""

        def wake(event: ClusterEvent) -> None:
            nonlocal label
            label = event.label
            self._queue.on_event(event, self._clock.monotonic())

        yield wake
        if label:
            self._metrics.event_handling(label, self._clock.monotonic() - started)
        for changed in self.on_change:
            changed()
