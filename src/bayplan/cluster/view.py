"""Reading the cluster: what plugins and the cycle see of the tables.

``ClusterView`` is the whole cluster; ``Nodes`` is a set of rows in columns: all of them, or the few that are judged
again. ``TrialNodes`` are rows of a what-if: pods can be taken away and put there without touching the cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.changes import Reads
from bayplan.cluster.nodeinfo import REGION, ZONE, NodeInfo
from bayplan.cluster.nodes import INT64_MAX, add_saturating
from bayplan.cluster.podinfo import HostPort, PodInfo

if TYPE_CHECKING:
    from bayplan.cluster.cluster import Cluster
    from bayplan.model.node import Taint

Rows = NDArray[np.intp]


class Nodes:
    """Columns of some rows. Every array has one entry per node of this set; do not change or keep them."""

    __slots__ = ("_rows", "_taken", "cluster", "full")

    def __init__(self, cluster: Cluster, rows: Rows | None = None) -> None:
        self.cluster = cluster
        #: Whether these are all rows: ``i`` is then the row itself.
        self.full = rows is None
        self._rows = rows
        #: Parts of columns taken so far: several plugins read the same ones of a few rows.
        self._taken: dict[int, NDArray[Any]] = {}

    def __len__(self) -> int:
        return self.cluster.nodes.rows.used if self._rows is None else len(self._rows)

    @property
    def rows(self) -> Rows:
        """The row of each node in the cluster's columns."""
        return np.arange(len(self), dtype=np.intp) if self._rows is None else self._rows

    def take(self, column: NDArray[Any]) -> NDArray[Any]:
        """The part of a cluster-wide column (one entry per row) that belongs to these nodes."""
        if self._rows is None:
            return column[: self.cluster.nodes.rows.used]
        taken = self._taken.get(id(column))
        if taken is None:
            taken = self._taken[id(column)] = column[self._rows]
        return taken

    @property
    def alive(self) -> NDArray[np.bool_]:
        """False for rows without a Node object: whatever is said of them is ignored."""
        return self.take(self.cluster.nodes.alive.seen)

    # --- resources
    @property
    def resources(self) -> list[str]:
        """All resource names known to the cluster."""
        return self.cluster.nodes.resources.values

    def allocatable(self, resource: str | int) -> NDArray[np.int64]:
        """What the nodes offer of a resource (CPU in milli-units), 0 where they have none."""
        return self.take(self.cluster.nodes.allocatable[self._id(resource)].seen)

    def requested(self, resource: str | int) -> NDArray[np.int64]:
        """What the pods on the nodes have asked for."""
        return self.take(self.cluster.nodes.requested[self._id(resource)].seen)

    def free(self, resource: str | int) -> NDArray[np.int64]:
        """Allocatable minus requested."""
        free: NDArray[np.int64] = self.allocatable(resource) - self.requested(resource)
        return free

    def _id(self, resource: str | int) -> int:
        if isinstance(resource, int):
            return resource
        return self.cluster.nodes.resource_id(resource)

    @property
    def nonzero_cpu(self) -> NDArray[np.int64]:
        """Requested CPU for scoring: a container without a request counts 100m."""
        return self.take(self.cluster.nodes.nonzero_cpu.seen)

    @property
    def nonzero_memory(self) -> NDArray[np.int64]:
        """Requested memory for scoring: a container without a request counts 200 MiB."""
        return self.take(self.cluster.nodes.nonzero_memory.seen)

    @property
    def max_pods(self) -> NDArray[np.int64]:
        """How many pods the nodes take."""
        return self.take(self.cluster.nodes.max_pods.seen)

    @property
    def pod_count(self) -> NDArray[np.int64]:
        """How many pods are there."""
        return self.take(self.cluster.nodes.pod_count.seen)

    # --- what nodes are
    def label(self, key: str) -> NDArray[np.int32]:
        """The value id of a label (see ``ClusterView.label_value``), -1 where a node has it not."""
        return self.take(self.cluster.nodes.labels.column(key))

    @property
    def taint_set(self) -> NDArray[np.int32]:
        """Id of each node's set of taints; 0 is the empty one. ``ClusterView.taint_sets`` lists them."""
        return self.take(self.cluster.nodes.taint_set.seen)

    @property
    def unschedulable(self) -> NDArray[np.bool_]:
        """Cordoned nodes."""
        return self.take(self.cluster.nodes.unschedulable.seen)

    def data(self, metric: str) -> NDArray[np.float64]:
        """Outside data, NaN where nobody has said."""
        return self.take(self.cluster.nodes.data.column(metric))

    # --- one node of the set
    def row(self, i: int) -> int:
        """The row of node ``i``."""
        return i if self._rows is None else int(self._rows[i])

    def node(self, i: int) -> NodeInfo:
        """Node ``i`` as one object."""
        return NodeInfo(self, i)

    def name(self, i: int) -> str:
        """The name of node ``i``."""
        return self.cluster.nodes.names[self.row(i)]

    def labels_of(self, i: int) -> Mapping[str, str]:
        """The labels of node ``i``."""
        return self.cluster.nodes.labels.of(self.row(i))

    def taints_of(self, i: int) -> tuple[Taint, ...]:
        """The taints of node ``i``."""
        nodes = self.cluster.nodes
        return nodes.taint_sets.values[int(nodes.taint_set.data[self.row(i)])]

    def annotations_of(self, i: int) -> Mapping[str, str]:
        """The annotations of node ``i``."""
        record = self.cluster.nodes.records[self.row(i)]
        return record.annotations if record is not None else {}

    def capacity_of(self, i: int) -> Mapping[str, int]:
        """The capacity of node ``i``."""
        record = self.cluster.nodes.records[self.row(i)]
        return record.capacity if record is not None else {}

    def features_of(self, i: int) -> frozenset[str]:
        """The features that node ``i`` declares."""
        record = self.cluster.nodes.records[self.row(i)]
        return record.features if record is not None else frozenset()

    def images_of(self, i: int) -> Mapping[str, int]:
        """Images of node ``i``, name to size."""
        return self.cluster.nodes.images.of(self.row(i))

    # --- pods on the nodes
    def pods_on(self, i: int) -> list[PodInfo]:
        """The pods on node ``i``."""
        cluster, row = self.cluster, self.row(i)
        name = cluster.nodes.names[row]
        return [cluster.pods.info(pod, name) for pod in cluster.pods.on_node(row)]

    def port_holders(self, protocol: str, port: int) -> Iterable[tuple[int, str]]:
        """``(i, ip)`` for each node of the set on which a pod holds this host port."""
        held = self.cluster.ports.holders(protocol, port)
        if self._rows is None:
            return [(row, ip) for row, ips in held.items() for ip in ips]
        return [(i, ip) for i, row in enumerate(self._rows.tolist()) for ip in held.get(row, ())]


class TrialNodes(Nodes):
    """Rows of a what-if, with columns of their own: pods come and go here without touching the cluster.

    A single node's trial is what preemption and nominated pods are judged on; a trial of many rows serves batches.
    """

    __slots__ = ("_nonzero_cpu", "_nonzero_memory", "_pod_count", "_pods", "_ports", "_requested")

    def __init__(self, cluster: Cluster, rows: Rows) -> None:
        super().__init__(cluster, rows)
        self._requested: dict[int, NDArray[np.int64]] = {}
        self._nonzero_cpu = super().nonzero_cpu.copy()
        self._nonzero_memory = super().nonzero_memory.copy()
        self._pod_count = super().pod_count.copy()
        #: By position: the pods there now, where it differs from the cluster.
        self._pods: dict[int, list[PodInfo]] = {}
        #: By position: the host ports held there now, once somebody has asked or changed them.
        self._ports: dict[int, set[HostPort]] = {}

    def requested(self, resource: str | int) -> NDArray[np.int64]:
        """What the pods of the trial ask for."""
        number = self._id(resource)
        column = self._requested.get(number)
        if column is None:
            column = self._requested[number] = super().requested(number).copy()
        return column

    @property
    def nonzero_cpu(self) -> NDArray[np.int64]:
        """As of the trial."""
        return self._nonzero_cpu

    @property
    def nonzero_memory(self) -> NDArray[np.int64]:
        """As of the trial."""
        return self._nonzero_memory

    @property
    def pod_count(self) -> NDArray[np.int64]:
        """As of the trial."""
        return self._pod_count

    def add_pod(self, i: int, pod: PodInfo) -> None:
        """Suppose that ``pod`` runs on node ``i`` too."""
        self._there(i).append(pod)
        if pod.shape.host_ports:
            self._ports_on(i).update(pod.shape.host_ports)
        self._use(i, pod, +1)

    def remove_pod(self, i: int, pod: PodInfo) -> None:
        """Suppose that ``pod`` no longer runs on node ``i``."""
        name, namespace = pod.name, pod.namespace
        self._pods[i] = [
            other for other in self._there(i) if other.name != name or other.namespace != namespace
        ]
        if pod.shape.host_ports:
            self._ports_on(i).difference_update(pod.shape.host_ports)
        self._use(i, pod, -1)

    def _there(self, i: int) -> list[PodInfo]:
        """The list of pods on node ``i``, to be changed."""
        pods = self._pods.get(i)
        if pods is None:
            pods = self._pods[i] = super().pods_on(i)
        return pods

    def fork(self) -> TrialNodes:
        """A copy to suppose something further on, leaving this one as it is."""
        fork = TrialNodes(self.cluster, self.rows)
        fork._requested = {number: column.copy() for number, column in self._requested.items()}
        fork._nonzero_cpu = self._nonzero_cpu.copy()
        fork._nonzero_memory = self._nonzero_memory.copy()
        fork._pod_count = self._pod_count.copy()
        fork._pods = {i: list(pods) for i, pods in self._pods.items()}
        fork._ports = {i: set(ports) for i, ports in self._ports.items()}
        return fork

    def _use(self, i: int, pod: PodInfo, sign: int) -> None:
        placed = pod.shape.placed
        whole = True
        for name, amount in placed.requests.items():
            whole &= add_saturating(self.requested(name), i, sign * amount)
        whole &= add_saturating(self._nonzero_cpu, i, sign * placed.nonzero_cpu)
        whole &= add_saturating(self._nonzero_memory, i, sign * placed.nonzero_memory)
        self._pod_count[i] += sign
        if not whole:
            self._recount(i)

    def _recount(self, i: int) -> None:
        """Sum node ``i`` anew: a saturated sum cannot be taken apart by subtracting."""
        there = [other.shape.placed for other in self.pods_on(i)]
        for name in {name for placed in there for name in placed.requests}:
            self.requested(name)
        for number, column in self._requested.items():
            name = self.resources[number]
            column[i] = min(sum(placed.requests.get(name, 0) for placed in there), INT64_MAX)
        self._nonzero_cpu[i] = min(sum(placed.nonzero_cpu for placed in there), INT64_MAX)
        self._nonzero_memory[i] = min(sum(placed.nonzero_memory for placed in there), INT64_MAX)

    @property
    def supposed(self) -> Mapping[int, list[PodInfo]]:
        """By position: the pods of the nodes on which something was supposed; the others are as the cluster has them."""
        return self._pods

    def pods_on(self, i: int) -> list[PodInfo]:
        """The pods on node ``i``, as of the trial."""
        pods = self._pods.get(i)
        return super().pods_on(i) if pods is None else pods

    def _ports_on(self, i: int) -> set[HostPort]:
        """Host ports held on node ``i``, as of the trial.

        As in Kubernetes a port is held or not, however many pods hold it: it is free once one of them is gone.
        """
        ports = self._ports.get(i)
        if ports is None:
            there = super().pods_on(i)
            ports = self._ports[i] = {held for pod in there for held in pod.shape.host_ports}
        return ports

    def port_holders(self, protocol: str, port: int) -> Iterable[tuple[int, str]]:
        """``(i, ip)`` for each node of the trial on which a pod holds this host port."""
        return [
            (i, held.ip)
            for i in range(len(self))
            for held in self._ports_on(i)
            if (held.protocol, held.port) == (protocol, port)
        ]


class ClusterView:
    """The whole cluster, read-only: nodes, pods, namespaces, storage, counts, outside data."""

    __slots__ = ("cluster", "nodes")

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        #: All rows. ``len`` counts rows, ``node_count`` counts nodes.
        self.nodes = Nodes(cluster)

    @property
    def node_count(self) -> int:
        """Nodes that pods can be placed on, fit or not."""
        return self.cluster.nodes.alive_count

    def versions(self, reads: Reads) -> tuple[int, ...]:
        """One number per cluster-wide topic; equal numbers mean nothing has changed."""
        return self.cluster.journal.versions(reads)

    def rows(self, rows: Rows) -> Nodes:
        """The columns of some rows."""
        return Nodes(self.cluster, rows)

    def trial(self, rows: Rows) -> TrialNodes:
        """Some rows to try things on."""
        return TrialNodes(self.cluster, rows)

    def row_of(self, node: str) -> int | None:
        """The row of a node that exists."""
        nodes = self.cluster.nodes
        row = nodes.row_of.get(node)
        return row if row is not None and nodes.alive.data[row] else None

    def node(self, name: str) -> NodeInfo | None:
        """A node by name."""
        row = self.row_of(name)
        return None if row is None else self.nodes.node(row)

    def label_value(self, key: str, value: str) -> int:
        """The id by which ``Nodes.label(key)`` shows ``value``, -1 where no node has it."""
        return self.cluster.nodes.labels.value_id(key, value)

    def label_values(self, key: str) -> list[str]:
        """All values of a label by id."""
        return self.cluster.nodes.labels.values(key)

    @property
    def taint_sets(self) -> list[tuple[Taint, ...]]:
        """All sets of taints by id."""
        return self.cluster.nodes.taint_sets.values

    # --- indexes that a custom scheduler asks for
    def nodes_with(self, resource: str, at_least: int) -> list[NodeInfo]:
        """Nodes with at least so much of a resource free (CPU in milli-units)."""
        fits = (self.nodes.free(resource) >= at_least) & self.nodes.alive
        return [self.nodes.node(int(row)) for row in np.flatnonzero(fits)]

    def in_zone(self, zone: str) -> list[NodeInfo]:
        """Nodes whose zone label is ``zone``."""
        return self._labelled(ZONE, zone)

    def in_region(self, region: str) -> list[NodeInfo]:
        """Nodes whose region label is ``region``."""
        return self._labelled(REGION, region)

    def _labelled(self, key: str, value: str) -> list[NodeInfo]:
        number = self.label_value(key, value)
        if number < 0:
            return []
        return [
            self.nodes.node(int(row))
            for row in np.flatnonzero((self.nodes.label(key) == number) & self.nodes.alive)
        ]

    # --- pods
    def pod(self, namespace: str, name: str) -> PodInfo | None:
        """A placed pod by name."""
        cluster = self.cluster
        row = cluster.pods.row_of.get(f"{namespace}/{name}")
        if row is None:
            return None
        return cluster.pods.info(row, cluster.nodes.names[int(cluster.pods.node_row.data[row])])


__all__ = ["ClusterView", "HostPort", "Nodes", "Rows", "TrialNodes"]
