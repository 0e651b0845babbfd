"""What was overwritten, so that a recent decision can be shown as it was.

Written by the stages of an evaluation; read by ``cycle.record``. Keeping old values costs a small tuple per changed
row; copying all columns for every decision would cost more than the decision.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bayplan.cycle.filtering import Verdict
    from bayplan.cycle.scoring import Score, Values


class OldVerdicts(NamedTuple):
    """Some rows of a plugin's verdicts, before."""

    part: Verdict
    rows: NDArray[np.intp] | int
    numbers: NDArray[np.int16] | int


class OldIndex(NamedTuple):
    """All verdicts of a plugin, before."""

    part: Verdict
    verdicts: NDArray[np.int16] | None


class OldScores(NamedTuple):
    """Some rows of a plugin's scores, before."""

    part: Score
    rows: NDArray[np.intp] | int
    raw: NDArray[np.int64] | int
    weighted: NDArray[np.int64] | int


class OldColumn(NamedTuple):
    """All scores of a plugin, before; ``shown`` is False where its PreScore had nothing to say."""

    part: Score
    raw: Values
    weighted: Values
    shown: bool


class OldWeights(NamedTuple):
    """All weighted scores of a plugin, before; its raw scores stayed, and go on being replaced in place."""

    part: Score
    weighted: Values


Entry = OldVerdicts | OldIndex | OldScores | OldColumn | OldWeights


class UndoLog:
    """Overwritten values, newest last, with positions that survive trimming."""

    __slots__ = ("_base", "entries")

    def __init__(self) -> None:
        self.entries: deque[Entry] = deque()
        self._base = 0

    @property
    def end(self) -> int:
        """The position after the newest entry."""
        return self._base + len(self.entries)

    def add(self, entry: Entry) -> None:
        """Note what is about to be overwritten."""
        self.entries.append(entry)

    def back_to(self, position: int) -> list[Entry]:
        """The entries to undo, newest first, to see things as they were at ``position``."""
        count = self.end - position
        if count > len(self.entries):
            raise LookupError("this decision is too old to be shown")
        newest_first = reversed(self.entries)
        return [next(newest_first) for _ in range(count)]

    def trim(self, position: int) -> None:
        """Nobody will ask for anything before ``position`` any more."""
        while self._base < position and self.entries:
            self.entries.popleft()
            self._base += 1
