"""What is known of storage drivers: classes, CSIDrivers, CSINodes, capacities, attachments."""

from __future__ import annotations

from bench.odd.luck import Luck, Thing, thing
from bench.odd.selectors import HOST, OLD_ZONE, REGION, ZONE

CSI = "csi.example.com"
_OTHER = "other.example.com"
DRIVERS = (CSI, _OTHER, "ebs.csi.aws.com", "pd.csi.storage.gke.io", "disk.csi.azure.com", "cinder.csi.openstack.org",
           "file.csi.azure.com")  # fmt: skip
IN_TREE = ("kubernetes.io/aws-ebs", "kubernetes.io/gce-pd", "kubernetes.io/azure-disk", "kubernetes.io/cinder",
           "kubernetes.io/azure-file", "kubernetes.io/vsphere-volume", "kubernetes.io/portworx-volume")  # fmt: skip
SIZES = ("1Gi", "1Gi", "5Gi", "10Gi", "1Ki", "1", "0", "1e9", "1500m", "8Ei", "9223372036854775807")
_WAIT = "WaitForFirstConsumer"
#: Class, provisioner, binding mode.
_CLASSES = (
    ("now", CSI, "Immediate"), ("wait", CSI, _WAIT), ("wait2", _OTHER, _WAIT), ("aws", IN_TREE[0], _WAIT), ("cloud", "", _WAIT),
    ("local", "kubernetes.io/no-provisioner", _WAIT), ("modeless", CSI, ""),
)  # fmt: skip
WAITING = tuple(name for name, _, mode in _CLASSES if mode == _WAIT)
CLASSES = (*(name for name, *_ in _CLASSES), "absent", "")
_ZONES = ("z1", "z2", "z3", "r1", "rk1")
_TOPOLOGY_KEYS = (
    ZONE,
    ZONE,
    ZONE,
    REGION,
    OLD_ZONE,
    "topology.gke.io/zone",
    "topology.ebs.csi.aws.com/zone",
    "rack",
    HOST,
)


def storage_classes(luck: Luck) -> list[Thing]:
    """The storage classes."""
    made = []
    for name, provisioner, mode in _CLASSES:
        one = thing("StorageClass", name, provisioner=provisioner or luck.one(IN_TREE[1:]))
        if mode:
            one["volumeBindingMode"] = mode
        luck.maybe(
            one, "allowedTopologies", 0.25, lambda: luck.times(lambda: _topology(luck), 2, 1)
        )
        made.append(one)
    return made


def _topology(luck: Luck) -> Thing:
    least = 0 if luck.chance(0.1) else 1
    return {"matchLabelExpressions": luck.times(lambda: _labels_wanted(luck), 2, least)}


def _labels_wanted(luck: Luck) -> Thing:
    return {"key": luck.one(_TOPOLOGY_KEYS), "values": luck.some(_ZONES, 4, 1)}


def csi_drivers(luck: Luck) -> list[Thing]:
    """CSIDrivers: whether capacity is reported."""
    made = []
    for name in luck.some(DRIVERS, 5, 1):
        spec: Thing = {}
        luck.maybe(spec, "storageCapacity", 0.8, lambda: luck.chance(0.8))
        luck.maybe(spec, "preventPodSchedulingIfMissing", 0.3, lambda: luck.chance(0.5))
        luck.maybe(spec, "attachRequired", 0.3, lambda: luck.chance(0.5))
        made.append(thing("CSIDriver", name, spec=spec))
    return made


def csi_nodes(luck: Luck, names: list[str]) -> list[Thing]:
    """CSINodes: limits, and the in-tree plugins that are migrated there."""
    made = []
    for name in names:
        if luck.chance(0.2):
            continue
        meta: Thing = {}
        if luck.chance(0.6):
            plugins = luck.some(IN_TREE, 7)
            meta["annotations"] = {
                "storage.alpha.kubernetes.io/migrated-plugins": ",".join(plugins)
            }
        entries = [_on_node(luck, name, driver) for driver in luck.some(DRIVERS, 5)]
        made.append(thing("CSINode", name, metadata=meta, spec={"drivers": entries}))
    return made


def _on_node(luck: Luck, name: str, driver: str) -> Thing:
    entry: Thing = {"name": driver, "nodeID": name, "topologyKeys": luck.some((ZONE, HOST), 2)}
    if luck.chance(0.8):
        entry["allocatable"] = {"count": luck.one((0, 1, 1, 2, 3, 39))} if luck.chance(0.9) else {}
    return entry


def capacities(luck: Luck) -> list[Thing]:
    """What drivers say they have room for."""
    return luck.times(lambda: _capacity(luck), 8)


def _capacity(luck: Luck) -> Thing:
    made = thing(
        "CSIStorageCapacity", f"cap{luck.randrange(10**9)}", luck.one(("default", "kube-system"))
    )
    made["storageClassName"] = luck.one(("wait", "wait", "wait2", "aws"))
    nodes: tuple[Thing, ...] = (
        {"matchLabels": {ZONE: luck.one(_ZONES[:3])}},
        {"matchLabels": {ZONE: luck.one(_ZONES[:3])}},
        {"matchExpressions": [{"key": "disk", "operator": "NotIn", "values": ["hdd"]}]},
        {},
    )
    luck.maybe(made, "nodeTopology", 0.9, lambda: luck.one(nodes))
    luck.maybe(made, "capacity", 0.85, lambda: luck.one((*SIZES, "100Gi", "100Gi")))
    luck.maybe(made, "maximumVolumeSize", 0.3, lambda: luck.one((*SIZES, "100Gi")))
    return made


def attachments(luck: Luck, names: list[str], volumes: list[Thing]) -> list[Thing]:
    """Volumes that are attached, or still attached, to nodes."""
    return luck.times(lambda: _attachment(luck, names, volumes), 6)


def _attachment(luck: Luck, names: list[str], volumes: list[Thing]) -> Thing:
    volume = luck.one(volumes) if volumes else None
    source: Thing = {"persistentVolumeName": volume["metadata"]["name"] if volume else "gone"}
    if luck.chance(0.1):
        source = {
            "inlineVolumeSpec": {
                "csi": {"driver": CSI, "volumeHandle": "h1"},
                "accessModes": ["ReadWriteOnce"],
            }
        }
    attacher = luck.one((*DRIVERS[:4], ""))
    if volume and "csi" in volume["spec"] and luck.chance(0.7):
        attacher = volume["spec"]["csi"]["driver"]
    spec = {"attacher": attacher, "nodeName": luck.one(names), "source": source}
    name = f"att{luck.randrange(10**9)}"
    return thing("VolumeAttachment", name, spec=spec, status={"attached": luck.chance(0.7)})
