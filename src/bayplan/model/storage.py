"""Storage: volumes, claims, classes, and what CSI drivers report.

Fed by ``decode``; read by the cluster's storage tables, for the volume plugins.
"""

from typing import ClassVar

import msgspec

from bayplan.model.label_selectors import LabelSelector
from bayplan.model.meta import Int32, KubeObject, ObjectReference, Record
from bayplan.model.node_selectors import NodeSelector
from bayplan.model.quantity import Quantity, ResourceList
from bayplan.model.volumes import (
    ISCSI,
    RBD,
    AWSElasticBlockStore,
    AzureDisk,
    AzureFile,
    Cinder,
    CSIPersistentVolume,
    GCEPersistentDisk,
    LocalVolume,
    PersistentVolumeClaimSpec,
    PortworxVolume,
    VsphereVolume,
)

_STORAGE = ("storage.k8s.io/v1",)


class VolumeNodeAffinity(Record, frozen=True):
    """The nodes that can reach a volume."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(Record, frozen=True):
    """A volume: where it is, how large, and whose."""

    capacity: ResourceList = msgspec.field(default_factory=dict)
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    persistent_volume_reclaim_policy: str = ""
    storage_class_name: str = ""
    #: None means ``Filesystem``.
    volume_mode: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    volume_attributes_class_name: str | None = None
    csi: CSIPersistentVolume | None = None
    local: LocalVolume | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    azure_disk: AzureDisk | None = None
    azure_file: AzureFile | None = None
    cinder: Cinder | None = None
    portworx_volume: PortworxVolume | None = None
    vsphere_volume: VsphereVolume | None = None
    rbd: RBD | None = None
    iscsi: ISCSI | None = None


class PersistentVolumeStatus(Record, frozen=True):
    """Whether a volume is bound."""

    phase: str = ""


class PersistentVolume(KubeObject, frozen=True):
    """A volume."""

    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class PersistentVolumeClaimStatus(Record, frozen=True):
    """Whether a claim is bound."""

    phase: str = ""
    capacity: ResourceList = msgspec.field(default_factory=dict)
    current_volume_attributes_class_name: str | None = None


class PersistentVolumeClaim(KubeObject, frozen=True):
    """A claim for a volume."""

    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class TopologySelectorLabelRequirement(Record, frozen=True):
    """A label that a node must have, with one of the values."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Record, frozen=True):
    """Labels that must all be right."""

    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


class StorageClass(KubeObject, frozen=True):
    """How volumes of a class come into being."""

    api_versions: ClassVar[tuple[str, ...]] = _STORAGE

    provisioner: str = ""
    parameters: dict[str, str] = msgspec.field(default_factory=dict)
    reclaim_policy: str = ""
    #: None is an error to the volume plugins: the API server always fills it in.
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeNodeResources(Record, frozen=True):
    """How many volumes of a driver a node can hold; None: no limit."""

    count: Int32 | None = None


class CSINodeDriver(Record, frozen=True):
    """A CSI driver on a node."""

    name: str = ""
    node_id: str = msgspec.field(default="", name="nodeID")
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Record, frozen=True):
    """The drivers of a node."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(KubeObject, frozen=True):
    """The CSI drivers of the node of the same name."""

    api_versions: ClassVar[tuple[str, ...]] = _STORAGE

    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Record, frozen=True):
    """What a driver can do."""

    attach_required: bool | None = None
    #: Whether it reports its capacity, which then has to suffice.
    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(KubeObject, frozen=True):
    """A CSI driver."""

    api_versions: ClassVar[tuple[str, ...]] = _STORAGE

    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(KubeObject, frozen=True):
    """How much room a driver has for a class on some nodes."""

    api_versions: ClassVar[tuple[str, ...]] = _STORAGE

    #: None: no nodes. Empty: all nodes.
    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


class VolumeAttachmentSource(Record, frozen=True):
    """What is attached: a PersistentVolume, or what used to be a volume in a pod."""

    persistent_volume_name: str | None = None
    inline_volume_spec: PersistentVolumeSpec | None = None


class VolumeAttachmentSpec(Record, frozen=True):
    """What is attached where."""

    attacher: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()
    node_name: str = ""


class VolumeAttachmentStatus(Record, frozen=True):
    """Whether it is attached by now."""

    attached: bool = False


class VolumeAttachment(KubeObject, frozen=True):
    """A volume that is, or is to be, attached to a node."""

    api_versions: ClassVar[tuple[str, ...]] = _STORAGE

    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()
