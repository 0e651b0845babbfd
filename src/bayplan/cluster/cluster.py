"""The cluster as columns: events go in, assumptions are made and settled, and a view comes out.

::

                 assume              put_pod (same node)
    (unknown) ──────────▶ ASSUMED ───────────────────────▶ PLACED ──┐ put_pod: brought up to date
        ▲  │                 │ forget, remove_pod             │  ▲──┘
        │  └─────────────────┼────────── put_pod ─────────────┼──▶ PLACED
        └────────────────────┴───────── remove_pod ───────────┘

An assumption never expires by itself: a binding that is slow, or whose answer was lost, must not have its room given
away. It ends when the API server shows the pod (wherever it is), when the pod is deleted, or when the binding is known
to have failed (``forget``).

Fed by whoever has events (the API server, a case file, a trace); read by the cycle through ``view``. One writer.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import singledispatchmethod
from typing import TYPE_CHECKING, Any

from bayplan.cluster.changes import Reads
from bayplan.cluster.devices import Held
from bayplan.cluster.kin import pod_info
from bayplan.cluster.podinfo import PodInfo
from bayplan.cluster.scheduling_policies import effective_pod
from bayplan.cluster.tables import Tables
from bayplan.cluster.tombstones import Tombstones
from bayplan.cluster.view import ClusterView
from bayplan.model.namespace import Namespace
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.policy import ElasticQuota, PodDisruptionBudget, PriorityClass
from bayplan.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from bayplan.model.workloads import ReplicaSet, ReplicationController, Service, StatefulSet

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import Shape

#: What a pod that comes or goes changes in its node's row.
_POD_MOVES = int(Reads.USAGE | Reads.LOCAL_PODS)
_PORTS, _VOLUMES, _ALL_PODS = int(Reads.PORTS), int(Reads.VOLUMES), int(Reads.ALL_PODS)
_QUOTAS = int(Reads.QUOTAS)


class Cluster(Tables):
    """All tables, kept consistent with each other."""

    def __init__(self) -> None:
        super().__init__()
        self._gone = Tombstones()
        #: Told of every pod that is counted on a node (+1), or no longer (-1).
        self.on_count: list[Callable[[PodInfo, str, int], None]] = []
        self.view = ClusterView(self)

    # --- objects -------------------------------------------------------------------------------------------------------

    @singledispatchmethod
    def put(self, obj: Any) -> None:
        """Take over an object that was added or changed."""
        raise TypeError(f"the cluster keeps no {type(obj).__name__}")

    @singledispatchmethod
    def remove(self, obj: Any) -> None:
        """Forget an object that was deleted."""
        raise TypeError(f"the cluster keeps no {type(obj).__name__}")

    @put.register
    def _(self, node: Node) -> None:
        self.put_node(node)

    @remove.register
    def _(self, node: Node) -> None:
        self.remove_node(node.metadata.name)

    @put.register
    def _(self, pod: Pod) -> None:
        self.put_pod(self.info(pod))

    @remove.register
    def _(self, pod: Pod) -> None:
        self.remove_pod(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)

    @put.register
    def _(self, namespace: Namespace) -> None:
        self.namespaces.put(namespace)
        self.policies.put_namespace(namespace)
        self._namespace_changed(namespace.metadata.name)

    @remove.register
    def _(self, namespace: Namespace) -> None:
        self.namespaces.remove(namespace)
        self.policies.remove_namespace(namespace.name)
        self._namespace_changed(namespace.metadata.name)

    def _namespace_changed(self, name: str) -> None:
        self.counts.namespace_changed(name)
        self.journal.topic_changed(Reads.NAMESPACES)

    @put.register(PersistentVolume)
    @put.register(PersistentVolumeClaim)
    @put.register(StorageClass)
    @put.register(CSINode)
    @put.register(CSIDriver)
    @put.register(CSIStorageCapacity)
    @put.register(VolumeAttachment)
    def _(self, obj: Any) -> None:
        self.storage.put(obj)

    @remove.register(PersistentVolume)
    @remove.register(PersistentVolumeClaim)
    @remove.register(StorageClass)
    @remove.register(CSINode)
    @remove.register(CSIDriver)
    @remove.register(CSIStorageCapacity)
    @remove.register(VolumeAttachment)
    def _(self, obj: Any) -> None:
        self.storage.remove(obj)

    @put.register(Service)
    @put.register(ReplicaSet)
    @put.register(ReplicationController)
    @put.register(StatefulSet)
    def _(self, obj: Any) -> None:
        self.workloads.put(obj)

    @remove.register(Service)
    @remove.register(ReplicaSet)
    @remove.register(ReplicationController)
    @remove.register(StatefulSet)
    def _(self, obj: Any) -> None:
        self.workloads.remove(obj)

    @put.register
    def _(self, budget: PodDisruptionBudget) -> None:
        self.budgets.put(budget)

    @remove.register
    def _(self, budget: PodDisruptionBudget) -> None:
        self.budgets.remove(budget)

    @put.register
    def _(self, quota: ElasticQuota) -> None:
        self.quotas.put(quota)

    @remove.register
    def _(self, quota: ElasticQuota) -> None:
        self.quotas.remove(quota)

    @put.register
    def _(self, found: PriorityClass) -> None:
        self.priority_classes[found.name] = found
        self.policies.put_class(found)

    @remove.register
    def _(self, found: PriorityClass) -> None:
        self.priority_classes.pop(found.name, None)
        self.policies.remove_class(found.name)

    # --- nodes ---------------------------------------------------------------------------------------------------------

    def put_node(self, node: Node) -> Reads:
        """Add a node or bring it up to date; returns what changed."""
        row = self.nodes.row_for(node.metadata.name)
        record = self.nodes.records[row]
        moves = record is None or record.labels != node.metadata.labels
        if moves:
            self.counts.before_row_change(row)
        changed = self.nodes.put(node)
        if moves:
            self.counts.after_row_change(row)
        return changed

    def remove_node(self, name: str) -> None:
        """A node is gone; pods still on it keep their row until they go too."""
        row = self.nodes.row_of.get(name)
        if row is None or self.nodes.records[row] is None:
            return
        self.counts.before_row_change(row)
        self.nodes.remove(name)
        self.counts.after_row_change(row)
        self.nodes.drop_if_empty(row)

    def set_data(self, node: str, metric: str, value: float) -> bool:
        """Outside data about a node; returns whether that is news."""
        row = self.nodes.row_of.get(node)
        if row is None or not self.nodes.data.set(row, metric, value):
            return False
        self.journal.row_changed(row, Reads.DATA)
        return True

    # --- pods ----------------------------------------------------------------------------------------------------------

    def info(self, pod: Pod) -> PodInfo:
        """What is kept of a decoded pod, with the scheduling policy laid over it that holds for it."""
        info = pod_info(pod, self.kins, self.shapes)
        self._lay_over(info, info.shape)
        return info

    def info_again(self, info: PodInfo) -> PodInfo:
        """A pending pod by the policies of now; the same object where nothing has changed for it."""
        own = info.own_shape or info.shape
        if self.policies.holding_for(info, own) == info.policy:
            return info
        again = copy(info)
        again.forget_likeness()
        again.shape, again.policy, again.own_shape = own, None, None
        self._lay_over(again, own)
        return again

    def _lay_over(self, info: PodInfo, own: Shape) -> None:
        applied = info.policy = self.policies.holding_for(info, own)
        if applied is None:
            return
        info.own_shape = own
        if applied.policy is not None and not applied.problem:
            info.shape = self.shapes.get(effective_pod(own.spec, applied.policy))

    def put_pod(self, pod: PodInfo) -> None:
        """A pod as the API server shows it: placed, pending, nominated or finished."""
        row = self.pods.row_of.get(pod.key)
        if self._is_stale(pod, row):
            return
        if row is not None and self._ends(row, pod):
            self._displace(row)
            row = None
        elif row is not None and not pod.node_name:
            return  # news of a pod that we are binding: its room stays taken
        if pod.finished or not pod.node_name:
            self._gone.saw(pod.key, pod.uid, pod.resource_version)
        if pod.finished:
            self.nominations.remove(pod.key)
            self.gangs.gone(pod.key)
        elif not pod.node_name:
            self.gangs.waits(pod)
            if pod.nominated_node:
                self.nominations.put(pod, pod.nominated_node)
            else:
                self.nominations.remove(pod.key)
        elif row is None:
            self.nominations.remove(pod.key)
            self._place(pod, pod.node_name, assumed=False)
        else:
            self._update(row, pod)

    def _ends(self, row: int, pod: PodInfo) -> bool:
        """Whether the pod that holds a row holds it no longer, going by the latest news of its name."""
        if pod.finished or self.pods.uids[row] != pod.uid:
            return True
        return not pod.node_name and not self.pods.is_assumed(row)

    def _is_stale(self, pod: PodInfo, row: int | None) -> bool:
        """Whether an event tells of a state that a later one has overtaken."""
        if self._gone.holds(pod.key, pod.uid, pod.resource_version):
            return True
        if row is None or self.pods.uids[row] != pod.uid or self.pods.is_assumed(row):
            return False
        known = self.pods.versions[row]
        return (
            known.isdigit()
            and pod.resource_version.isdigit()
            and int(pod.resource_version) < int(known)
        )

    def remove_pod(self, namespace: str, name: str, uid: str = "") -> None:
        """A pod was deleted."""
        key = f"{namespace}/{name}"
        row = self.pods.row_of.get(key)
        self._gone.add(key, uid)
        if row is not None and uid and self.pods.uids[row] and self.pods.uids[row] != uid:
            return  # the deletion of a predecessor of the same name
        self.nominations.remove(key)
        self.gangs.gone(key)
        if row is not None:
            self._displace(row)

    def assume(self, pod: PodInfo, node: str) -> None:
        """Count a pod as placed before the API server has agreed."""
        if pod.key in self.pods.row_of:
            raise ValueError(f"pod {pod.key} is placed already")
        self.nominations.remove(pod.key)
        self._place(pod, node, assumed=True)

    def forget(self, pod: PodInfo) -> None:
        """The assumption did not come true."""
        row = self.pods.row_of.get(pod.key)
        if row is not None and self.pods.is_assumed(row) and self.pods.uids[row] == pod.uid:
            self._displace(row)
            self.gangs.waits(pod)

    def displace(self, row: int) -> None:
        """Suppose that a placed pod is gone; whoever does so puts it back."""
        self._displace(row)

    def replace(self, pod: PodInfo, *, assumed: bool, devices: Held | None) -> None:
        """Put back a pod that was displaced, with the shared devices that it had."""
        self._place(pod, pod.node_name, assumed=assumed)
        self.nodes.devices.give_back(pod.key, devices)

    def _update(self, row: int, pod: PodInfo) -> None:
        node_row = int(self.pods.node_row.data[row])
        same_place = self.nodes.names[node_row] == pod.node_name
        same_pod = (
            same_place
            and self.pods.shapes[row] is pod.shape
            and self.pods.kins[row] is pod.kin
            and bool(self.pods.flags.data[row] & 1) == pod.terminating
        )
        if same_pod:
            self.pods.describe(row, pod, assumed=False)
            self.gangs.confirm(pod)
            return
        self._displace(row)
        self._place(pod, pod.node_name, assumed=False)

    def _place(self, pod: PodInfo, node: str, *, assumed: bool) -> None:
        node_row = self.nodes.row_for(node)
        self.pods.add(pod, node_row, assumed=assumed)
        if pod.gpu_share.devices:
            count = self.nodes.device_count(node_row)
            self.nodes.devices.place(pod.key, pod.gpu_share, pod.annotations, node_row, count)
        self._count(pod, node_row, +1)
        self.gangs.place(pod, assumed=assumed)

    def _displace(self, row: int) -> None:
        node_row = int(self.pods.node_row.data[row])
        pod = self.pods.info(row, self.nodes.names[node_row])
        self.pods.remove(row)
        self.nodes.devices.displace(pod.key)
        self._count(pod, node_row, -1)
        self.gangs.displace(pod)
        self.nodes.drop_if_empty(node_row)

    def _count(self, pod: PodInfo, node_row: int, sign: int) -> None:
        """Everything that is derived from a pod being on a node, in one place."""
        shape, changed = pod.shape, _POD_MOVES
        if self.nodes.use(node_row, shape.placed, sign):
            there = (self.pods.shapes[row] for row in self.pods.on_node(node_row))
            self.nodes.recount(node_row, (other.placed for other in there if other is not None))
        self.counts.place(pod, node_row, sign)
        if shape.host_ports:
            self.ports.place(shape.host_ports, node_row, sign)
            changed |= _PORTS
        if shape.has_volumes:
            self.storage.place(pod, node_row, sign)
            changed |= _VOLUMES
        if self.accounts.opened:
            for account in self.accounts.opened:
                account.charge(pod, sign)
            self.journal.topic_changed(_QUOTAS)
        for told in self.on_count:
            told(pod, self.nodes.names[node_row], sign)
        self.journal.row_changed(node_row, changed)
        self.journal.topic_changed(_ALL_PODS)
