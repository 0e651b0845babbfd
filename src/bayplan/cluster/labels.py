"""Node labels as columns: one int32 column of value ids per label key that somebody asked for.

Kept up to date by the node table; read by selectors, topology domains and plugins through the view.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.columns import Column, Rows
from bayplan.cluster.intern import UNKNOWN, Interner
from bayplan.model.selectors import parse_int64


class LabelColumns:
    """Columns by label key, made on first use and updated ever after."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._labels: list[Mapping[str, str] | None] = []
        self._columns: dict[str, Column[np.int32]] = {}
        #: Label values by key: a topology domain is a value id of its key.
        self._values: dict[str, Interner[str]] = {}
        #: By key and value id: the value as a number, and whether it is one.
        self._integers: dict[str, tuple[NDArray[np.int64], NDArray[np.bool_]]] = {}

    def column(self, key: str) -> NDArray[np.int32]:
        """The value id of ``key`` on each row, -1 where the node has no such label."""
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = self._rows.column(np.int32, UNKNOWN)
            values = self._values[key] = Interner()
            for row, labels in enumerate(self._labels):
                if labels is not None and key in labels:
                    column.data[row] = values.id(labels[key])
        return column.seen

    def value_id(self, key: str, value: str) -> int:
        """The id of a value of ``key``, -1 where no node ever had it."""
        self.column(key)
        return self._values[key].find(value)

    def values(self, key: str) -> list[str]:
        """All values of ``key`` ever seen, by id."""
        self.column(key)
        return self._values[key].values

    def integers(self, key: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """All values of ``key`` as numbers, by id, and which of them are numbers; one entry more, for no value."""
        values = self.values(key)
        numbers, valid = self._integers.get(key, (np.zeros(1, np.int64), np.zeros(1, np.bool_)))
        known = len(valid) - 1
        if known < len(values):
            new = [parse_int64(value) for value in values[known:]]
            more = [0 if number is None else number for number in new]
            numbers = np.concatenate([numbers[:known], np.array([*more, 0], np.int64)])
            is_number = [number is not None for number in new]
            valid = np.concatenate([valid[:known], np.array([*is_number, False], np.bool_)])
            self._integers[key] = numbers, valid
        return numbers, valid

    def keys(self) -> list[str]:
        """The keys that have a column."""
        return list(self._columns)

    def set(self, row: int, labels: Mapping[str, str] | None) -> None:
        """Give a row its labels; None for a row without a node."""
        while len(self._labels) <= row:
            self._labels.append(None)
        self._labels[row] = labels
        for key, column in self._columns.items():
            value = labels.get(key) if labels is not None else None
            column.data[row] = UNKNOWN if value is None else self._values[key].id(value)

    def of(self, row: int) -> Mapping[str, str]:
        """A row's labels; none where there is no node."""
        labels = self._labels[row] if row < len(self._labels) else None
        return labels or {}
