"""Outside data about nodes (metrics, prices, temperatures) as float columns; NaN where nobody has said.

Written by providers through the cluster; read by plugins as ``node.usage`` or ``nodes.data(metric)``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.columns import Column, Rows


class DataColumns:
    """Columns by metric name."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._columns: dict[str, Column[np.float64]] = {}

    def column(self, metric: str) -> NDArray[np.float64]:
        """The metric on each row, to be read."""
        return self._column(metric).seen

    def _column(self, metric: str) -> Column[np.float64]:
        column = self._columns.get(metric)
        if column is None:
            column = self._columns[metric] = self._rows.column(np.float64, np.nan)
        return column

    def set(self, row: int, metric: str, value: float) -> bool:
        """Set one value; returns whether it is a new one."""
        data = self._column(metric).data
        if data[row] == value:
            return False
        data[row] = value
        return True

    def clear(self, row: int) -> None:
        """Forget what was said of a row."""
        for column in self._columns.values():
            column.data[row] = np.nan
