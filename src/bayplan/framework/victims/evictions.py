"""Evictions under way: a pod stays out of the queue until its victims go.

Kept by whoever deletes the victims; asked by PreEnqueue. The last victim is told apart: once it is seen to leave, the way
is free, be it before the call that deletes it has returned or after.
"""

from __future__ import annotations

from collections.abc import Set


class Evictions:
    """Pods, by uid, whose victims are being deleted."""

    def __init__(self) -> None:
        #: Preemptor to the victim that is deleted last.
        self._last: dict[str, str] = {}
        #: The other way round; several may want the same one gone.
        self._of_last: dict[str, set[str]] = {}
        #: Preemptors all of whose victims but the last are deleted.
        self._nearly: set[str] = set()
        #: Preemptors whose last victim was seen to leave before its turn came.
        self._overtaken: set[str] = set()

    @property
    def waiting(self) -> Set[str]:
        """The pods that have to wait: a view that goes with what happens."""
        return self._last.keys()

    def begin(self, preemptor: str, last: str) -> None:
        """The first victim is about to be deleted; ``last`` is the one whose turn comes after all others."""
        self.end(preemptor)
        self._last[preemptor] = last
        self._of_last.setdefault(last, set()).add(preemptor)

    def only_last_left(self, preemptor: str) -> bool:
        """All victims but the last are deleted; False where it has left by itself, so that nothing more will be seen of it."""
        if preemptor in self._overtaken:
            self.end(preemptor)
            return False
        self._nearly.add(preemptor)
        return True

    def deleted(self, victim: str) -> None:
        """A pod was deleted or its deletion has begun, whoever asked for it."""
        for preemptor in tuple(self._of_last.get(victim, ())):
            if preemptor in self._nearly:
                self.end(preemptor)
            else:
                self._overtaken.add(preemptor)

    def waits_for(self, preemptor: str, last: str) -> bool:
        """Whether the pod has to wait until this victim has left."""
        return self._last.get(preemptor) == last

    def end(self, preemptor: str) -> None:
        """The last victim has left, or will not."""
        last = self._last.pop(preemptor, None)
        if last is None:
            return
        preemptors = self._of_last[last]
        preemptors.discard(preemptor)
        if not preemptors:
            del self._of_last[last]
        self._nearly.discard(preemptor)
        self._overtaken.discard(preemptor)

    def running(self, preemptor: str) -> bool:
        """Whether the pod has to wait."""
        return preemptor in self._last
