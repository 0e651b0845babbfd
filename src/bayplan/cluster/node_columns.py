"""Columns over the node table of facts that other objects tell about nodes, brought up to date when they are read.

A CSINode or a VolumeAttachment names its node, which may not have a row yet, or another row tomorrow. These columns
note what is stale and hand out the rows to fill again, by whatever name they now stand for.

Used by the storage tables.
"""

from __future__ import annotations

from collections.abc import Iterator, KeysView
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bayplan.cluster.nodes import NodeTable

D = TypeVar("D", bound=np.generic)


class NodeColumns(Generic[D]):
    """Columns by key, and which of their rows are stale.

    Not columns of the node table itself: those are cleared when a row is given back, and a node that comes back under
    its name to its row would look as if nothing had happened.
    """

    def __init__(self, dtype: type[D], fill: Any) -> None:
        self._dtype = dtype
        self._fill = fill
        self._columns: dict[str, NDArray[D]] = {}
        self._length = 0
        self._nodes: NodeTable | None = None
        #: By row: the node that was last looked up for it.
        self._names: list[str] = []
        self._node_set = -1
        #: Rows to fill again.
        self.stale: set[int] = set()
        #: Nodes to fill again, if they have a row.
        self.stale_names: set[str] = set()

    def catch_up(self, nodes: NodeTable) -> list[tuple[int, str]]:
        """Stale rows and the nodes they stand for: the caller fills them before anybody reads."""
        self._nodes = nodes
        if self._node_set != nodes.journal.node_set:
            old = self._names
            self.stale.update(
                row for row, name in enumerate(nodes.names) if row >= len(old) or old[row] != name
            )
            self._names = list(nodes.names)
            self._node_set = nodes.journal.node_set
            if self._length < nodes.rows.used:
                self._grow(nodes.rows.capacity)
        if self.stale_names:
            found = map(nodes.row_of.get, self.stale_names)
            self.stale.update(row for row in found if row is not None)
            self.stale_names.clear()
        if not self.stale:
            return []
        rows = [(row, self._names[row]) for row in sorted(self.stale)]
        self.stale.clear()
        return rows

    def settled(self) -> Iterator[tuple[int, str]]:
        """Rows that are not stale, and the nodes they stand for."""
        nodes = self._nodes
        if nodes is None:
            return
        for row, name in enumerate(self._names):
            if row not in self.stale and name not in self.stale_names and nodes.names[row] == name:
                yield row, name

    def keys(self) -> KeysView[str]:
        """The keys that have a column."""
        return self._columns.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, key: str) -> bool:
        return key in self._columns

    def __getitem__(self, key: str) -> NDArray[D]:
        """The column of a key: at least as long as the rows in use; made on first use."""
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = np.full(self._length, self._fill, self._dtype)
        return column

    def _grow(self, length: int) -> None:
        for key, column in self._columns.items():
            longer = np.full(length, self._fill, self._dtype)
            longer[: len(column)] = column
            self._columns[key] = longer
        self._length = length
