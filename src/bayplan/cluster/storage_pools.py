"""CSIStorageCapacities by class: how large a volume some nodes can still get.

Fed and read by ``Storage``, for VolumeBinding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.node_groups import NO_PLACE, NodeGroups
from bayplan.cluster.volume_nodes import nodes_of_labels
from bayplan.model import quantity

if TYPE_CHECKING:
    from bayplan.cluster.node_rows import NodeRows
    from bayplan.model.storage import CSIStorageCapacity

#: Where the driver does not say.
UNKNOWN_LIMIT: Final = -(1 << 63)


class PoolsOfClass:
    """The pools of one class, by ``namespace/name``, and columns of them."""

    def __init__(self, groups: NodeGroups) -> None:
        self._groups = groups
        self.pools: dict[str, CSIStorageCapacity] = {}
        #: By pool: its limit and the number of the set of nodes that can reach it.
        self._rows: dict[str, tuple[int, int]] = {}
        self._columns: tuple[NDArray[np.int64], NDArray[np.int32]] | None = None

    def put(self, capacity: CSIStorageCapacity) -> None:
        """Take over a pool."""
        nodes = nodes_of_labels(capacity.node_topology)
        self.pools[capacity.key] = capacity
        self._rows[capacity.key] = (volume_limit(capacity), self._groups.id(nodes))
        self._columns = None

    def remove(self, key: str) -> None:
        """Forget a pool."""
        del self.pools[key], self._rows[key]
        self._columns = None

    def with_room(self, size: int, nodes: NodeRows) -> NDArray[np.bool_]:
        """Nodes that can reach a pool with room for a volume of so many bytes."""
        if self._columns is None:
            rows = self._rows.values()
            self._columns = (
                np.array([limit for limit, _ in rows], np.int64),
                np.array([group for _, group in rows], np.int32),
            )
        limits, groups = self._columns
        large = np.flatnonzero((limits >= size) & (limits != UNKNOWN_LIMIT))
        first = self._groups.first(groups[large], large, 1)
        reach: NDArray[np.bool_] = self._groups.spread(nodes, first) != NO_PLACE
        return reach


class Pools:
    """Pools by class."""

    def __init__(self) -> None:
        self._groups = NodeGroups()
        #: Pool to its class.
        self._classes: dict[str, str] = {}
        self._by_class: dict[str, PoolsOfClass] = {}

    def put(self, capacity: CSIStorageCapacity) -> CSIStorageCapacity | None:
        """Take over a capacity; returns it as it was."""
        before = self.remove(capacity.key)
        name = capacity.storage_class_name
        self._classes[capacity.key] = name
        self._by_class.setdefault(name, PoolsOfClass(self._groups)).put(capacity)
        return before

    def remove(self, key: str) -> CSIStorageCapacity | None:
        """Forget a capacity; returns it as it was."""
        name = self._classes.pop(key, None)
        if name is None:
            return None
        of_class = self._by_class[name]
        before = of_class.pools[key]
        of_class.remove(key)
        if not of_class.pools:
            del self._by_class[name]
        return before

    def of_class(self, storage_class: str) -> PoolsOfClass | None:
        """The pools of a class."""
        return self._by_class.get(storage_class)


def volume_limit(capacity: CSIStorageCapacity) -> int:
    """Bytes of the largest volume that can still be made: what the driver says of single volumes, else of all together."""
    limit = capacity.maximum_volume_size
    if limit is None:
        limit = capacity.capacity
    return UNKNOWN_LIMIT if limit is None else quantity.value(limit)
