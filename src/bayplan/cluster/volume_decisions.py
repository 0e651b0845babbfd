"""What was decided about a pod's claims: which volume each gets, or for which node one is to be made.

Made by VolumeBinding; assumed, written to the API server and dropped through ``Storage``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bayplan.cluster.claims import BOUND_BY_CONTROLLER, SELECTED_NODE, is_bound_to
from bayplan.model.meta import ObjectReference

if TYPE_CHECKING:
    from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim


@dataclass(slots=True)
class VolumeDecision:
    """For one pod on one node."""

    node: str
    #: Volumes that exist, and the claims that get them.
    bindings: list[tuple[PersistentVolume, PersistentVolumeClaim]] = field(default_factory=list)
    #: Claims for which a volume is to be made.
    provisions: list[PersistentVolumeClaim] = field(default_factory=list)


def promise(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """The volume as a claim's; the same object if it says so already."""
    meta, ref = claim.metadata, volume.spec.claim_ref
    promised = volume
    if ref is None or (ref.namespace, ref.name, ref.uid) != (meta.namespace, meta.name, meta.uid):
        reference = ObjectReference(
            kind="PersistentVolumeClaim",
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            api_version="v1",
            resource_version=meta.resource_version,
        )
        promised = replace(promised, spec=replace(promised.spec, claim_ref=reference))
    # A user who promised the volume to the claim keeps the say over it; otherwise its controller may take it back.
    annotations = volume.metadata.annotations
    if not is_bound_to(volume, claim) and BOUND_BY_CONTROLLER not in annotations:
        annotations = {**annotations, BOUND_BY_CONTROLLER: "yes"}
        promised = replace(promised, metadata=replace(promised.metadata, annotations=annotations))
    return promised


def select_node(claim: PersistentVolumeClaim, node: str) -> PersistentVolumeClaim:
    """The claim with the node for which its volume is to be made."""
    annotations = {**claim.metadata.annotations, SELECTED_NODE: node}
    return replace(claim, metadata=replace(claim.metadata, annotations=annotations))
