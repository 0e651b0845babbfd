"""VolumeZone: a bound volume's zone and region labels must be the node's.

Reads:  the pod's claims, their volumes' labels; the nodes' zone and region labels.
Says:   one bool per node. Nodes do not move, so it is UNRESOLVABLE.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import reduce
from operator import iand, ior
from typing import TYPE_CHECKING, Final, TypeAlias

from bayplan.cluster import pod_volumes
from bayplan.cluster.changes import Reads
from bayplan.cluster.claims import WAIT_FOR_CONSUMER, class_of_claim
from bayplan.cluster.csi_migration import BETA_REGION, BETA_ZONE, REGION, ZONE, ZONE_SEPARATOR
from bayplan.cluster.node_matching import requirement_mask
from bayplan.framework.events import Action, Hint, Resource, WakeOn
from bayplan.framework.plugin import FilterPlugin, PreFilterPlugin
from bayplan.framework.state import StateKey
from bayplan.framework.status import SKIP, Mask, Rejected, Skip, unresolvable
from bayplan.model.selectors import Operator, Requirement

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.storage import Storage
    from bayplan.cluster.view import ClusterView, Nodes
    from bayplan.framework.state import CycleState
    from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass

#: A label and the values that a volume admits.
Topology: TypeAlias = tuple[str, tuple[str, ...]]

_TOPOLOGIES: Final = StateKey[tuple[Topology, ...]]("VolumeZone")

#: Old labels, and what they are called now.
_RENAMED: Final = {BETA_ZONE: ZONE, BETA_REGION: REGION}
_LABELS: Final = (BETA_ZONE, BETA_REGION, ZONE, REGION)


class VolumeZone(PreFilterPlugin, FilterPlugin):
    """Keeps nodes in the zones of the pod's volumes; nodes that tell no zone are taken to be in all."""

    name = "VolumeZone"
    reads = Reads.LABELS | Reads.STORAGE
    reason = "node(s) had no available volume zone"
    rejection = unresolvable(reason)

    def stamp(self, pod: PodInfo, view: ClusterView, state: CycleState) -> Hashable:
        """Of all storage objects: what follows from this pod's."""
        return _topologies(pod, view.cluster.storage)

    def prefilter(
        self, pod: PodInfo, view: ClusterView, state: CycleState
    ) -> Skip | Rejected | None:
        found = _topologies(pod, view.cluster.storage)
        if isinstance(found, Rejected):
            return found
        if not found:
            return SKIP
        state[_TOPOLOGIES] = found
        return None

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Mask:
        fits = reduce(iand, (_admitted(nodes, topology) for topology in state[_TOPOLOGIES]))
        placed = reduce(ior, (nodes.label(label) >= 0 for label in _LABELS))
        mask: Mask = fits | ~placed
        return mask

    def wakes_on(self) -> Sequence[WakeOn]:
        return (
            WakeOn(Resource.STORAGE_CLASS, Action.ADD, _waits_for_consumers),
            WakeOn(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
            WakeOn(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD | Action.UPDATE, _is_named),
            WakeOn(Resource.PERSISTENT_VOLUME, Action.ADD | Action.UPDATE, _moved),
        )


def _admitted(nodes: Nodes, topology: Topology) -> Mask:
    label, values = topology
    admitted = requirement_mask(nodes, Requirement(label, Operator.IN, values))
    renamed = _RENAMED.get(label)
    if renamed is not None:
        # A node that goes by the new label only is judged by that.
        by_new_name = requirement_mask(nodes, Requirement(renamed, Operator.IN, values))
        admitted |= by_new_name & (nodes.label(label) < 0)
    return admitted


def _topologies(pod: PodInfo, storage: Storage) -> tuple[Topology, ...] | Rejected:
    """What the pod's bound volumes ask of a node."""
    found: list[Topology] = []
    for name in pod_volumes.of(pod).named_claims:
        if not name:
            return unresolvable("PersistentVolumeClaim had no name")
        claim = storage.claims.confirmed(f"{pod.namespace}/{name}")
        if claim is None:
            return unresolvable(f'persistentvolumeclaim "{name}" not found')
        volume_name = claim.spec.volume_name
        if not volume_name:
            problem = _unbound(claim, storage)
            if problem:
                return unresolvable(problem)
            continue
        volume = storage.volumes.confirmed(volume_name)
        if volume is None:
            return unresolvable(f'persistentvolume "{volume_name}" not found')
        found.extend(_of_volume(volume))
    return tuple(found)


def _unbound(claim: PersistentVolumeClaim, storage: Storage) -> str:
    """What is wrong with a claim without a volume; nothing, if it waits for a pod."""
    name = class_of_claim(claim)
    if not name:
        return "PersistentVolumeClaim had no pv name and storageClass name"
    storage_class = storage.classes.get(name)
    if storage_class is None:
        return f'storageclass.storage.k8s.io "{name}" not found'
    if storage_class.volume_binding_mode is None:
        return f'VolumeBindingMode not set for StorageClass "{name}"'
    if storage_class.volume_binding_mode == WAIT_FOR_CONSUMER:
        return ""
    return "PersistentVolume had no name"


def _of_volume(volume: PersistentVolume) -> list[Topology]:
    """A label whose list of zones has a gap counts for nothing, as upstream has it."""
    found = []
    for label in _LABELS:
        listed = volume.metadata.labels.get(label)
        if listed is not None:
            zones = {zone.strip() for zone in listed.split(ZONE_SEPARATOR)}
            if "" not in zones:
                found.append((label, tuple(sorted(zones))))
    return found


def _is_named(
    pod: PodInfo, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None
) -> Hint:
    """Whether the claim is one that the pod names."""
    named = (
        new is not None
        and new.metadata.namespace == pod.namespace
        and new.metadata.name in pod_volumes.of(pod).named_claims
    )
    return Hint.QUEUE if named else Hint.SKIP


def _waits_for_consumers(pod: PodInfo, old: StorageClass | None, new: StorageClass | None) -> Hint:
    """A claim may stay without a volume only in a class that waits for pods."""
    waits = new is not None and new.volume_binding_mode == WAIT_FOR_CONSUMER
    return Hint.QUEUE if waits else Hint.SKIP


def _moved(pod: PodInfo, old: PersistentVolume | None, new: PersistentVolume | None) -> Hint:
    """Whether the volume is new, or says to be elsewhere."""
    if old is None or new is None:
        return Hint.QUEUE
    return Hint.SKIP if _of_volume(old) == _of_volume(new) else Hint.QUEUE
