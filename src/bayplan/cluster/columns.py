"""Growable NumPy columns with rows that are reused.

The tables of this package are built from these; nobody outside ``cluster`` creates one.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

D = TypeVar("D", bound=np.generic)


class Column(Generic[D]):
    """One value per row. ``data`` is longer than the rows in use and is replaced when it grows: never keep it.

    ``seen`` is the same memory for readers: writing to it raises.
    """

    __slots__ = ("data", "fill", "seen")

    def __init__(self, dtype: type[D], capacity: int, fill: Any = 0) -> None:
        self.fill = fill
        self._use(np.full(capacity, fill, dtype))

    def _use(self, data: NDArray[D]) -> None:
        self.data: NDArray[D] = data
        self.seen: NDArray[D] = data.view()
        self.seen.flags.writeable = False

    def grow(self, capacity: int) -> None:
        """Make room for ``capacity`` rows."""
        bigger = np.full(capacity, self.fill, self.data.dtype)
        bigger[: len(self.data)] = self.data
        self._use(bigger)


class Rows:
    """Which rows are in use; one that was given back is used again before a new one, so columns stay dense."""

    __slots__ = ("_columns", "_free", "capacity", "used")

    def __init__(self, capacity: int = 64) -> None:
        self.capacity = capacity
        #: Rows ever given out: columns are meaningful up to here.
        self.used = 0
        self._free: list[int] = []
        self._columns: list[Column[Any]] = []

    def column(self, dtype: type[D], fill: Any = 0) -> Column[D]:
        """A new column that grows with these rows."""
        column = Column(dtype, self.capacity, fill)
        self._columns.append(column)
        return column

    def drop(self, column: Column[Any]) -> None:
        """Stop growing a column that nobody needs any more."""
        self._columns.remove(column)

    def take(self) -> int:
        """A free row, its columns holding their fill value."""
        if self._free:
            return self._free.pop()
        if self.used == self.capacity:
            self.capacity *= 2
            for column in self._columns:
                column.grow(self.capacity)
        self.used += 1
        return self.used - 1

    def give_back(self, row: int) -> None:
        """Clear a row and let it be used again."""
        for column in self._columns:
            column.data[row] = column.fill
        self._free.append(row)

    def __len__(self) -> int:
        return self.used - len(self._free)
