"""Sets of nodes by number, and things ranked by number spread over the nodes that can use them.

Thousands of local volumes, or of storage pools, are each for one node. Asking each for its nodes would take a look at all
nodes for each; here the sets that want one value of one label are kept by label, and one look at the label's column
serves them all. Whatever else a set may ask for is asked by itself, once for all things that ask the same.

Used by the indexes of free volumes and of storage pools; read by VolumeBinding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.intern import Interner

if TYPE_CHECKING:
    from bayplan.cluster.labels import LabelColumns
    from bayplan.cluster.node_rows import NodeRows
    from bayplan.cluster.volume_nodes import VolumeNodes

#: Places in some order, the smallest being the best.
Places: TypeAlias = NDArray[np.int64]

#: No place, and further down than any.
NO_PLACE: Final = int(np.iinfo(np.int64).max)

#: The number of the set of all nodes.
_ALL: Final = 0


class NodeGroups:
    """Numbers for sets of nodes."""

    def __init__(self) -> None:
        self._sets: Interner[VolumeNodes | None] = Interner()
        self._sets.id(None)
        #: Label to the sets that want one value of it.
        self._pinned: dict[str, _Pinned] = {}
        self._others: list[int] = []

    def id(self, nodes: VolumeNodes | None) -> int:
        """The number of a set."""
        known = len(self._sets)
        number = self._sets.id(nodes)
        if number == known and nodes is not None:
            if nodes.pinned is not None and len(nodes.pinned[1]) == 1:
                key, (value,) = nodes.pinned
                self._pinned.setdefault(key, _Pinned(key)).add(value, number)
            else:
                self._others.append(number)
        return number

    def first(self, groups: NDArray[np.int32], places: Places, depth: int) -> NDArray[np.int64]:
        """``[k, number]``: the k-th smallest place of each set. ``places`` are in order, ``groups`` are their sets."""
        found = np.full((depth, len(self._sets)), NO_PLACE)
        for row in found:
            # Of equal indexes the last assignment stays: backwards, that is the smallest place.
            row[groups[::-1]] = places[::-1]
            if depth > 1:
                rest = row[groups] != places
                groups, places = groups[rest], places[rest]
        return found

    def spread(
        self, nodes: NodeRows, first: NDArray[np.int64], taken: Sequence[Places] = ()
    ) -> Places:
        """For each node the smallest place of its sets that is not taken there; NO_PLACE where there is none."""
        best = np.full(len(nodes), NO_PLACE)
        every = first[:, _ALL]
        if every[0] != NO_PLACE:
            _improve(best, every[:, np.newaxis].repeat(len(nodes), axis=1), taken)
        for pinned in self._pinned.values():
            by_value = first[:, pinned.groups]
            if by_value[0].min(initial=NO_PLACE) != NO_PLACE:
                # A node without the label, or with a value that no set wants, finds the last entry.
                by_value = np.concatenate([by_value, np.full((len(first), 1), NO_PLACE)], axis=1)
                _improve(best, by_value[:, pinned.column(nodes)], taken)
        for number in self._others:
            wanted = first[:, number]
            nodes_of = self._sets.values[number]
            if wanted[0] != NO_PLACE and nodes_of is not None:
                mask = nodes_of.mask(nodes)
                _improve(best, np.where(mask, wanted[:, np.newaxis], NO_PLACE), taken)
        return best


class _Pinned:
    """Sets that want one value of a label each."""

    def __init__(self, key: str) -> None:
        self.key = key
        self._values: Interner[str] = Interner()
        self._groups: list[int] = []
        self.groups = np.zeros(0, np.intp)
        #: Number of a label's value to the number it has here; the last entry is for a missing label.
        self._here = np.full(1, -1, np.intp)
        self._known = 0
        self._labels_known = 0

    def add(self, value: str, group: int) -> None:
        """A set that wants a value."""
        self._values.id(value)
        self._groups.append(group)
        self.groups = np.array(self._groups, np.intp)

    def column(self, nodes: NodeRows) -> NDArray[np.intp]:
        """By node: the number of its value here, -1 where no set wants it."""
        values = nodes.label(self.key)
        self._learn(nodes.table.labels)
        found: NDArray[np.intp] = self._here[values]
        return found

    def _learn(self, labels: LabelColumns) -> None:
        """Match values that are new on either side."""
        theirs = labels.values(self.key)
        if len(theirs) > self._labels_known:
            here = np.full(len(theirs) + 1, -1, np.intp)
            here[: self._labels_known] = self._here[:-1]
            for number in range(self._labels_known, len(theirs)):
                here[number] = self._values.find(theirs[number])
            self._here, self._labels_known = here, len(theirs)
        for number in range(self._known, len(self._values)):
            there = labels.value_id(self.key, self._values.values[number])
            if there >= 0:
                self._here[there] = number
        self._known = len(self._values)


def _improve(best: Places, places: NDArray[np.int64], taken: Sequence[Places]) -> None:
    """Take the smallest of each column into ``best``, what is taken left out."""
    for other in taken:
        places = np.where(places == other, NO_PLACE, places)
    np.minimum(best, places[0] if len(places) == 1 else places.min(axis=0), out=best)
