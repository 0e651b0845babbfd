"""Where data come from: the sources of volumes that the scheduler looks at, and claims for them.

Shared by pods, whose volumes hold sources, and by ``storage``, whose PersistentVolumes do. A source that is not here
(ConfigMap, emptyDir, NFS and so on) has no say in where a pod can run.
"""

import msgspec

from bayplan.model.label_selectors import LabelSelector
from bayplan.model.meta import Int32, ObjectMeta, Record
from bayplan.model.quantity import ResourceList


class GCEPersistentDisk(Record, frozen=True):
    """A disk of Google's cloud."""

    pd_name: str = ""
    partition: Int32 = 0
    read_only: bool = False


class AWSElasticBlockStore(Record, frozen=True):
    """A disk of Amazon's cloud."""

    volume_id: str = msgspec.field(default="", name="volumeID")
    partition: Int32 = 0
    read_only: bool = False


class AzureDisk(Record, frozen=True):
    """A disk of Microsoft's cloud."""

    disk_name: str = ""
    disk_uri: str = msgspec.field(default="", name="diskURI")
    kind: str | None = None
    read_only: bool = False


class AzureFile(Record, frozen=True):
    """A network share of Microsoft's cloud."""

    secret_name: str = ""
    secret_namespace: str | None = None
    share_name: str = ""
    read_only: bool = False


class Cinder(Record, frozen=True):
    """A disk of OpenStack."""

    volume_id: str = msgspec.field(default="", name="volumeID")
    read_only: bool = False


class PortworxVolume(Record, frozen=True):
    """A volume of Portworx."""

    volume_id: str = msgspec.field(default="", name="volumeID")
    read_only: bool = False


class VsphereVolume(Record, frozen=True):
    """A disk of vSphere."""

    volume_path: str = ""
    storage_policy_name: str = ""


class RBD(Record, frozen=True):
    """A block device of Ceph."""

    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = ""
    read_only: bool = False


class ISCSI(Record, frozen=True):
    """A disk behind iSCSI."""

    target_portal: str = ""
    iqn: str = ""
    lun: Int32 = 0
    read_only: bool = False


class LocalVolume(Record, frozen=True):
    """A disk of one node."""

    path: str = ""


class CSIVolume(Record, frozen=True):
    """A volume written into a pod that a CSI driver makes for it."""

    driver: str = ""
    read_only: bool = False


class CSIPersistentVolume(Record, frozen=True):
    """A volume that a CSI driver knows by its handle."""

    driver: str = ""
    volume_handle: str = ""
    read_only: bool = False
    volume_attributes: dict[str, str] = msgspec.field(default_factory=dict)


class ImageVolume(Record, frozen=True):
    """An image mounted as a volume."""

    reference: str = ""


class ClaimVolume(Record, frozen=True):
    """A volume that a claim of the pod's namespace stands for."""

    claim_name: str = ""
    read_only: bool = False


class VolumeResources(Record, frozen=True):
    """How much room a claim asks for."""

    limits: ResourceList = msgspec.field(default_factory=dict)
    requests: ResourceList = msgspec.field(default_factory=dict)


class PersistentVolumeClaimSpec(Record, frozen=True):
    """What a claim asks for, and the volume it got."""

    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: VolumeResources = VolumeResources()
    volume_name: str = ""
    #: None: the default class. Empty: no class, so only volumes made by hand.
    storage_class_name: str | None = None
    #: None means ``Filesystem``.
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimTemplate(Record, frozen=True):
    """The claim that is made for a generic ephemeral volume."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class EphemeralVolume(Record, frozen=True):
    """A volume with a claim of its own, named ``<pod>-<volume>``."""

    volume_claim_template: PersistentVolumeClaimTemplate = PersistentVolumeClaimTemplate()


class Volume(Record, frozen=True):
    """A volume of a pod; without any source if it is of a kind that does not matter here."""

    name: str = ""
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: EphemeralVolume | None = None
    csi: CSIVolume | None = None
    image: ImageVolume | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    azure_disk: AzureDisk | None = None
    azure_file: AzureFile | None = None
    cinder: Cinder | None = None
    portworx_volume: PortworxVolume | None = None
    vsphere_volume: VsphereVolume | None = None
    rbd: RBD | None = None
    iscsi: ISCSI | None = None

    @property
    def matters(self) -> bool:
        """Whether any plugin looks at it.

        The name of a volume that does not matter may differ from pod to pod, as the mounted service account's does;
        leave those out when comparing specs.
        """
        return self != Volume(self.name)
