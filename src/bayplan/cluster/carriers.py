"""Affinity terms that placed pods carry: which terms there are, where their carriers run, and whom they speak of.

Used by ``counts``. A pod that is to be placed must keep away from carriers whose anti-affinity speaks of it, and likes
or dislikes to be near carriers whose other terms do. It finds those terms at once, however many others there are.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.matching import KinFile, TermFile, anchors
from bayplan.cluster.terms import compile_terms

if TYPE_CHECKING:
    from bayplan.cluster.domains import DomainCounts
    from bayplan.cluster.namespaces import Namespaces
    from bayplan.cluster.podinfo import Kin, Shape
    from bayplan.cluster.terms import PlacedTerm

#: Terms that nobody carries any more, and kins that were asked about, to be remembered.
IDLE: Final = 4096


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


class Interest:
    """The carried terms that speak of pods of one kin."""

    __slots__ = ("carriers", "generation", "kin")

    def __init__(self, kin: Kin, carriers: dict[Carrier, None], generation: int) -> None:
        self.kin = kin
        self.carriers = carriers
        #: Changes with the set of ``carriers``; never equal for two Interests.
        self.generation = generation


class CarrierTable:
    """All carried terms, and who was asked about."""

    def __init__(self, namespaces: Namespaces) -> None:
        self._namespaces = namespaces
        self.carriers: dict[tuple[Role, PlacedTerm], Carrier] = {}
        #: By number of the kin, oldest first.
        self.interests: OrderedDict[int, Interest] = OrderedDict()
        self._carrier_file: TermFile[Carrier] = TermFile()
        self._interest_file: KinFile[Interest] = KinFile()
        self._idle: OrderedDict[Carrier, None] = OrderedDict()
        self._serial = 0

    def of(self, shape: Shape, namespace: str) -> list[Carrier]:
        """What placed pods of this shape in this namespace carry; a term that they have twice stands there twice."""
        key = (self, namespace)
        known: list[Carrier] | None = shape.memo.get(key)
        if known is None or not all(carrier.live for carrier in known):
            known = [self._carrier(role, term) for role, term in carried(shape, namespace)]
            shape.memo[key] = known
        return known

    def place(self, shape: Shape, namespace: str, row: int, sign: int) -> bool:
        """A pod came to a row or left it; returns whether it carries anything."""
        carriers = self.of(shape, namespace)
        for carrier in carriers:
            carrier.change(row, sign)
            if not carrier.total:
                self._idle[carrier] = None
            else:
                self._idle.pop(carrier, None)
        while len(self._idle) > IDLE:
            self._drop(self._idle.popitem(last=False)[0])
        return bool(carriers)

    def interest(self, kin: Kin) -> Interest:
        """The terms that speak of pods of this kin."""
        found = self.interests.get(kin.id)
        if found is None:
            self._serial += 1
            carriers = {
                carrier: None
                for carrier in self._carrier_file.candidates(kin)
                if self.speaks_of(carrier, kin)
            }
            found = self.interests[kin.id] = Interest(kin, carriers, self._serial)
            self._interest_file.add(found, kin)
            if len(self.interests) > IDLE:
                self._forget(next(iter(self.interests.values())))
        return found

    def namespace_changed(self, name: str) -> None:
        """A namespace has come, gone or been relabelled."""
        for interest in self._interest_file.in_namespace(name):
            self._forget(interest)

    def speaks_of(self, carrier: Carrier, kin: Kin) -> bool:
        """Whether a term speaks of pods of a kin."""
        term = carrier.placed.term
        return term.selector.matches(kin.labels) and self._namespaces.covered_by_carrier(
            term, kin.namespace
        )

    def _forget(self, interest: Interest) -> None:
        del self.interests[interest.kin.id]
        self._interest_file.remove(interest, interest.kin)

    def _carrier(self, role: Role, placed: PlacedTerm) -> Carrier:
        carrier = self.carriers.get((role, placed))
        if carrier is None:
            self._serial += 1
            carrier = self.carriers[role, placed] = Carrier(role, placed, self._serial)
            self._carrier_file.add(carrier, carrier.anchors)
            for interest in self._interest_file.candidates(carrier.anchors):
                if self.speaks_of(carrier, interest.kin):
                    self._serial += 1
                    interest.generation = self._serial
                    interest.carriers[carrier] = None
        return carrier

    def _drop(self, carrier: Carrier) -> None:
        carrier.live = False
        del self.carriers[carrier.role, carrier.placed]
        self._carrier_file.remove(carrier, carrier.anchors)
        for view in carrier.views:
            view.live = False
            view.map.counts.remove(view)
        carrier.views.clear()
        for interest in self._interest_file.candidates(carrier.anchors):
            if carrier in interest.carriers:
                del interest.carriers[carrier]
                self._serial += 1
                interest.generation = self._serial


def carried(shape: Shape, namespace: str) -> Iterator[tuple[Role, PlacedTerm]]:
    """The terms that a placed pod carries, as far as they can be read."""
    terms = compile_terms(shape, namespace)
    for term in terms.anti_affinity:
        yield Role.ANTI_AFFINITY, term
    for term in terms.affinity:
        yield Role.AFFINITY, term
    for term in terms.preferred:
        yield Role.PREFERRED, term
