"""What placed pods take, as columns: for what-ifs over many pods at once.

Filled when somebody asks and kept as long as the pod keeps its row: placing a pod costs nothing here. Part of the pod
table; read by what-ifs that move many pods (``cluster.thinned``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.columns import Column, Rows

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import Shape


class PodAmounts:
    """One column per resource that any pod looked at takes, and whether it holds ports."""

    def __init__(self, rows: Rows, shapes: list[Shape | None]) -> None:
        self._rows = rows
        self._shapes = shapes
        #: False where a row has not been looked at; freeing a row resets it.
        self._known = rows.column(np.bool_)
        #: Whether the pod holds host ports.
        self.ports = rows.column(np.bool_)
        self.nonzero_cpu = rows.column(np.int64)
        self.nonzero_memory = rows.column(np.int64)
        #: By the node table's id of the resource.
        self.requests: dict[int, Column[np.int64]] = {}

    def learn(self, pods: NDArray[np.intp], resource_id: Callable[[str], int]) -> None:
        """Fill the columns for some pods' rows."""
        unknown = pods[~self._known.data[pods]]
        if not len(unknown):
            return
        alike: dict[Shape, list[int]] = defaultdict(list)
        for row in unknown.tolist():
            shape = self._shapes[row]
            assert shape is not None
            alike[shape].append(row)
        for shape, rows in alike.items():
            placed = shape.placed
            self.ports.data[rows] = bool(shape.host_ports)
            self.nonzero_cpu.data[rows] = placed.nonzero_cpu
            self.nonzero_memory.data[rows] = placed.nonzero_memory
            for name, amount in placed.requests.items():
                self._column(resource_id(name)).data[rows] = amount
        self._known.data[unknown] = True

    def _column(self, resource: int) -> Column[np.int64]:
        column = self.requests.get(resource)
        if column is None:
            column = self.requests[resource] = self._rows.column(np.int64)
        return column
