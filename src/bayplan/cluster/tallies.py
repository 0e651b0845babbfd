"""Kins with pods on rows, and tallies: the pods that match some terms.

Used by ``counts``. What a selector says is asked once per kin; a tally is the sum over its kins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.matching import anchors

if TYPE_CHECKING:
    from bayplan.cluster.carriers import Carrier
    from bayplan.cluster.columns import Column
    from bayplan.cluster.domains import DomainCounts
    from bayplan.cluster.podinfo import Kin
    from bayplan.cluster.terms import Term


class KinCount:
    """The placed pods of one kin, and who is interested in them."""

    __slots__ = ("carriers", "ending", "generation", "kin", "rows", "tallies")

    def __init__(self, kin: Kin) -> None:
        self.kin = kin
        #: Pods by row: those that stay, and those that are being deleted.
        self.rows: dict[int, int] = {}
        self.ending: dict[int, int] = {}
        #: Tallies that count pods of this kin.
        self.tallies: dict[Tally, None] = {}
        #: Carried terms that speak of pods of this kin; None until somebody asks.
        self.carriers: dict[Carrier, None] | None = None
        #: Changes with the set of ``carriers``; never equal for two KinCounts.
        self.generation = 0

    def change(self, row: int, delta: int, *, terminating: bool) -> None:
        """A pod of this kin came or went."""
        rows = self.ending if terminating else self.rows
        number = rows.get(row, 0) + delta
        if number:
            rows[row] = number
        else:
            del rows[row]


class TallyKey(NamedTuple):
    """What a tally counts: pods that match every term; with ``staying``, only those that are not being deleted."""

    terms: tuple[Term, ...]
    staying: bool


class Tally:
    """The placed pods that match some terms."""

    __slots__ = ("anchors", "key", "kins", "live", "per_row", "total", "used", "version", "views")

    def __init__(self, key: TallyKey, serial: int) -> None:
        self.key = key
        self.anchors = anchors(key.terms)
        self.kins: dict[KinCount, None] = {}
        #: Changes whenever a counted pod comes or goes; never equal for two tallies.
        self.version = serial << 32
        #: False once it was dropped: it counts no more.
        self.live = True
        self.used = 0
        #: Pods counted, wherever they are.
        self.total = 0
        self.views: list[DomainCounts] = []
        #: Pods by row, where somebody asks for that.
        self.per_row: Column[np.int32] | None = None

    def number_of(self, kin: KinCount) -> int:
        """How many pods of a kin are counted, if it is."""
        staying = sum(kin.rows.values())
        return staying if self.key.staying else staying + sum(kin.ending.values())

    def by_row(self) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        """Rows, perhaps repeated, and the number of pods for each."""
        rows: list[int] = []
        numbers: list[int] = []
        for kin in self.kins:
            for counted in (kin.rows,) if self.key.staying else (kin.rows, kin.ending):
                rows.extend(counted)
                numbers.extend(counted.values())
        return np.array(rows, np.intp), np.array(numbers, np.int32)

    def change(self, row: int, delta: int) -> None:
        """A counted pod came or went."""
        self.version += 1
        self.total += delta
        for view in self.views:
            view.change(row, delta)
        if self.per_row is not None:
            self.per_row.data[row] += delta

    def recount(self) -> None:
        """Count from scratch."""
        self.version += 1
        for view in self.views:
            view.recount()
        if self.per_row is not None:
            rows, numbers = self.by_row()
            self.per_row.data[:] = 0
            np.add.at(self.per_row.data, rows, numbers)
