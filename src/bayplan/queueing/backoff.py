"""Pods that failed and wait for a moment: one second after the first failure, doubling to ten.

Waits end at whole seconds, so that pods whose waits end in the same second come back together and in QueueSort's order. A
pod that was turned down may be popped before its time when nothing else is ready; one that met an error may not: the API
server, say, needs the pause. (upstream: backoff_queue.go, SchedulerPopFromBackoffQ is on in 1.36)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from bayplan.queueing.ordered import Ordered

if TYPE_CHECKING:
    from bayplan.queueing.entry import Queued, QueueSettings

#: Backoffs end with the window that they fall into.
WINDOW_S: Final = 1.0

#: Far more doublings than it takes to reach any limit; a float has no room for thousands.
_MAX_DOUBLINGS: Final = 60


class Backoff:
    """The pods that back off."""

    def __init__(self, settings: QueueSettings) -> None:
        self._initial_s = settings.initial_backoff_s
        self._max_s = settings.max_backoff_s
        self._rejected = Ordered()
        self._broken = Ordered()

    # --- how long ------------------------------------------------------------------------------------------------------

    def set_end(self, queued: Queued) -> None:
        """Work out when the pod may be tried again, from its failures and the time of the last one."""
        failures = queued.error_count or queued.unschedulable_count
        if not failures or not self._max_s:
            queued.backoff_until = None
            return
        wait_s = self._initial_s * 2.0 ** min(failures - 1, _MAX_DOUBLINGS)
        queued.backoff_until = _window(queued.queued_at + min(wait_s, self._max_s))

    def is_over(self, queued: Queued, now: float) -> bool:
        """Whether the pod has waited long enough."""
        return queued.backoff_until is None or queued.backoff_until < _window(now)

    def next_end(self) -> float | None:
        """When the next backoff is over."""
        firsts = (self._rejected.peek(), self._broken.peek())
        ends = [f.backoff_until for f in firsts if f is not None and f.backoff_until is not None]
        return min(ends) + WINDOW_S if ends else None

    # --- the pods ------------------------------------------------------------------------------------------------------

    def add(self, queued: Queued, sort_key: Any) -> None:
        """Let a pod wait."""
        if queued.rejectors:
            self._rejected.push(queued, (_end(queued), sort_key))
        else:
            self._broken.push(queued, (_end(queued),))

    def remove(self, queued: Queued) -> None:
        """Take a pod out."""
        (self._rejected if queued in self._rejected else self._broken).remove(queued)

    def first(self) -> Queued | None:
        """The pod that may be popped before its time."""
        return self._rejected.peek()

    def over(self, now: float) -> Iterator[Queued]:
        """The pods that have waited long enough; each is to be removed before the next is asked for."""
        for pods in (self._rejected, self._broken):
            while (first := pods.peek()) is not None and self.is_over(first, now):
                yield first

    def __len__(self) -> int:
        return len(self._rejected) + len(self._broken)

    def __iter__(self) -> Iterator[Queued]:
        yield from self._rejected
        yield from self._broken

    def __contains__(self, queued: Queued) -> bool:
        return queued in self._rejected or queued in self._broken


def _window(at: float) -> float:
    return math.floor(at / WINDOW_S) * WINDOW_S


def _end(queued: Queued) -> float:
    return queued.backoff_until if queued.backoff_until is not None else -math.inf
