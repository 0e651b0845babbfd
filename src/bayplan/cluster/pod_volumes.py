"""What a pod's volumes mean to the scheduler: claims, disks that exclude each other, in-tree volumes migrated to CSI.

Read once per shape and remembered there; used by the storage tables for placed pods and by the volume plugins for the
pending one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from bayplan.cluster import csi_migration
from bayplan.cluster.csi_migration import CSIVolume, TranslationError
from bayplan.model.meta import ObjectMeta, is_controlled_by

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bayplan.cluster.podinfo import PodInfo, Shape
    from bayplan.model.volumes import Volume

#: What two volumes share that are the same disk: its kind and its names.
DiskKey: TypeAlias = tuple[str, ...]

_MEMO: Final = "pod_volumes"


class ClaimVolume(NamedTuple):
    """A volume that stands for a PersistentVolumeClaim."""

    #: The claim's name; of a generic ephemeral volume the volume's name, from which the claim's follows.
    name: str
    ephemeral: bool

    def claim_name(self, pod_name: str) -> str:
        """The name of the claim, in the pod's namespace."""
        return f"{pod_name}-{self.name}" if self.ephemeral else self.name


class InlineVolume(NamedTuple):
    """An in-tree volume written into the pod, as the CSI driver sees it that has taken over."""

    volume: CSIVolume | None
    #: Why it has no CSI form.
    error: str = ""


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk written into the pod: it conflicts with a disk on the node that shares a key with it."""

    keys: tuple[DiskKey, ...]
    #: Whether several pods may hold it at once, as long as all of them only read.
    read_only: bool


@dataclass(frozen=True, slots=True)
class PodVolumes:
    """The volumes of a pod in their order, as far as they matter."""

    #: Claims and in-tree volumes: what is attached to the node.
    attached: tuple[ClaimVolume | InlineVolume, ...]
    disks: tuple[Disk, ...]

    @property
    def has_ephemeral(self) -> bool:
        """Whether a claim is named after the pod, so that pods of one shape have different claims."""
        return any(claim.ephemeral for claim in self.claims)

    @property
    def claims(self) -> tuple[ClaimVolume, ...]:
        """The volumes that stand for claims."""
        return tuple(volume for volume in self.attached if isinstance(volume, ClaimVolume))

    @property
    def named_claims(self) -> tuple[str, ...]:
        """The claims that the pod names itself, generic ephemeral volumes left out."""
        return tuple(claim.name for claim in self.claims if not claim.ephemeral)


NONE: Final = PodVolumes((), ())


def of_shape(shape: Shape) -> PodVolumes:
    """The volumes of all pods of a shape."""
    if not shape.has_volumes:
        return NONE
    found: PodVolumes | None = shape.memo.get(_MEMO)
    if found is None:
        found = shape.memo[_MEMO] = read(shape.spec.volumes)
    return found


def read(volumes: Iterable[Volume]) -> PodVolumes:
    """What these volumes mean."""
    attached: list[ClaimVolume | InlineVolume] = []
    disks: list[Disk] = []
    for volume in volumes:
        if volume.persistent_volume_claim is not None:
            attached.append(ClaimVolume(volume.persistent_volume_claim.claim_name, ephemeral=False))
        elif volume.ephemeral is not None:
            attached.append(ClaimVolume(volume.name, ephemeral=True))
        elif csi_migration.migrated_plugin(volume) is not None:
            attached.append(_inline(volume))
        disks.extend(_disks(volume))
    return PodVolumes(tuple(attached), tuple(disks))


def of(pod: PodInfo) -> PodVolumes:
    """The volumes of a pod."""
    return of_shape(pod.shape)


def ownership_problem(claim: ObjectMeta, pod_name: str, pod_uid: str) -> str:
    """What stands against a claim being that of a pod's generic ephemeral volume: it has to be owned by the pod."""
    if is_controlled_by(claim, pod_uid):
        return ""
    return (
        f"PVC {claim.namespace}/{claim.name} was not created for pod {claim.namespace}/{pod_name}"
        " (pod is not owner)"
    )


def _inline(volume: Volume) -> InlineVolume:
    try:
        return InlineVolume(csi_migration.inline_volume(volume))
    except TranslationError as error:
        return InlineVolume(None, f"converting volume({volume.name}) from inline to csi: {error}")


def _disks(volume: Volume) -> list[Disk]:
    """Google's and Amazon's disks, iSCSI targets and Ceph images; nothing else excludes other pods."""
    disks: list[Disk] = []
    if (google := volume.gce_persistent_disk) is not None:
        disks.append(Disk((("gce", google.pd_name),), google.read_only))
    if (amazon := volume.aws_elastic_block_store) is not None:
        disks.append(Disk((("aws", amazon.volume_id),), read_only=False))
    if (iscsi := volume.iscsi) is not None:
        disks.append(Disk((("iscsi", iscsi.iqn),), iscsi.read_only))
    if (rbd := volume.rbd) is not None:
        # The same image seen through different monitors counts as another one.
        keys = tuple(("rbd", rbd.pool, rbd.image, monitor) for monitor in sorted(set(rbd.monitors)))
        disks.append(Disk(keys, rbd.read_only))
    return disks
