"""Evictions under way: a pod stays out of the queue until its victims are told to go.

Kept by whoever deletes the victims; asked by PreEnqueue. The last victim is told apart: once its deletion is seen, the
way is free even if the call that deletes it has not returned.
"""

from __future__ import annotations


class Evictions:
    """Pods, by uid, whose victims are being deleted."""

    def __init__(self) -> None:
        #: Preemptor to the victim that is deleted last; None as long as others come before it.
        self._last: dict[str, str | None] = {}

    def begin(self, preemptor: str) -> None:
        """The first victim is about to be deleted."""
        self._last[preemptor] = None

    def only_left(self, preemptor: str, victim: str) -> None:
        """All victims but this one are deleted."""
        self._last[preemptor] = victim

    def deleted(self, victim: str) -> None:
        """A pod was deleted or its deletion has begun, whoever asked for it."""
        for preemptor in [p for p, last in self._last.items() if last == victim]:
            del self._last[preemptor]

    def end(self, preemptor: str) -> None:
        """All victims are deleted, or their deletion has failed."""
        self._last.pop(preemptor, None)

    def running(self, preemptor: str) -> bool:
        """Whether the pod has to wait."""
        return preemptor in self._last
