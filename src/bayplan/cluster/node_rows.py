"""Rows of nodes as columns: all of them, or the few that are judged again.

What whoever works with nodes alone takes (selectors, volumes); ``node_set.Nodes`` adds the rest of the cluster to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.devices import COUNT, GPU, MOST, WHOLE, fullest
from bayplan.cluster.offers import Offer

if TYPE_CHECKING:
    from bayplan.cluster.nodes import NodeTable
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.pods import PodTable
    from bayplan.cluster.ports import PortTable
    from bayplan.model.node import Taint

Rows = NDArray[np.intp]

#: For so few nodes a loop is faster than columns.
_FEW: Final = 8


class NodeRows:
    """Columns of some rows. Every array has one entry per node of this set; do not change or keep them."""

    __slots__ = ("_rows", "_taken", "full", "pod_table", "port_table", "table")

    def __init__(
        self, table: NodeTable, pods: PodTable, ports: PortTable, rows: Rows | None = None
    ) -> None:
        self.table = table
        self.pod_table = pods
        self.port_table = ports
        #: Whether these are all rows: ``i`` is then the row itself.
        self.full = rows is None
        self._rows = rows
        #: Parts of columns taken so far: several plugins read the same ones of a few rows.
        self._taken: dict[int, NDArray[Any]] = {}

    def __len__(self) -> int:
        return self.table.rows.used if self._rows is None else len(self._rows)

    @property
    def rows(self) -> Rows:
        """The row of each node in the cluster's columns."""
        return np.arange(len(self), dtype=np.intp) if self._rows is None else self._rows

    def take(self, column: NDArray[Any]) -> NDArray[Any]:
        """The part of a cluster-wide column (one entry per row) that belongs to these nodes."""
        if self._rows is None:
            return column[: self.table.rows.used]
        taken = self._taken.get(id(column))
        if taken is None:
            taken = self._taken[id(column)] = column[self._rows]
        return taken

    @property
    def alive(self) -> NDArray[np.bool_]:
        """False for rows without a Node object: whatever is said of them is ignored."""
        return self.take(self.table.alive.seen)

    # --- resources
    @property
    def resources(self) -> list[str]:
        """All resource names known to the cluster."""
        return self.table.resources.values

    def allocatable(self, resource: str | int) -> NDArray[np.int64]:
        """What the nodes offer of a resource (CPU in milli-units), 0 where they have none."""
        return self.take(self.table.allocatable[self._id(resource)].seen)

    def requested(self, resource: str | int) -> NDArray[np.int64]:
        """What the pods on the nodes have asked for."""
        return self.take(self.table.requested[self._id(resource)].seen)

    def free(self, resource: str | int) -> NDArray[np.int64]:
        """Allocatable minus requested."""
        free: NDArray[np.int64] = self.allocatable(resource) - self.requested(resource)
        return free

    def offer(self, resource: int) -> Offer:
        """What the nodes offer of the resource with this id, as floats to divide by."""
        offer = self.table.offers.of(resource)
        if self._rows is None:
            return offer
        whole, absent, huge = offer
        return Offer(
            self.take(whole),
            None if absent is None else self.take(absent),
            None if huge is None else self.take(huge),
        )

    def _id(self, resource: str | int) -> int:
        if isinstance(resource, int):
            return resource
        return self.table.resource_id(resource)

    @property
    def nonzero_cpu(self) -> NDArray[np.int64]:
        """Requested CPU for scoring: a container without a request counts 100m."""
        return self.take(self.table.nonzero_cpu.seen)

    @property
    def nonzero_memory(self) -> NDArray[np.int64]:
        """Requested memory for scoring: a container without a request counts 200 MiB."""
        return self.take(self.table.nonzero_memory.seen)

    @property
    def max_pods(self) -> NDArray[np.int64]:
        """How many pods the nodes take."""
        return self.take(self.table.max_pods.seen)

    @property
    def pod_count(self) -> NDArray[np.int64]:
        """How many pods are there."""
        return self.take(self.table.pod_count.seen)

    # --- GPUs that pods share
    def device_count(self) -> NDArray[np.int64]:
        """How many GPUs each node has."""
        own = self.allocatable(COUNT)
        return np.where(own > 0, own, self.allocatable(GPU))

    def device_free(self) -> NDArray[np.int64]:
        """Thousandths left of each device, ``[device, node]``; 0 where a node has no such device."""
        counts = self.device_count()
        free = np.zeros((min(int(counts.max(initial=0)), MOST), len(self)), np.int64)
        if self._pods_are_supposed:
            for i in np.flatnonzero(counts).tolist():
                rest = self.device_free_of(i)
                free[: len(rest), i] = rest
            return free
        taken = self.table.devices.taken
        for device in range(len(free)):
            left = WHOLE - self.take(taken[device].seen) if device < len(taken) else WHOLE
            free[device] = np.where(counts > device, np.maximum(left, 0), 0)
        return free

    def device_free_of(self, i: int) -> list[int]:
        """The same of node ``i``, one entry for each device that it has."""
        count, devices = int(self.device_count()[i]), self.table.devices
        if not self._pods_are_supposed:
            return devices.free(self.row(i), count)
        left, row = [WHOLE] * min(count, MOST), self.row(i)
        for pod in self.pods_on(i):
            held = devices.held.get(pod.key)
            if held is not None and held.row == row:
                chosen, milli = held.devices, held.milli
            else:
                share = pod.gpu_share
                chosen, milli = fullest(left, share) if share.devices else (), share.milli
            for device in chosen:
                if device < len(left):
                    left[device] = max(left[device] - milli, 0)
        return left

    @property
    def _pods_are_supposed(self) -> bool:
        """Whether the pods on these nodes are a what-if's."""
        return type(self).pods_on is not NodeRows.pods_on

    # --- what nodes are
    def label(self, key: str) -> NDArray[np.int32]:
        """The value id of a label (see ``ClusterView.label_value``), -1 where a node has it not."""
        return self.take(self.table.labels.column(key))

    def by_label(self, key: str, say: Callable[[str], float]) -> NDArray[np.float64]:
        """What ``say`` makes of each node's value of a label, asked once per value; "" where a node has it not."""
        labels = self.table.labels
        ids = self.label(key)
        if len(self) <= _FEW:
            texts = labels.values(key)
            return np.array([say(texts[i] if i >= 0 else "") for i in ids.tolist()], np.float64)
        return np.array([*map(say, labels.values(key)), say("")], np.float64)[ids]

    @property
    def taint_set(self) -> NDArray[np.int32]:
        """Id of each node's set of taints; 0 is the empty one. ``ClusterView.taint_sets`` lists them."""
        return self.take(self.table.taint_set.seen)

    @property
    def unschedulable(self) -> NDArray[np.bool_]:
        """Cordoned nodes."""
        return self.take(self.table.unschedulable.seen)

    def data(self, metric: str) -> NDArray[np.float64]:
        """Outside data, NaN where nobody has said."""
        return self.take(self.table.data.column(metric))

    # --- one node of the set
    def row(self, i: int) -> int:
        """The row of node ``i``."""
        return i if self._rows is None else int(self._rows[i])

    def name(self, i: int) -> str:
        """The name of node ``i``."""
        return self.table.names[self.row(i)]

    def labels_of(self, i: int) -> Mapping[str, str]:
        """The labels of node ``i``."""
        return self.table.labels.of(self.row(i))

    def taints_of(self, i: int) -> tuple[Taint, ...]:
        """The taints of node ``i``."""
        nodes = self.table
        return nodes.taint_sets.values[int(nodes.taint_set.data[self.row(i)])]

    def annotations_of(self, i: int) -> Mapping[str, str]:
        """The annotations of node ``i``."""
        record = self.table.records[self.row(i)]
        return record.annotations if record is not None else {}

    def capacity_of(self, i: int) -> Mapping[str, int]:
        """The capacity of node ``i``."""
        record = self.table.records[self.row(i)]
        return record.capacity if record is not None else {}

    def features_of(self, i: int) -> frozenset[str]:
        """The features that node ``i`` declares."""
        record = self.table.records[self.row(i)]
        return record.features if record is not None else frozenset()

    def images_of(self, i: int) -> Mapping[str, int]:
        """Images of node ``i``, name to size."""
        return self.table.images.of(self.row(i))

    # --- pods on the nodes
    def pods_on(self, i: int) -> list[PodInfo]:
        """The pods on node ``i``."""
        row = self.row(i)
        name, pods = self.table.names[row], self.pod_table
        return [pods.info(pod, name) for pod in pods.on_node(row)]

    def count_pods(self, counted: Callable[[str, Mapping[str, str]], bool]) -> NDArray[np.int64]:
        """How many pods of each node ``counted(namespace, labels)`` is true of."""
        if not self.full:
            found = [
                sum(bool(counted(pod.namespace, pod.labels)) for pod in self.pods_on(i))
                for i in range(len(self))
            ]
            return np.array(found, np.int64)
        pods = self.pod_table
        rows = np.flatnonzero(pods.kin_id.seen >= 0)
        kin_of = pods.kin_id.seen[rows]
        kin_ids, examples = np.unique(kin_of, return_index=True)
        kins = [pods.kins[row] for row in rows[examples].tolist()]  # one for all of the same labels
        wanted = [kin is not None and bool(counted(kin.namespace, kin.labels)) for kin in kins]
        placed = pods.node_row.seen[rows[np.isin(kin_of, kin_ids[np.array(wanted, np.bool_)])]]
        return np.bincount(placed, minlength=len(self)).astype(np.int64)

    def port_holders(self, protocol: str, port: int) -> Iterable[tuple[int, str]]:
        """``(i, ip)`` for each node of the set on which a pod holds this host port."""
        held = self.port_table.holders(protocol, port)
        if self._rows is None:
            return [(row, ip) for row, ips in held.items() for ip in ips]
        return [(i, ip) for i, row in enumerate(self._rows.tolist()) for ip in held.get(row, ())]
