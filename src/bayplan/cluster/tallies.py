"""Placed pods by kin, and tallies: the placed pods that match some terms.

Used by ``counts``. What a selector says is asked once per kin; a tally is the sum over its kins.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.matching import KinFile, TermFile, anchors

if TYPE_CHECKING:
    from bayplan.cluster.columns import Column
    from bayplan.cluster.domains import DomainCounts
    from bayplan.cluster.namespaces import Namespaces
    from bayplan.cluster.podinfo import Kin, PodInfo
    from bayplan.cluster.terms import Term

#: Kins that have no placed pods any more, to be remembered: the next replica may be about to come.
IDLE: Final = 1024


class KinCount:
    """The placed pods of one kin."""

    __slots__ = ("ending", "kin", "rows", "tallies")

    def __init__(self, kin: Kin) -> None:
        self.kin = kin
        #: Pods by row: those that stay, and those that are being deleted.
        self.rows: dict[int, int] = {}
        self.ending: dict[int, int] = {}
        #: Tallies that count pods of this kin.
        self.tallies: dict[Tally, None] = {}

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

    __slots__ = (
        "anchors",
        "key",
        "kins",
        "live",
        "per_row",
        "staying",
        "total",
        "used",
        "version",
        "views",
    )

    def __init__(self, key: TallyKey, serial: int) -> None:
        self.key = key
        self.staying = key.staying
        self.anchors = anchors(key.terms)
        self.kins: dict[KinCount, None] = {}
        #: Changes whenever a counted pod comes or goes; never equal for two tallies.
        self.version = serial << 32
        #: False once it was dropped: it counts no more.
        self.live = True
        #: When it was last asked for.
        self.used = 0
        #: Pods counted, wherever they are.
        self.total = 0
        self.views: list[DomainCounts] = []
        #: Pods by row, where somebody asks for that.
        self.per_row: Column[np.int32] | None = None

    def number_of(self, kin: KinCount) -> int:
        """How many pods of a kin are counted, if it is."""
        staying = sum(kin.rows.values())
        return staying if self.staying else staying + sum(kin.ending.values())

    def by_row(self) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        """Rows, perhaps repeated, and the number of pods for each."""
        rows: list[int] = []
        numbers: list[int] = []
        for kin in self.kins:
            for counted in (kin.rows,) if self.staying else (kin.rows, kin.ending):
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


class TallyTable:
    """All kins with placed pods, and all tallies."""

    def __init__(self, namespaces: Namespaces) -> None:
        self._namespaces = namespaces
        #: By number of the kin.
        self.kins: dict[int, KinCount] = {}
        self.tallies: dict[TallyKey, Tally] = {}
        self._kin_file: KinFile[KinCount] = KinFile()
        self._tally_file: TermFile[Tally] = TermFile()
        self._idle: OrderedDict[int, None] = OrderedDict()
        self._serial = 0

    def place(self, pod: PodInfo, row: int, sign: int) -> None:
        """A pod came to a row or left it."""
        kin = self.kins.get(pod.kin.id)
        if kin is None:
            kin = self._enter(pod.kin)
        terminating = pod.terminating
        kin.change(row, sign, terminating=terminating)
        for tally in kin.tallies:
            if not (terminating and tally.staying):
                tally.change(row, sign)
        if not (kin.rows or kin.ending):
            self._idle[pod.kin.id] = None
            if len(self._idle) > IDLE:
                self._leave(self._idle.popitem(last=False)[0])
        elif pod.kin.id in self._idle:
            del self._idle[pod.kin.id]

    def tally(self, terms: tuple[Term, ...], *, staying: bool) -> Tally:
        """The tally of pods that match all terms."""
        key = TallyKey(terms, staying)
        tally = self.tallies.get(key)
        if tally is None:
            self._serial += 1
            tally = self.tallies[key] = Tally(key, self._serial)
            self._tally_file.add(tally, tally.anchors)
            for kin in self._kin_file.candidates(tally.anchors):
                if kin not in tally.kins and self._matches(tally, kin.kin):
                    tally.kins[kin] = kin.tallies[tally] = None
                    tally.total += tally.number_of(kin)
        return tally

    def drop(self, tally: Tally) -> None:
        """Count no more."""
        tally.live = False
        del self.tallies[tally.key]
        self._tally_file.remove(tally, tally.anchors)
        for kin in tally.kins:
            del kin.tallies[tally]

    def namespace_changed(self, name: str) -> None:
        """A namespace has come, gone or been relabelled."""
        for kin in self._kin_file.in_namespace(name):
            for tally in [*kin.tallies, *self._tally_file.candidates(kin.kin)]:
                counted = kin in tally.kins
                if self._matches(tally, kin.kin) is counted:
                    continue
                if counted:
                    del tally.kins[kin], kin.tallies[tally]
                else:
                    tally.kins[kin] = kin.tallies[tally] = None
                tally.total += (-1 if counted else 1) * tally.number_of(kin)
                tally.recount()

    def _enter(self, kin: Kin) -> KinCount:
        found = self.kins[kin.id] = KinCount(kin)
        self._kin_file.add(found, kin)
        for tally in self._tally_file.candidates(kin):
            if self._matches(tally, kin):
                tally.kins[found] = found.tallies[tally] = None
        return found

    def _leave(self, number: int) -> None:
        dropped = self.kins.pop(number)
        self._kin_file.remove(dropped, dropped.kin)
        for tally in dropped.tallies:
            del tally.kins[dropped]

    def _matches(self, tally: Tally, kin: Kin) -> bool:
        covered = self._namespaces.covered
        return all(
            covered(term, kin.namespace) and term.selector.matches(kin.labels)
            for term in tally.key.terms
        )
