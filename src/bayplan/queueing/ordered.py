"""A heap of pods from which any pod can be taken: by key, then first come first served.

A pod that is taken out of the middle leaves a dead entry behind, which is skipped when it comes up; the heap is rebuilt when
the dead outnumber the living. Used for the ready pods and for those that back off.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from bayplan.queueing.entry import Queued

#: A heap smaller than this is not worth rebuilding.
_SMALL: Final = 64


class Ordered:
    """Pods by key."""

    def __init__(self) -> None:
        self._heap: list[tuple[Any, int]] = []
        #: By ticket: those that are really in.
        self._living: dict[int, Queued] = {}
        self._next_ticket = 0

    def push(self, queued: Queued, key: Any) -> None:
        """Put a pod in."""
        ticket = queued.ticket = self._next_ticket
        self._next_ticket += 1
        self._living[ticket] = queued
        heapq.heappush(self._heap, (key, ticket))

    def remove(self, queued: Queued) -> None:
        """Take a pod out, wherever it stands."""
        del self._living[queued.ticket]
        queued.ticket = -1
        if len(self._heap) > 2 * len(self._living) + _SMALL:
            self._heap = [entry for entry in self._heap if entry[1] in self._living]
            heapq.heapify(self._heap)

    def is_astray(self, queued: Queued) -> bool:
        """Whether the pod belongs elsewhere by now: never, there is one heap."""
        return False

    def peek(self) -> Queued | None:
        """The first pod."""
        while self._heap:
            queued = self._living.get(self._heap[0][1])
            if queued is not None:
                return queued
            heapq.heappop(self._heap)
        return None

    def __len__(self) -> int:
        return len(self._living)

    def __iter__(self) -> Iterator[Queued]:
        """All pods, in no particular order."""
        return iter(self._living.values())

    def __contains__(self, queued: Queued) -> bool:
        return self._living.get(queued.ticket) is queued
