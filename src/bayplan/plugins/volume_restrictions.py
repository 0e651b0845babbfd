"""VolumeRestrictions: disks that exclude each other, and claims that admit one pod at a time.

Reads:  disks written into the pod, disks of the pods on each node; claims with ReadWriteOncePod and who else uses them.
Says:   one verdict per node. The holder may be evicted, so it is UNSCHEDULABLE; a claim that does not exist is UNRESOLVABLE.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.cluster import pod_volumes
from bayplan.cluster.changes import Reads
from bayplan.cluster.claims import ONCE_POD
from bayplan.cluster.view import TrialNodes
from bayplan.framework.events import Action, Hint, Resource, WakeOn
from bayplan.framework.plugin import FilterPlugin, PreFilterPlugin
from bayplan.framework.state import StateKey
from bayplan.framework.status import SKIP, Mask, Rejected, Skip, Verdicts, unresolvable

if TYPE_CHECKING:
    from bayplan.cluster.nodeinfo import NodeInfo
    from bayplan.cluster.pod_volumes import Disk
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import ClusterView, Nodes
    from bayplan.framework.state import CycleState
    from bayplan.model.pod import Pod
    from bayplan.model.storage import PersistentVolumeClaim


@dataclass(slots=True)
class _Exclusive:
    """The pod's claims that admit one pod at a time."""

    names: frozenset[str]
    #: How many of them are in use, as far as this attempt supposes.
    in_use: int

    def clone(self) -> _Exclusive:
        return _Exclusive(self.names, self.in_use)

    def count(self, other: PodInfo, sign: int) -> None:
        """Another pod comes or goes. Its namespace is not looked at: upstream does not either."""
        names = pod_volumes.of(other).named_claims
        self.in_use += sign * sum(name in self.names for name in names)


_EXCLUSIVE: Final = StateKey[_Exclusive]("VolumeRestrictions")

_DISK: Final = Rejected("node(s) had no available disk")
_IN_USE: Final = Rejected(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode"
    " already in-use by another pod"
)


class VolumeRestrictions(PreFilterPlugin, FilterPlugin):
    """Keeps pods apart that cannot share a volume."""

    name = "VolumeRestrictions"
    reads = Reads.VOLUMES | Reads.STORAGE | Reads.ALL_PODS | Reads.ALL_NODES
    rejection = _DISK

    def stamp(self, pod: PodInfo, view: ClusterView, state: CycleState) -> Hashable:
        """Of all claims and pods in the cluster: what is the case with this pod's few claims."""
        names = pod_volumes.of(pod).named_claims
        return tuple(_standing(pod.namespace, name, view) for name in names)

    def prefilter(
        self, pod: PodInfo, view: ClusterView, state: CycleState
    ) -> Skip | Rejected | None:
        volumes = pod_volumes.of(pod)
        exclusive: dict[str, bool] = {}
        for name in volumes.named_claims:
            standing = _standing(pod.namespace, name, view)
            if standing is None:
                return unresolvable(f'persistentvolumeclaim "{name}" not found')
            once_pod, in_use = standing
            if once_pod:
                exclusive[name] = in_use
        found = _Exclusive(frozenset(exclusive), sum(exclusive.values()))
        if not volumes.disks and not found.in_use:
            return SKIP
        state[_EXCLUSIVE] = found
        return None

    def add_pod(
        self, pod: PodInfo, added: PodInfo, node: NodeInfo, view: ClusterView, state: CycleState
    ) -> None:
        state[_EXCLUSIVE].count(added, +1)

    def remove_pod(
        self, pod: PodInfo, removed: PodInfo, node: NodeInfo, view: ClusterView, state: CycleState
    ) -> None:
        state[_EXCLUSIVE].count(removed, -1)

    def filter(
        self, pod: PodInfo, nodes: Nodes, state: CycleState
    ) -> Mask | Verdicts | Rejected | None:
        held = _nodes_holding(pod_volumes.of(pod).disks, nodes)
        in_use = state[_EXCLUSIVE].in_use > 0
        if not held:
            return _IN_USE if in_use else None
        where = np.fromiter(held, np.intp, len(held))
        if not in_use:
            free = np.ones(len(nodes), np.bool_)
            free[where] = False
            return free
        index = np.full(len(nodes), 2, np.int16)
        index[where] = 1
        return Verdicts(index, (_DISK, _IN_USE))

    def wakes_on(self) -> Sequence[WakeOn]:
        return (
            WakeOn(Resource.POD, Action.DELETE, _frees_a_volume),
            WakeOn(Resource.NODE, Action.ADD),
            WakeOn(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD, _is_named),
        )


def _standing(namespace: str, name: str, view: ClusterView) -> tuple[bool, bool] | None:
    """Whether a claim admits one pod only, and whether a pod on a node uses it; None: there is no such claim."""
    cluster, key = view.cluster, f"{namespace}/{name}"
    claim = cluster.storage.claims.confirmed(key)
    if claim is None:
        return None
    if ONCE_POD not in claim.spec.access_modes:
        return False, False
    alive = cluster.nodes.alive.data
    return True, any(alive[row] for row in cluster.storage.usage.rows_with_claim(key))


def _nodes_holding(disks: tuple[Disk, ...], nodes: Nodes) -> set[int]:
    """Positions of nodes on which a pod holds one of the disks in a way that excludes another pod."""
    if not disks:
        return set()
    usage = nodes.cluster.storage.usage
    rows = {
        row
        for disk in disks
        for key in disk.keys
        for row in usage.rows_with_disk(key, read_only=disk.read_only)
    }
    if nodes.full:
        return rows
    held = {i for i, row in enumerate(nodes.rows.tolist()) if row in rows} if rows else set()
    if isinstance(nodes, TrialNodes):
        for i, pods in nodes.supposed.items():
            if any(_collide(disks, pod_volumes.of(other).disks) for other in pods):
                held.add(i)
            else:
                held.discard(i)
    return held


def _collide(wanted: Iterable[Disk], held: Sequence[Disk]) -> bool:
    return any(
        not (mine.read_only and other.read_only) and not set(mine.keys).isdisjoint(other.keys)
        for mine in wanted
        for other in held
    )


def _frees_a_volume(pod: PodInfo, old: Pod | None, new: Pod | None) -> Hint:
    """Whether the deleted pod held a disk or a claim of this one's."""
    if old is None:
        return Hint.QUEUE
    if old.metadata.namespace != pod.namespace:
        return Hint.SKIP
    wanted, held = pod_volumes.of(pod), pod_volumes.read(old.spec.volumes)
    if _collide(wanted.disks, held.disks):
        return Hint.QUEUE
    shared = set(wanted.named_claims).intersection(held.named_claims)
    return Hint.QUEUE if shared else Hint.SKIP


def _is_named(
    pod: PodInfo, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None
) -> Hint:
    """Whether the new claim is one that the pod names."""
    if new is None:
        return Hint.QUEUE
    named = new.metadata.namespace == pod.namespace and (
        new.metadata.name in pod_volumes.of(pod).named_claims
    )
    return Hint.QUEUE if named else Hint.SKIP
