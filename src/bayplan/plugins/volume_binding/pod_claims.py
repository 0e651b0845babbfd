"""A pod's claims, sorted by what is left to do about them.

Read in PreFilter, from claims as they will be once what was decided is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayplan.cluster import pod_volumes
from bayplan.cluster.claims import (
    SELECTED_NODE,
    WAIT_FOR_CONSUMER,
    class_of_claim,
    is_fully_bound,
)
from bayplan.framework.status import Code, Rejected, unresolvable
from bayplan.model import quantity

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.storage import Storage
    from bayplan.model.storage import PersistentVolumeClaim

_LOST = "Lost"


@dataclass(frozen=True, slots=True)
class PodClaims:
    """The claims of one pod."""

    #: They have a volume, so the node must be one that can use it.
    bound: tuple[PersistentVolumeClaim, ...] = ()
    #: A node was chosen for them before; the volume is to be made there.
    selected: tuple[PersistentVolumeClaim, ...] = ()
    #: They wait for a node, smallest first.
    waiting: tuple[PersistentVolumeClaim, ...] = ()

    @property
    def undecided(self) -> bool:
        """Whether the choice of the node decides about a volume."""
        return bool(self.selected or self.waiting)


def claims_of(pod: PodInfo, storage: Storage) -> PodClaims | Rejected:
    """The pod's claims, or why the pod cannot run anywhere."""
    volumes = pod_volumes.of(pod)
    for volume in volumes.claims:
        problem = _problem(pod, volume.claim_name(pod.name), storage, ephemeral=volume.ephemeral)
        if problem:
            return unresolvable(problem)
    bound: list[PersistentVolumeClaim] = []
    selected: list[PersistentVolumeClaim] = []
    waiting: list[PersistentVolumeClaim] = []
    immediate = False
    for volume in volumes.claims:
        claim = storage.claims.get(f"{pod.namespace}/{volume.claim_name(pod.name)}")
        assert claim is not None
        if is_fully_bound(claim):
            bound.append(claim)
            continue
        waits = _waits_for_consumer(claim, storage)
        if isinstance(waits, Rejected):
            return waits
        if not waits or claim.spec.volume_name:
            immediate = True
        elif SELECTED_NODE in claim.metadata.annotations:
            selected.append(claim)
        else:
            waiting.append(claim)
    if immediate:
        return unresolvable("pod has unbound immediate PersistentVolumeClaims")
    waiting.sort(key=size_of)
    return PodClaims(tuple(bound), tuple(selected), tuple(waiting))


def size_of(claim: PersistentVolumeClaim) -> int:
    """What the claim asks for, in billionths of a byte."""
    return quantity.nano_value(claim.spec.resources.requests.get("storage", 0))


def _problem(pod: PodInfo, name: str, storage: Storage, *, ephemeral: bool) -> str:
    """What keeps a pod with this claim from running at all."""
    claim = storage.claims.confirmed(f"{pod.namespace}/{name}")
    if claim is None:
        if ephemeral:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        return f'persistentvolumeclaim "{name}" not found'
    if claim.status.phase == _LOST:
        volume = claim.spec.volume_name
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
    if claim.is_terminating:
        return f'persistentvolumeclaim "{name}" is being deleted'
    if ephemeral:
        return pod_volumes.ownership_problem(claim.metadata, pod.name, pod.uid)
    return ""


def _waits_for_consumer(claim: PersistentVolumeClaim, storage: Storage) -> bool | Rejected:
    """Whether the claim gets its volume only when a pod needs it."""
    name = class_of_claim(claim)
    storage_class = storage.classes.get(name) if name else None
    if storage_class is None:
        return False
    mode = storage_class.volume_binding_mode
    if mode is None:
        return Rejected(f'VolumeBindingMode not set for StorageClass "{name}"', code=Code.ERROR)
    return mode == WAIT_FOR_CONSUMER
