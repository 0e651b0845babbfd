"""Volumes, claims, classes and drivers, who uses them where, and what has been decided about them.

Fed by ``cluster.Cluster`` with storage objects and with placed pods; read by the volume plugins. Decisions about volumes
(this volume for that claim, this node for that claim's new volume) are assumed here until the API server shows them.

A change that no verdict can depend on (a new resource version, a status that nobody reads) does not count as a change.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatchmethod
from typing import Any

import msgspec

from bayplan.cluster import claims as claim_facts
from bayplan.cluster.assumable import Assumable
from bayplan.cluster.attachments import Attachments
from bayplan.cluster.changes import Reads
from bayplan.cluster.csi_nodes import CSINodes
from bayplan.cluster.csi_volumes import CSIVolumes
from bayplan.cluster.journal import Journal
from bayplan.cluster.podinfo import PodInfo
from bayplan.cluster.storage_pools import Pools, PoolsOfClass
from bayplan.cluster.volume_attachments import VolumeAttachments
from bayplan.cluster.volume_decisions import VolumeDecision, promise, select_node
from bayplan.cluster.volume_index import VolumeIndex
from bayplan.cluster.volume_usage import VolumeUsage
from bayplan.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)


class Storage:
    """Storage objects and their indexes."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.volumes: Assumable[PersistentVolume] = Assumable()
        self.claims: Assumable[PersistentVolumeClaim] = Assumable()
        self.classes: dict[str, StorageClass] = {}
        self.drivers: dict[str, CSIDriver] = {}
        #: Volumes as they will be, by class, and by the claim they are promised to.
        self.index = VolumeIndex()
        self._pools = Pools()
        #: Volume to the claims that name it.
        self._claims_of: dict[str, set[str]] = {}
        #: Claims and disks that placed pods use.
        self.usage = VolumeUsage()
        self.csi_nodes = CSINodes()
        self.held = VolumeAttachments()
        #: Which CSI volumes claims stand for, and how many are on which node.
        self.csi_volumes = CSIVolumes(self.volumes, self.claims, self.classes, self.held)
        self.attachments = Attachments(self.csi_volumes)
        #: What is assumed for which pod.
        self.decisions: dict[str, VolumeDecision] = {}

    # --- objects ---------------------------------------------------------------------------------------------------------

    @singledispatchmethod
    def put(self, obj: Any) -> None:
        """Take over an object that was added or changed."""
        raise TypeError(f"storage keeps no {type(obj).__name__}")

    @singledispatchmethod
    def remove(self, obj: Any) -> None:
        """Forget an object that was deleted."""
        raise TypeError(f"storage keeps no {type(obj).__name__}")

    @put.register
    def _(self, volume: PersistentVolume) -> None:
        before = self.volumes.put(volume.metadata.name, volume)
        self._volume_changed(before, self.volumes.get(volume.metadata.name))

    @remove.register
    def _(self, volume: PersistentVolume) -> None:
        self._volume_changed(self.volumes.remove(volume.metadata.name), None)

    @put.register
    def _(self, claim: PersistentVolumeClaim) -> None:
        key = claim_facts.key_of(claim)
        confirmed = self.claims.confirmed(key)
        before = self.claims.put(key, claim)
        self._name_volume(key, confirmed, claim)
        self._claim_changed(key, before, self.claims.get(key))

    @remove.register
    def _(self, claim: PersistentVolumeClaim) -> None:
        key = claim_facts.key_of(claim)
        self._name_volume(key, self.claims.confirmed(key), None)
        self._claim_changed(key, self.claims.remove(key), None)

    @put.register
    def _(self, storage_class: StorageClass) -> None:
        before = self.classes.get(storage_class.metadata.name)
        self.classes[storage_class.metadata.name] = storage_class
        self._class_changed(before, storage_class)

    @remove.register
    def _(self, storage_class: StorageClass) -> None:
        self._class_changed(self.classes.pop(storage_class.metadata.name, None), None)

    @put.register
    def _(self, driver: CSIDriver) -> None:
        before = self.drivers.get(driver.metadata.name)
        self.drivers[driver.metadata.name] = driver
        self._note(before, driver)

    @remove.register
    def _(self, driver: CSIDriver) -> None:
        self._note(self.drivers.pop(driver.metadata.name, None), None)

    @put.register
    def _(self, capacity: CSIStorageCapacity) -> None:
        self._note(self._pools.put(capacity), capacity)

    @remove.register
    def _(self, capacity: CSIStorageCapacity) -> None:
        self._note(self._pools.remove(capacity.key), None)

    @put.register
    def _(self, csi_node: CSINode) -> None:
        before = self.csi_nodes.objects.get(csi_node.metadata.name)
        self.csi_nodes.put(csi_node)
        self._note(before, csi_node)

    @remove.register
    def _(self, csi_node: CSINode) -> None:
        before = self.csi_nodes.objects.get(csi_node.metadata.name)
        if before is not None:
            self.csi_nodes.remove(csi_node.metadata.name)
            self._note(before, None)

    @put.register
    def _(self, attachment: VolumeAttachment) -> None:
        before = self.held.put(attachment)
        if self._note(before, attachment):
            for one in (before, attachment):
                if one is not None:
                    self.attachments.node_changed(one.spec.node_name)

    @remove.register
    def _(self, attachment: VolumeAttachment) -> None:
        before = self.held.remove(attachment.metadata.name)
        if before is not None:
            self._note(before, None)
            self.attachments.node_changed(before.spec.node_name)

    # --- what a change touches -------------------------------------------------------------------------------------------

    def _note(self, before: Any, after: Any) -> bool:
        """Tell of a change, if it is one."""
        if _reads_alike(before, after):
            return False
        self.journal.topic_changed(Reads.STORAGE)
        return True

    def _volume_changed(
        self, before: PersistentVolume | None, after: PersistentVolume | None
    ) -> None:
        self.index.replace(before, after)
        if not self._note(before, after):
            return
        volume = after or before
        assert volume is not None
        name = volume.metadata.name
        for claim in self._claims_of.get(name, ()):
            self.attachments.claim_changed(claim)
        for node in self.held.nodes_with(name):
            self.attachments.node_changed(node)

    def _claim_changed(
        self, key: str, before: PersistentVolumeClaim | None, after: PersistentVolumeClaim | None
    ) -> None:
        if self._note(before, after):
            self.attachments.claim_changed(key)

    def _class_changed(self, before: StorageClass | None, after: StorageClass | None) -> None:
        if self._note(before, after):
            # Which driver an unbound claim counts for comes from its class; classes change too seldom for an index.
            self.attachments.every_claim_changed()

    def _name_volume(
        self, key: str, before: PersistentVolumeClaim | None, after: PersistentVolumeClaim | None
    ) -> None:
        old = before.spec.volume_name if before is not None else ""
        new = after.spec.volume_name if after is not None else ""
        if old == new:
            return
        if old:
            self._claims_of[old].discard(key)
            if not self._claims_of[old]:
                del self._claims_of[old]
        if new:
            self._claims_of.setdefault(new, set()).add(key)

    # --- reading ---------------------------------------------------------------------------------------------------------

    def pools(self, storage_class: str) -> PoolsOfClass | None:
        """What drivers say of the room that is left for a class."""
        return self._pools.of_class(storage_class)

    # --- decisions -------------------------------------------------------------------------------------------------------

    def assume(self, pod: str, decision: VolumeDecision) -> str:
        """Take it that a pod's volumes will be as decided; returns what stands against it, and then nothing is assumed."""
        assumed = VolumeDecision(decision.node)
        self.decisions[pod] = assumed
        for volume, claim in decision.bindings:
            promised = promise(volume, claim)
            problem = "" if promised is volume else self._assume_volume(promised)
            if problem:
                self.give_up(pod)
                return problem
            assumed.bindings.append((promised, claim))
        for claim in decision.provisions:
            selected = select_node(claim, decision.node)
            problem = self._assume_claim(selected)
            if problem:
                self.give_up(pod)
                return problem
            assumed.provisions.append(selected)
        return ""

    def give_up(self, pod: str, bound: int = 0, selected: int = 0) -> None:
        """Drop what was assumed for a pod, but for the first volumes and claims, which the API server has accepted."""
        decision = self.decisions.pop(pod, None)
        if decision is None:
            return
        for volume, _ in decision.bindings[bound:]:
            self._restore_volume(volume)
        for claim in decision.provisions[selected:]:
            self._restore_claim(claim)

    def settle(self, pod: str) -> None:
        """What was decided for a pod is written: the objects themselves tell from now on."""
        self.decisions.pop(pod, None)

    def _assume_volume(self, volume: PersistentVolume) -> str:
        name = volume.metadata.name
        before = self.volumes.get(name)
        problem = self.volumes.assume(name, volume)
        if not problem:
            self._volume_changed(before, volume)
        return problem

    def _assume_claim(self, claim: PersistentVolumeClaim) -> str:
        key = claim_facts.key_of(claim)
        before = self.claims.get(key)
        problem = self.claims.assume(key, claim)
        if not problem:
            self._claim_changed(key, before, claim)
        return problem

    def _restore_volume(self, volume: PersistentVolume) -> None:
        name = volume.metadata.name
        before = self.volumes.get(name)
        if self.volumes.restore(name, volume.metadata.resource_version):
            self._volume_changed(before, self.volumes.get(name))

    def _restore_claim(self, claim: PersistentVolumeClaim) -> None:
        key = claim_facts.key_of(claim)
        before = self.claims.get(key)
        if self.claims.restore(key, claim.metadata.resource_version):
            self._claim_changed(key, before, self.claims.get(key))

    # --- pods ------------------------------------------------------------------------------------------------------------

    def place(self, pod: PodInfo, node_row: int, sign: int) -> None:
        """A pod with volumes comes to a node (+1) or leaves it (-1)."""
        self.usage.place(pod, node_row, sign)
        self.attachments.place(pod, node_row, sign)

    # --- audit -----------------------------------------------------------------------------------------------------------

    def audit(self, placed: Iterable[tuple[PodInfo, int]] | None = None) -> list[str]:
        """Differences from a count from scratch; with the placed pods and their rows, of what pods use too."""
        found = [
            *self.volumes.audit("volume"),
            *self.claims.audit("claim"),
            *self.index.audit(self.volumes),
            *self.csi_nodes.audit(),
            *self.attachments.audit(),
        ]
        if placed is not None:
            pods = [(pod, row) for pod, row in placed if pod.shape.has_volumes]
            found += self.usage.audit(pods)
            found += self.attachments.audit_uses(pods)
        return found


def _reads_alike(before: Any, after: Any) -> bool:
    """Whether two states of an object differ in nothing but their version."""
    if before is None or after is None:
        return before is after
    if before == after:
        return True
    old = msgspec.structs.replace(
        before,
        metadata=msgspec.structs.replace(
            before.metadata, resource_version=after.metadata.resource_version
        ),
    )
    return bool(old == after)
