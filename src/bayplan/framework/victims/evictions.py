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
        #: Preemptor to the pods that were seen to leave before it was known who is the last.
        self._left: dict[str, set[str]] = {}

    def begin(self, preemptor: str) -> None:
        """The first victim is about to be deleted."""
        self._last[preemptor] = None
        self._left[preemptor] = set()

    def only_left(self, preemptor: str, victim: str) -> bool:
        """All victims but this one are deleted; False where it has left by itself, so that nothing more will be seen of it."""
        if victim in self._left.pop(preemptor, ()):
            self._last.pop(preemptor, None)
            return False
        self._last[preemptor] = victim
        return True

    def deleted(self, victim: str) -> None:
        """A pod was deleted or its deletion has begun, whoever asked for it."""
        for left in self._left.values():
            left.add(victim)
        for preemptor in [p for p, last in self._last.items() if last == victim]:
            del self._last[preemptor]

    def end(self, preemptor: str) -> None:
        """All victims are deleted, or their deletion has failed."""
        self._last.pop(preemptor, None)
        self._left.pop(preemptor, None)

    def running(self, preemptor: str) -> bool:
        """Whether the pod has to wait."""
        return preemptor in self._last
