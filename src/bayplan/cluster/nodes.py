"""The node table: one row per node, one contiguous column per resource.

Fed by ``cluster.Cluster`` with nodes and with what placed pods take; read through ``cluster.view``. A row may stand for
a node that has pods but no Node object yet (or any more): it is not ``alive`` and nothing is placed there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from bayplan.cluster.changes import EVERYTHING, Reads
from bayplan.cluster.columns import Column, Rows
from bayplan.cluster.data import DataColumns
from bayplan.cluster.devices import COUNT, GPU, Devices
from bayplan.cluster.images import ImageIndex
from bayplan.cluster.intern import Interner
from bayplan.cluster.journal import Journal
from bayplan.cluster.labels import LabelColumns
from bayplan.cluster.offers import Offers
from bayplan.model import quantity

if TYPE_CHECKING:
    from bayplan.model.node import Node, Taint
    from bayplan.model.requests import Placed

#: Resource ids that every cluster has, in this order.
CPU: Final = 0
MEMORY: Final = 1
EPHEMERAL_STORAGE: Final = 2
FIRST_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")
INT64_MAX: Final = (1 << 63) - 1


class NodeRecord:
    """What of a Node object is kept beside the columns."""

    __slots__ = ("annotations", "capacity", "features", "labels", "name", "taints", "uid")

    def __init__(self, node: Node) -> None:
        self.name = node.metadata.name
        self.uid = node.metadata.uid
        self.labels: Mapping[str, str] = node.metadata.labels
        self.annotations: Mapping[str, str] = node.metadata.annotations
        # When a taint was added decides nothing, and would make every node's set of taints a different one.
        self.taints: tuple[Taint, ...] = tuple(
            taint if taint.time_added is None else replace(taint, time_added=None)
            for taint in node.spec.taints
        )
        self.capacity = amounts(node.status.capacity)
        self.features = frozenset(node.status.declared_features)


def amounts(resources: Mapping[str, str | int | float]) -> dict[str, int]:
    """Quantities as whole numbers, CPU in milli-units, both rounded up."""
    return {
        name: quantity.milli_value(q) if name == "cpu" else quantity.value(q)
        for name, q in resources.items()
    }


class NodeTable:
    """Rows of nodes and their columns."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.rows = rows = Rows()
        self.row_of: dict[str, int] = {}
        #: By row; None where there is no Node object.
        self.records: list[NodeRecord | None] = []
        #: By row; the name also of rows without a Node object.
        self.names: list[str] = []
        self._row_names: tuple[str, ...] | None = None
        self.alive = rows.column(np.bool_)
        self.alive_count = 0
        self.resources = Interner[str]()
        self.allocatable: list[Column[np.int64]] = []
        self.requested: list[Column[np.int64]] = []
        for name in FIRST_RESOURCES:
            self.resource_id(name)
        #: Requested CPU and memory where a missing request counts 100m and 200 MiB: for scoring alone.
        self.nonzero_cpu = rows.column(np.int64)
        self.nonzero_memory = rows.column(np.int64)
        self.max_pods = rows.column(np.int64)
        self.pod_count = rows.column(np.int64)
        self.unschedulable = rows.column(np.bool_)
        #: Id of the node's set of taints.
        self.taint_set = rows.column(np.int32, 0)
        self.taint_sets: Interner[tuple[Taint, ...]] = Interner()
        self.taint_sets.id(())
        self.labels = LabelColumns(rows)
        self.images = ImageIndex()
        self.data = DataColumns(rows)
        self.devices = Devices(rows)
        #: What nodes offer, as floats.
        self.offers = Offers(self.allocatable, rows)
        self._capacity: dict[str, int] = {}
        self._capacity_at = -1

    def resource_id(self, name: str) -> int:
        """The id of a resource; a new one gets its columns."""
        number = self.resources.id(name)
        if number == len(self.allocatable):
            self.allocatable.append(self.rows.column(np.int64))
            self.requested.append(self.rows.column(np.int64))
        return number

    def capacity(self) -> Mapping[str, int]:
        """What all nodes offer together, by resource; the same object until that changes."""
        version = self.offers.version
        if version != self._capacity_at:
            # As floats: amounts near 2^63 would wrap, and nobody asks for such a sum to the last byte.
            sums = {
                name: int(self.allocatable[number].data.sum(dtype=np.float64))
                for number, name in enumerate(self.resources)
            }
            sums["pods"] = int(self.max_pods.data.sum(dtype=np.float64))
            self._capacity, self._capacity_at = sums, version
        return self._capacity

    def device_count(self, row: int) -> int:
        """How many GPUs a node has."""
        for number in (self.resources.find(COUNT), self.resources.find(GPU)):
            if number >= 0 and self.allocatable[number].data[row] > 0:
                return int(self.allocatable[number].data[row])
        return 0

    def row_for(self, name: str) -> int:
        """The node's row; an unknown node gets one that is not alive."""
        row = self.row_of.get(name)
        if row is None:
            row = self.row_of[name] = self.rows.take()
            while len(self.records) <= row:
                self.records.append(None)
                self.names.append("")
            self.names[row] = name
            self.journal.row_changed(row, EVERYTHING)
            self._set_changed()
        return row

    def put(self, node: Node) -> Reads:
        """Add a node or bring it up to date; returns what changed."""
        row = self.row_for(node.metadata.name)
        old = self.records[row]
        new = NodeRecord(node)
        changed = self._put_resources(row, amounts(node.status.allocatable))
        if old is None or old.capacity != new.capacity:
            changed |= Reads.ALLOCATABLE
        if old is None or old.labels != new.labels:
            changed |= Reads.LABELS | Reads.NODE_LABELS
            self.labels.set(row, new.labels)
        if (
            old is None
            or old.taints != new.taints
            or bool(self.unschedulable.data[row]) != node.spec.unschedulable
        ):
            changed |= Reads.TAINTS | Reads.NODE_TAINTS
            self.taint_set.data[row] = self.taint_sets.id(new.taints)
            self.unschedulable.data[row] = node.spec.unschedulable
        if self.images.put(row, node.status.images):
            changed |= Reads.IMAGES | Reads.ALL_IMAGES
        if old is None or old.features != new.features:
            changed |= Reads.FEATURES
        if old is None or old.annotations != new.annotations:
            changed |= Reads.ANNOTATIONS
        self.records[row] = new
        if old is None:
            self.alive.data[row] = True
            self.alive_count += 1
            self._set_changed()
        if changed:
            self.journal.row_changed(row, changed)
            self.journal.topic_changed(changed)
        return changed

    def _put_resources(self, row: int, offered: Mapping[str, int]) -> Reads:
        changed = Reads.NOTHING
        pods = offered.get("pods", 0)
        if self.max_pods.data[row] != pods:
            self.max_pods.data[row] = pods
            changed = Reads.ALLOCATABLE
        for name in offered:
            if name != "pods":
                self.resource_id(name)
        for number, name in enumerate(self.resources):
            amount = offered.get(name, 0)
            if self.allocatable[number].data[row] != amount:
                self.allocatable[number].data[row] = amount
                changed = Reads.ALLOCATABLE
        if changed:
            self.offers.version += 1
        return changed

    def remove(self, name: str) -> int | None:
        """The Node object is gone; the row stays as long as pods are on it."""
        row = self.row_of.get(name)
        if row is None or self.records[row] is None:
            return None
        self.records[row] = None
        self.alive.data[row] = False
        self.alive_count -= 1
        self._put_resources(row, {})
        self.labels.set(row, None)
        self.taint_set.data[row] = 0
        self.unschedulable.data[row] = False
        if self.images.remove(row):
            self.journal.topic_changed(Reads.ALL_IMAGES)
        self.data.clear(row)
        self.journal.row_changed(row, EVERYTHING)
        self.journal.topic_changed(Reads.NODE_LABELS | Reads.NODE_TAINTS)
        self._set_changed()
        return row

    def drop_if_empty(self, row: int) -> bool:
        """Free a row that has neither a Node object nor pods."""
        if self.records[row] is not None or self.pod_count.data[row]:
            return False
        del self.row_of[self.names[row]]
        self.names[row] = ""
        self.rows.give_back(row)
        self._set_changed()
        return True

    def use(self, row: int, placed: Placed, sign: int) -> bool:
        """Add (+1) or take away (-1) what a pod takes.

        Sums saturate instead of wrapping, and a saturated sum cannot be taken apart again: returns True where that
        happened and the row has to be summed anew (``recount``).
        """
        whole = True
        for name, amount in placed.requests.items():
            column = self.requested[self.resource_id(name)].data
            whole &= add_saturating(column, row, sign * amount)
        whole &= add_saturating(self.nonzero_cpu.data, row, sign * placed.nonzero_cpu)
        whole &= add_saturating(self.nonzero_memory.data, row, sign * placed.nonzero_memory)
        self.pod_count.data[row] += sign
        return not whole

    def recount(self, row: int, pods: Iterable[Placed]) -> None:
        """Sum a row anew from the pods on it."""
        for column in (*self.requested, self.nonzero_cpu, self.nonzero_memory, self.pod_count):
            column.data[row] = 0
        for placed in pods:
            self.use(row, placed, +1)

    def row_names(self) -> tuple[str, ...]:
        """The name of every row; one tuple for as long as rows do not change hands."""
        if self._row_names is None:
            self._row_names = tuple(self.names[: self.rows.used])
        return self._row_names

    def _set_changed(self) -> None:
        self._row_names = None
        self.journal.node_set += 1
        self.journal.topic_changed(Reads.ALL_NODES)


def add_saturating(column: NDArray[np.int64], row: int, amount: int) -> bool:
    """Add within int64; False where the sum is saturated and a subtraction cannot undo that."""
    before = int(column[row])
    after = before + amount
    column[row] = min(after, INT64_MAX)
    return not (before == INT64_MAX and amount < 0)
