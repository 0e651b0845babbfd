"""CSIStorageCapacities by class: how large a volume some nodes can still get.

Fed and read by ``Storage``, for VolumeBinding.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final, NamedTuple

from bayplan.cluster.volume_nodes import VolumeNodes, nodes_of_labels
from bayplan.model import quantity

if TYPE_CHECKING:
    from bayplan.model.storage import CSIStorageCapacity


class Pool(NamedTuple):
    """Room for volumes of one class."""

    capacity: CSIStorageCapacity
    #: Bytes of the largest volume there is room for; -1 where the driver does not say.
    limit: int
    #: The nodes that can reach it; None: all of them.
    nodes: VolumeNodes | None


_NONE: Final[dict[str, Pool]] = {}


class Pools:
    """Pools by class."""

    def __init__(self) -> None:
        self._classes: dict[str, str] = {}
        self._pools: dict[str, dict[str, Pool]] = {}

    def put(self, capacity: CSIStorageCapacity) -> CSIStorageCapacity | None:
        """Take over a capacity; returns it as it was."""
        before = self.remove(capacity.key)
        self._classes[capacity.key] = capacity.storage_class_name
        pools = self._pools.setdefault(capacity.storage_class_name, {})
        nodes = nodes_of_labels(capacity.node_topology)
        pools[capacity.key] = Pool(capacity, volume_limit(capacity), nodes)
        return before

    def remove(self, key: str) -> CSIStorageCapacity | None:
        """Forget a capacity; returns it as it was."""
        name = self._classes.pop(key, None)
        if name is None:
            return None
        pools = self._pools[name]
        pool = pools.pop(key)
        if not pools:
            del self._pools[name]
        return pool.capacity

    def of_class(self, storage_class: str) -> Collection[Pool]:
        """The pools of a class."""
        return self._pools.get(storage_class, _NONE).values()


def volume_limit(capacity: CSIStorageCapacity) -> int:
    """Bytes of the largest volume that can still be made: what the driver says of single volumes, else of all together."""
    limit = capacity.maximum_volume_size
    if limit is None:
        limit = capacity.capacity
    return -1 if limit is None else quantity.value(limit)
