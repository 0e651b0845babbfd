"""Where the time of an attempt goes, by extension point.

The cycle calls ``lap`` at the end of each point; whoever wants to know hands in a timer and reads ``spent`` after the attempt.
For an attempt that found its class known, a point took what bringing it up to date took.
"""

from __future__ import annotations

from collections.abc import Callable


class Laps:
    """A stopwatch; without a timer it stands still and costs next to nothing."""

    __slots__ = ("_at", "_timer", "spent")

    def __init__(self, timer: Callable[[], float] | None = None) -> None:
        self._timer = timer
        self._at = 0.0
        #: Point to seconds, in the order of the attempt.
        self.spent: dict[str, float] = {}

    def begin(self) -> None:
        """An attempt begins."""
        if self._timer is not None:
            self.spent = {}
            self._at = self._timer()

    def lap(self, point: str) -> None:
        """What has been done since the last lap was this point."""
        if self._timer is not None:
            now = self._timer()
            self.spent[point] = self.spent.get(point, 0.0) + now - self._at
            self._at = now
