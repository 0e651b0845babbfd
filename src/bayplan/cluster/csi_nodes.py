"""What CSINodes say of nodes, as columns: how many volumes of a driver a node takes, which in-tree plugins are migrated.

Fed by ``Storage``; read by NodeVolumeLimits and VolumeBinding.
"""

from __future__ import annotations

from collections.abc import Iterator, KeysView
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.csi_migration import MIGRATED_PLUGINS
from bayplan.cluster.node_columns import NodeColumns

if TYPE_CHECKING:
    from bayplan.cluster.nodes import NodeTable
    from bayplan.model.storage import CSINode

#: The limit where nobody has set one.
NO_LIMIT: Final = (1 << 63) - 1

#: Columns that every node with a CSINode fills; no plugin or driver has such a name.
_PRESENT: Final = "*"
_LIMITED: Final = "limited"


class CSINodes:
    """CSINodes by name, and their columns."""

    def __init__(self) -> None:
        self.objects: dict[str, CSINode] = {}
        self._limits = NodeColumns(np.int64, fill=NO_LIMIT)
        self._flags = NodeColumns(np.bool_, fill=False)

    def put(self, csi_node: CSINode) -> None:
        """A CSINode was added or changed."""
        self.objects[csi_node.metadata.name] = csi_node
        self._changed(csi_node.metadata.name)

    def remove(self, name: str) -> None:
        """A CSINode is gone."""
        del self.objects[name]
        self._changed(name)

    def _changed(self, name: str) -> None:
        self._limits.stale_names.add(name)
        self._flags.stale_names.add(name)

    def refresh(self, nodes: NodeTable) -> None:
        """Bring the columns up to date; call before reading."""
        for row, name in self._limits.catch_up(nodes):
            limits = self._limits_of(name)
            for driver in self._limits.keys() | limits.keys():
                self._limits[driver][row] = limits.get(driver, NO_LIMIT)
        for row, name in self._flags.catch_up(nodes):
            flags = self._flags_of(name)
            for flag in self._flags.keys() | flags:
                self._flags[flag][row] = flag in flags

    def _limits_of(self, name: str) -> dict[str, int]:
        csi_node = self.objects.get(name)
        return {} if csi_node is None else limits_of(csi_node)

    def _flags_of(self, name: str) -> set[str]:
        csi_node = self.objects.get(name)
        if csi_node is None:
            return set()
        flags = {_PRESENT, *migrated_plugins(csi_node)}
        return flags | {_LIMITED} if limits_of(csi_node) else flags

    def limits(self, driver: str) -> NDArray[np.int64]:
        """How many volumes of a driver each row takes."""
        return self._limits[driver]

    def limited_drivers(self) -> KeysView[str]:
        """Drivers that have had a limit somewhere."""
        return self._limits.keys()

    @property
    def present(self) -> NDArray[np.bool_]:
        """Rows whose node has a CSINode."""
        return self._flags[_PRESENT]

    @property
    def limited(self) -> NDArray[np.bool_]:
        """Rows whose node limits any driver."""
        return self._flags[_LIMITED]

    def migrated(self, plugin: str) -> NDArray[np.bool_]:
        """Rows on which the volumes of an in-tree plugin are attached by its CSI driver."""
        return self._flags[plugin]

    def audit(self) -> Iterator[str]:
        """Rows that are said to be up to date, but are not."""
        for row, name in self._limits.settled():
            limits = self._limits_of(name)
            for driver in self._limits.keys() | limits.keys():
                said, expected = int(self._limits[driver][row]), limits.get(driver, NO_LIMIT)
                if said != expected:
                    yield f"storage: the limit of {driver} on {name} is {said}, its CSINode says {expected}"
        for row, name in self._flags.settled():
            flags = self._flags_of(name)
            for flag in self._flags.keys() | flags:
                if bool(self._flags[flag][row]) != (flag in flags):
                    yield f"storage: {flag} of {name} is {flag not in flags}, its CSINode says otherwise"


def limits_of(csi_node: CSINode) -> dict[str, int]:
    """Driver to the number of volumes that the node takes of it; a driver without a number has no limit."""
    return {
        driver.name: driver.allocatable.count
        for driver in csi_node.spec.drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }


def migrated_plugins(csi_node: CSINode) -> list[str]:
    """In-tree plugins whose volumes are attached by CSI drivers on this node."""
    listed = csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "")
    return listed.split(",") if listed else []
