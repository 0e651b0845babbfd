"""Which storage events may help a pod that VolumeBinding turned down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayplan.cluster import pod_volumes
from bayplan.cluster.csi_migration import MIGRATED_PLUGINS
from bayplan.cluster.storage_pools import volume_limit
from bayplan.framework.events import Hint

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.model.storage import (
        CSIDriver,
        CSINode,
        CSIStorageCapacity,
        PersistentVolumeClaim,
        StorageClass,
    )


def after_csi_node(pod: PodInfo, old: CSINode | None, new: CSINode | None) -> Hint:
    """Other plugins are migrated: volumes are judged by other labels."""
    if old is None or new is None:
        return Hint.QUEUE
    same = old.annotations.get(MIGRATED_PLUGINS, "") == new.annotations.get(MIGRATED_PLUGINS, "")
    return Hint.SKIP if same else Hint.QUEUE


def after_claim(
    pod: PodInfo, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None
) -> Hint:
    """The claim is one of the pod's."""
    if new is None:
        return Hint.QUEUE
    mine = new.metadata.namespace == pod.namespace and any(
        claim.claim_name(pod.name) == new.metadata.name for claim in pod_volumes.of(pod).claims
    )
    return Hint.QUEUE if mine else Hint.SKIP


def after_storage_class(pod: PodInfo, old: StorageClass | None, new: StorageClass | None) -> Hint:
    """The class is new, or admits other nodes."""
    if old is None or new is None:
        return Hint.QUEUE
    return Hint.SKIP if old.allowed_topologies == new.allowed_topologies else Hint.QUEUE


def after_capacity(
    pod: PodInfo, old: CSIStorageCapacity | None, new: CSIStorageCapacity | None
) -> Hint:
    """There is room for larger volumes than before."""
    if old is None or new is None:
        return Hint.QUEUE
    return Hint.QUEUE if volume_limit(new) > volume_limit(old) else Hint.SKIP


def after_driver(pod: PodInfo, old: CSIDriver | None, new: CSIDriver | None) -> Hint:
    """The driver of a volume written into the pod no longer says what room it has."""
    if old is None or new is None:
        return Hint.QUEUE
    mine = any(
        volume.csi is not None and volume.csi.driver == new.metadata.name
        for volume in pod.spec.volumes
    )
    freed = bool(old.spec.storage_capacity) and not new.spec.storage_capacity
    return Hint.QUEUE if mine and freed else Hint.SKIP
