"""Which CSI volume a claim stands for, and which volumes VolumeAttachments hold.

Reads the objects that ``Storage`` keeps, as the API server shows them: what was merely decided is attached to nothing.
Used by ``Attachments`` for placed pods and by NodeVolumeLimits for the pending one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from bayplan.cluster import claims as claim_facts
from bayplan.cluster import csi_migration
from bayplan.cluster.csi_migration import CSIVolume, TranslationError
from bayplan.cluster.pod_volumes import ownership_problem

if TYPE_CHECKING:
    from bayplan.cluster.assumable import Assumable
    from bayplan.cluster.attachments import ClaimUse
    from bayplan.cluster.volume_attachments import VolumeAttachments
    from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass


class CSIVolumes:
    """From claims and attachments to drivers and handles."""

    def __init__(
        self,
        volumes: Assumable[PersistentVolume],
        claims: Assumable[PersistentVolumeClaim],
        classes: Mapping[str, StorageClass],
        held: VolumeAttachments,
    ) -> None:
        self._volumes = volumes
        self._claims = claims
        self._classes = classes
        self._held = held

    def of_claim(self, claim: PersistentVolumeClaim) -> CSIVolume | None:
        """The volume that a claim stands for on a node with a CSINode; None where none counts.

        A claim without a volume counts as one of its class's driver, since it will get one.
        """
        name = claim.spec.volume_name
        volume = self._volumes.confirmed(name) if name else None
        if volume is None:
            return self._volume_to_come(claim)
        if volume.spec.csi is not None:
            found: CSIVolume | None = CSIVolume(
                volume.spec.csi.driver, volume.spec.csi.volume_handle
            )
        else:
            try:
                found = csi_migration.persistent_volume(volume)
            except TranslationError:
                return None
        return found if found is not None and found.driver and found.handle else None

    def _volume_to_come(self, claim: PersistentVolumeClaim) -> CSIVolume | None:
        storage_class = self._classes.get(claim_facts.class_of_claim(claim))
        if storage_class is None:
            return None
        provisioner = storage_class.provisioner
        driver = csi_migration.DRIVERS.get(provisioner, provisioner)
        if not driver or provisioner in csi_migration.UNCOUNTED:
            return None
        # No driver's handle begins so.
        return CSIVolume(driver, f"\0to come/{claim_facts.key_of(claim)}")

    def volume_of(self, use: ClaimUse) -> CSIVolume | str | None:
        """The volume behind a claim as a placed pod uses it; a string tells what is wrong."""
        if use.key.endswith("/"):
            return "PersistentVolumeClaim had no name"
        claim = self._claims.confirmed(use.key)
        if claim is None:
            return None
        if use.owner is not None:
            uid, pod_name = use.owner
            problem = ownership_problem(claim.metadata, pod_name, uid)
            if problem:
                return problem
        return self.of_claim(claim)

    def attached_volumes(self, node: str) -> Collection[CSIVolume]:
        """Volumes that VolumeAttachments hold on a node."""
        found = set()
        for attacher, name in self._held.on_node(node):
            volume = self._volumes.confirmed(name)
            if volume is not None and volume.spec.csi is not None:
                found.add(CSIVolume(attacher, volume.spec.csi.volume_handle))
        return found
