"""Affinity terms that placed pods carry: which terms there are, and on which rows their carriers run.

Used by ``counts``. A pod that is to be placed must keep away from carriers whose anti-affinity speaks of it, and likes
or dislikes to be near carriers whose other terms do.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.matching import anchors
from bayplan.cluster.terms import compile_terms
from bayplan.errors import SelectorError

if TYPE_CHECKING:
    from bayplan.cluster.domains import DomainCounts
    from bayplan.cluster.podinfo import Shape
    from bayplan.cluster.terms import PlacedTerm


class Role(IntEnum):
    """What a carried term asks for."""

    ANTI_AFFINITY = 0
    AFFINITY = 1
    PREFERRED = 2


class Carrier:
    """One term, and all placed pods that carry it."""

    __slots__ = ("anchors", "live", "placed", "role", "rows", "total", "version", "views")

    def __init__(self, role: Role, placed: PlacedTerm, serial: int) -> None:
        self.role = role
        self.placed = placed
        self.anchors = anchors((placed.term,))
        #: Changes whenever a carrier comes or goes; never equal for two Carriers.
        self.version = serial << 32
        #: False once nobody carries it and it was dropped.
        self.live = True
        #: Pods that carry it, by row and in all.
        self.rows: dict[int, int] = {}
        self.total = 0
        self.views: list[DomainCounts] = []

    def by_row(self) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        """Rows and the number of pods there."""
        n = len(self.rows)
        return np.fromiter(self.rows, np.intp, n), np.fromiter(self.rows.values(), np.int32, n)

    def change(self, row: int, delta: int) -> None:
        """A pod that carries the term came or went."""
        self.version += 1
        self.total += delta
        number = self.rows.get(row, 0) + delta
        if number:
            self.rows[row] = number
        else:
            del self.rows[row]
        for view in self.views:
            view.change(row, delta)


def carried(shape: Shape, namespace: str) -> Iterator[tuple[Role, PlacedTerm]]:
    """The terms that a placed pod carries; a pod whose terms cannot be read carries none."""
    try:
        terms = compile_terms(shape, namespace)
    except SelectorError:
        return
    for term in terms.anti_affinity:
        yield Role.ANTI_AFFINITY, term
    for term in terms.affinity:
        yield Role.AFFINITY, term
    for term in terms.preferred:
        yield Role.PREFERRED, term
