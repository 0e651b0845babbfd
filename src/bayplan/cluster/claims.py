"""What annotations and fields of claims and volumes mean: class, binding, bound or not.

Facts of Kubernetes' ``storage/volume`` helpers; used by the storage tables and the volume plugins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
#: On a claim: the node for which a volume is to be provisioned.
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
#: Overrides the class that the spec names.
BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
#: The provisioner of classes that have none.
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
WAIT_FOR_CONSUMER: Final = "WaitForFirstConsumer"
ONCE_POD: Final = "ReadWriteOncePod"


def key_of(claim: PersistentVolumeClaim) -> str:
    """``namespace/name``."""
    return f"{claim.metadata.namespace}/{claim.metadata.name}"


def class_of_claim(claim: PersistentVolumeClaim) -> str:
    """The storage class that a claim asks for; empty where it asks for none."""
    found = claim.metadata.annotations.get(BETA_CLASS)
    return claim.spec.storage_class_name or "" if found is None else found


def class_of_volume(volume: PersistentVolume) -> str:
    """The storage class of a volume."""
    found = volume.metadata.annotations.get(BETA_CLASS)
    return volume.spec.storage_class_name or "" if found is None else found


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether claim and volume have found each other, and the claim's controller has said so."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def is_bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether a volume is promised to a claim; a promise without uid is to any claim of that name."""
    ref = volume.spec.claim_ref
    if ref is None:
        return False
    meta = claim.metadata
    if (ref.namespace, ref.name) != (meta.namespace, meta.name):
        return False
    return not ref.uid or ref.uid == meta.uid
