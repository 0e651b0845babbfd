"""Topology domains: which one each row belongs to, and how many pods of a sort are in each.

Used by ``counts``. A domain is a value id of its label key. A map may leave rows out: those that lack another label, or
that a pod would not go to anyway. A map remembers where it has counted a row, so that a node that is relabelled,
comes or goes is moved the next time somebody asks, however often it changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bayplan.cluster.nodes import NodeTable

#: Domain of a row that is in none.
NOWHERE: Final = -1
#: Fewest pods per domain where there is no domain: as large as Kubernetes has it.
NO_DOMAIN: Final = (1 << 31) - 1


class Source(Protocol):
    """A sort of pods that is counted."""

    views: list[DomainCounts]

    def by_row(self) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        """Rows, in any order and perhaps repeated, and how many pods are counted for each."""
        ...


class Admission(Protocol):
    """Which rows a pod would go to, as far as its counting is concerned."""

    #: Equal for rules that admit the same rows.
    key: Hashable
    #: Whether taints decide.
    taints: bool

    def mask(self, rows: NDArray[np.intp] | None) -> NDArray[np.bool_]:
        """For all rows or some: whether they are admitted."""
        ...


class DomainCounts:
    """How many pods of one source are in each domain of one map."""

    __slots__ = ("counts", "live", "map", "source", "total", "used")

    def __init__(self, source: Source, domains: DomainMap) -> None:
        self.source = source
        self.map = domains
        #: False once it was dropped: it counts no more.
        self.live = True
        #: When it was last asked for.
        self.used = 0
        #: int32 by domain, longer than there are domains; the last is 0, so that a row without a domain reads 0.
        self.counts: NDArray[np.int32] = np.zeros(0, np.int32)
        #: Their sum.
        self.total = 0
        self.recount()

    def recount(self) -> None:
        """Count from scratch."""
        rows, numbers = self.source.by_row()
        self.map.lengthen()
        domains = self.map.where[rows]
        counts = np.bincount(domains + 1, numbers, self.map.room + 1)[1:]
        self.counts = counts.astype(np.int32)
        self.total = int(self.counts.sum())

    def change(self, row: int, delta: int) -> None:
        """Pods came to a row or left it."""
        where = self.map.where
        if row < len(where):
            domain = where[row]
            if domain >= 0:
                self.counts[domain] += delta
                self.total += delta

    def move(self, number: int, old: int, new: int) -> None:
        """A row with this many pods has gone from one domain to another."""
        if old >= 0:
            self.counts[old] -= number
            self.total -= number
        if new >= 0:
            self.counts[new] += number
            self.total += number


class DomainMap:
    """The domain of each row for one topology key."""

    def __init__(
        self,
        nodes: NodeTable,
        key: str,
        required: frozenset[str],
        admission: Admission | None,
        *,
        blank: bool,
    ) -> None:
        self._nodes = nodes
        self.key = key
        #: Labels that a row must have, whatever their values.
        self.required = required - {key}
        self.admission = admission
        self.honors_taints = admission is not None and admission.taints
        #: Whether a row without the label counts as one with an empty value.
        self.blank = blank
        #: int32 by row, NOWHERE for rows that are left out.
        self.where: NDArray[np.int32]
        #: Rows by domain.
        self.present: NDArray[np.int32]
        #: Domains that have rows, domains ever seen, and length of arrays by domain.
        self.size = self.known = self.room = 0
        self.counts: list[DomainCounts] = []
        #: False once it was dropped.
        self.live = True
        #: Up to where it has followed the moves, and the taints.
        self.position = 0
        self.taints = 0
        self.used = 0
        self._blank_value = NOWHERE
        #: Rows in order of their domain, and where each domain begins there; made when asked for.
        self._order: NDArray[np.intp] | None = None
        self._starts: NDArray[np.intp]
        self.rebuild()

    def rebuild(self) -> None:
        """Look at every row anew, and count anew."""
        labels = self._nodes.labels
        self._make_room()
        self._blank_value = labels.value_id(self.key, "") if self.blank else NOWHERE
        self.where = self._domains(None)
        self.present = np.bincount(self.where + 1, minlength=self.room + 1)[1:].astype(np.int32)
        self.size = int(np.count_nonzero(self.present))
        self._order = None
        for counts in self.counts:
            counts.recount()

    def lengthen(self) -> None:
        """Have an entry for every row; new ones are in no domain until they are moved."""
        if self._nodes.rows.used > len(self.where):
            longer = np.full(self._nodes.rows.capacity, NOWHERE, np.int32)
            longer[: len(self.where)] = self.where
            self.where = longer

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays and of the counts by it."""
        counts = sum(counts.counts.nbytes for counts in self.counts)
        return self.where.nbytes + self.present.nbytes + counts

    @property
    def outdated(self) -> bool:
        """Whether rows that have not moved must be looked at too."""
        return self.blank and self._blank_value != self._nodes.labels.value_id(self.key, "")

    @property
    def adopts(self) -> bool:
        """Whether rows without the label, if there are any, are in the domain of the empty value."""
        return self._blank_value != NOWHERE

    def lowest(self, counts: NDArray[np.int32]) -> int:
        """The least of some counts by domain, over the domains that have rows."""
        if not self.size:
            return NO_DOMAIN
        counts = counts[: self.known]
        if self.size != self.known:
            counts = counts[self.present[: self.known] > 0]
        return int(counts.min())

    def rows_in(self, domains: NDArray[np.intp]) -> NDArray[np.intp]:
        """The rows of some domains."""
        if self._order is None:
            self._order = np.argsort(self.where, kind="stable")
            nowhere = np.count_nonzero(self.where == NOWHERE)
            self._starts = np.concatenate(([0], np.cumsum(self.present))) + nowhere
        order, starts = self._order, self._starts
        if len(domains) == 1:
            domain = int(domains[0])
            return order[starts[domain] : starts[domain + 1]]
        return np.concatenate([order[starts[d] : starts[d + 1]] for d in domains.tolist()])

    def move(self, row: int, tallied: Mapping[Source, int]) -> None:
        """Look at one row anew; ``tallied`` says how many pods of each source are on it."""
        self._make_room()
        self.lengthen()
        old = int(self.where[row])
        new = int(self._domains(np.array([row]))[0])
        if old == new:
            return
        self.where[row] = new
        self._order = None
        for domain, step in ((old, -1), (new, +1)):
            if domain >= 0:
                before = int(self.present[domain])
                self.present[domain] = before + step
                self.size += (before + step > 0) - (before > 0)
        for counts in self.counts:
            number = tallied.get(counts.source)
            if number:
                counts.move(number, old, new)

    def _domains(self, rows: NDArray[np.intp] | None) -> NDArray[np.int32]:
        labels, at = self._nodes.labels, slice(self._nodes.rows.used) if rows is None else rows
        where = labels.column(self.key)[at].copy()
        if self._blank_value != NOWHERE:
            where[where == NOWHERE] = self._blank_value
        for key in self.required:
            where[labels.column(key)[at] == NOWHERE] = NOWHERE
        where[~self._nodes.alive.data[at]] = NOWHERE
        if self.admission is not None:
            where[~self.admission.mask(rows)] = NOWHERE
        return where

    def _make_room(self) -> None:
        self.known = len(self._nodes.labels.values(self.key))
        if self.known < self.room:
            return
        more = self.known + self.known // 4 + 8 - self.room
        if self.room:
            self.present = np.append(self.present, np.zeros(more, np.int32))
        self.room += more
        for counts in self.counts:
            # A new array: whoever holds the old one keeps what it has read.
            counts.counts = np.append(counts.counts, np.zeros(more, np.int32))
