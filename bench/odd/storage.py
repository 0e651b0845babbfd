"""Volumes: claims bound and unbound, classes, what drivers report, disks of clouds that CSI drivers took over."""

from __future__ import annotations

from dataclasses import dataclass, field

from bench.odd.luck import Luck, Thing
from bench.odd.selectors import HOST, OLD_REGION, OLD_ZONE, REGION, ZONE

_DRIVER = "csi.example.com"
_OTHER = "other.example.com"
_AWS, _GCE = "ebs.csi.aws.com", "pd.csi.storage.gke.io"
_DRIVERS = (
    _DRIVER,
    _OTHER,
    _AWS,
    _GCE,
    "disk.csi.azure.com",
    "cinder.csi.openstack.org",
    "file.csi.azure.com",
)
_IN_TREE = ("kubernetes.io/aws-ebs", "kubernetes.io/gce-pd", "kubernetes.io/azure-disk", "kubernetes.io/cinder",
            "kubernetes.io/azure-file", "kubernetes.io/vsphere-volume", "kubernetes.io/portworx-volume")  # fmt: skip
_MODES = ("ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod", "ReadOnlyMany", "ReadWriteMany")
_SIZES = (
    "1Gi",
    "1Gi",
    "5Gi",
    "10Gi",
    "1Ki",
    "1",
    "0",
    "1e9",
    "1500m",
    "8Ei",
    "9223372036854775807",
)
_CLASSES = ("now", "wait", "wait2", "local", "aws", "gce", "modeless", "absent", "")
_ZONES = ("z1", "z2", "z1__z2", "z3", "z1__", "__")
_IDENTITY = "pv.kubernetes.io/bound-by-controller"


@dataclass
class Store:
    """The storage objects of a case, and what is in use."""

    luck: Luck
    nodes: list[Thing]
    claims: list[Thing] = field(default_factory=list)
    volumes: list[Thing] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        return [node["metadata"]["name"] for node in self.nodes] or ["n00"]


def classes(luck: Luck) -> list[Thing]:
    """The storage classes."""
    made = []
    for name, provisioner, mode in (
        ("now", _DRIVER, "Immediate"), ("wait", _DRIVER, "WaitForFirstConsumer"), ("wait2", _OTHER, "WaitForFirstConsumer"),
        ("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"), ("aws", _IN_TREE[0], "WaitForFirstConsumer"),
        ("gce", luck.one(_IN_TREE[1:]), "WaitForFirstConsumer"), ("modeless", _DRIVER, ""),
    ):  # fmt: skip
        one: Thing = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": provisioner,
        }
        if mode:
            one["volumeBindingMode"] = mode
        luck.maybe(one, "allowedTopologies", 0.25, lambda: _allowed(luck))
        made.append(one)
    return made


def _allowed(luck: Luck) -> list[Thing]:
    keys = (
        ZONE,
        ZONE,
        REGION,
        OLD_ZONE,
        "topology.gke.io/zone",
        "topology.ebs.csi.aws.com/zone",
        "rack",
    )
    return luck.times(
        lambda: {
            "matchLabelExpressions": luck.times(
                lambda: {
                    "key": luck.one(keys),
                    "values": luck.some(("z1", "z2", "z3", "r1", "rk1"), 3, 1),
                },
                2,
                0 if luck.chance(0.1) else 1,
            )
        },
        2,
        1,
    )


def drivers(luck: Luck) -> list[Thing]:
    """CSIDrivers: whether capacity is reported."""
    made = []
    for name in luck.some(_DRIVERS, 4, 1):
        spec: Thing = {}
        luck.maybe(spec, "storageCapacity", 0.7, lambda: luck.chance(0.7))
        luck.maybe(spec, "preventPodSchedulingIfMissing", 0.3, lambda: luck.chance(0.5))
        luck.maybe(spec, "attachRequired", 0.3, lambda: luck.chance(0.5))
        made.append(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSIDriver",
                "metadata": {"name": name},
                "spec": spec,
            }
        )
    return made


def csi_nodes(luck: Luck, nodes: list[Thing]) -> list[Thing]:
    """CSINodes: limits, and the in-tree plugins that are migrated there."""
    made = []
    for node in nodes:
        if luck.chance(0.2):
            continue
        name = node["metadata"]["name"]
        meta: Thing = {"name": name}
        if luck.chance(0.6):
            meta["annotations"] = {
                "storage.alpha.kubernetes.io/migrated-plugins": ",".join(luck.some(_IN_TREE, 7))
            }
        entries = []
        for driver in luck.some(_DRIVERS, 5):
            entry: Thing = {
                "name": driver,
                "nodeID": name,
                "topologyKeys": luck.some((ZONE, HOST), 2),
            }
            luck.maybe(
                entry,
                "allocatable",
                0.8,
                lambda: {"count": luck.one((0, 1, 2, 3, 39))} if luck.chance(0.9) else {},
            )
            entries.append(entry)
        made.append(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSINode",
                "metadata": meta,
                "spec": {"drivers": entries},
            }
        )
    return made


def capacities(luck: Luck) -> list[Thing]:
    """What drivers say they have room for."""

    def one() -> Thing:
        made: Thing = {
            "apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity", "storageClassName": luck.one(("wait", "wait2", "aws")),
            "metadata": {"name": f"cap{luck.randrange(10**9)}", "namespace": luck.one(("default", "kube-system"))},
        }  # fmt: skip
        luck.maybe(made, "nodeTopology", 0.9, lambda: luck.one(
            ({"matchLabels": {ZONE: luck.one(("z1", "z2", "z3"))}}, {}, {"matchExpressions": [{"key": "disk", "operator": "NotIn", "values": ["hdd"]}]})
        ))  # fmt: skip
        luck.maybe(made, "capacity", 0.85, lambda: luck.one((*_SIZES, "100Gi")))
        luck.maybe(made, "maximumVolumeSize", 0.2, lambda: luck.one((*_SIZES, "100Gi")))
        return made

    return luck.times(one, 6)


def add_volume(store: Store, pod: Thing) -> None:
    """Give a pod a volume of some kind."""
    luck = store.luck
    name = f"v{luck.randrange(10**6)}"
    throw = luck.random()
    if throw < 0.3:
        source: Thing = _disk(luck)
    elif throw < 0.36:
        source = luck.one(
            (
                {"emptyDir": {}},
                {"csi": {"driver": _DRIVER}},
                {"configMap": {"name": "x"}},
                {"hostPath": {"path": "/x"}},
            )
        )
    elif throw < 0.44:
        source = {
            "ephemeral": {"volumeClaimTemplate": {"spec": _claim_spec(store, luck.one(_CLASSES))}}
        }
        if luck.chance(0.85):
            _claim(
                store, f"{pod['metadata']['name']}-{name}", pod["metadata"]["namespace"], owner=pod
            )
    else:
        source = {
            "persistentVolumeClaim": {"claimName": _claim_name(store, pod["metadata"]["namespace"])}
        }
        luck.maybe(source["persistentVolumeClaim"], "readOnly", 0.1, lambda: True)
    pod["spec"].setdefault("volumes", []).append({"name": name, **source})


def _disk(luck: Luck) -> Thing:
    """A disk written into the pod or into a volume; also ones that two pods may share."""
    disk = luck.one(("d0", "d1", "d2"))
    source: Thing = luck.one(
        (
            {"gcePersistentDisk": {"pdName": disk}},
            {
                "awsElasticBlockStore": {
                    "volumeID": luck.one(
                        (f"vol-{disk}", f"aws://us-east-1a/vol-{disk}", "vol-", disk)
                    )
                }
            },
            {"azureDisk": {"diskName": disk, "diskURI": f"/subscriptions/s/{disk}"}},
            {"azureFile": {"secretName": "s", "shareName": disk}},
            {"cinder": {"volumeID": disk}},
            {"portworxVolume": {"volumeID": disk}},
            {"vsphereVolume": {"volumePath": f"[store] {disk}.vmdk"}},
            {
                "rbd": {
                    "monitors": luck.some(("a", "b", "c"), 2, 1),
                    "image": disk,
                    "pool": luck.one(("rbd", "p2")),
                }
            },
            {
                "iscsi": {
                    "targetPortal": "127.0.0.1:3260",
                    "iqn": f"iqn.{disk}",
                    "lun": luck.one((0, 1)),
                }
            },
        )
    )
    kind = next(iter(source))
    if kind not in {"vsphereVolume"}:
        luck.maybe(source[kind], "readOnly", 0.4, lambda: luck.chance(0.7))
    return source


def _claim_name(store: Store, namespace: str) -> str:
    luck = store.luck
    known: list[str] = [
        claim["metadata"]["name"]
        for claim in store.claims
        if claim["metadata"]["namespace"] == namespace
    ]
    if known and luck.chance(0.35):
        return luck.one(known)
    name = f"claim{len(store.claims)}"
    if luck.chance(0.97):
        _claim(store, name, namespace)
    return name


def _claim_spec(store: Store, storage_class: str) -> Thing:
    luck = store.luck
    spec: Thing = {
        "accessModes": luck.some(_MODES, 2, 1),
        "resources": {"requests": {"storage": luck.one(_SIZES)}},
    }
    luck.maybe(spec, "storageClassName", 0.95, lambda: storage_class)
    luck.maybe(spec, "volumeMode", 0.7, lambda: luck.one(("Filesystem", "Filesystem", "Block")))
    luck.maybe(
        spec,
        "selector",
        0.1,
        lambda: luck.one(
            (
                {},
                {"matchLabels": {"disk": "ssd"}},
                {"matchExpressions": [{"key": "disk", "operator": "Exists"}]},
            )
        ),
    )
    if luck.chance(0.1):
        del spec["resources"]["requests"]
    return spec


def _claim(store: Store, name: str, namespace: str, owner: Thing | None = None) -> None:
    luck = store.luck
    storage_class = luck.one((*_CLASSES, "wait", "wait", "local"))
    meta: Thing = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{namespace}-{name}",
        "annotations": {},
    }
    if owner and luck.chance(0.95):
        meta["ownerReferences"] = [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": name,
                "controller": True,
                "uid": owner["metadata"]["uid"],
            }
        ]
    claim: Thing = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": meta,
        "status": {"phase": "Pending"},
    }
    spec = claim["spec"] = _claim_spec(store, storage_class)
    store.claims.append(claim)
    if luck.chance(0.03):
        meta["deletionTimestamp"], meta["finalizers"] = "2026-01-01T00:00:00Z", ["example.com/held"]
    if luck.chance(0.03):
        claim["status"]["phase"] = "Lost"
    if luck.chance(0.55):
        volume = f"pv-{namespace}-{name}"
        spec["volumeName"] = volume
        luck.maybe(meta["annotations"], "pv.kubernetes.io/bind-completed", 0.93, lambda: "yes")
        luck.maybe(meta["annotations"], _IDENTITY, 0.5, lambda: "yes")
        claim["status"]["phase"] = "Bound" if luck.chance(0.97) else luck.one(("Pending", "Lost"))
        if luck.chance(0.95):
            store.volumes.append(_volume(store, volume, spec.get("storageClassName", ""), claim))
        return
    luck.maybe(
        meta["annotations"],
        "volume.kubernetes.io/selected-node",
        0.12,
        lambda: luck.one((*store.names, "nowhere")),
    )
    for i in range(luck.randint(0, 3)):  # volumes made by hand that may suit
        store.volumes.append(
            _volume(
                store,
                f"free-{namespace}-{name}-{i}",
                spec.get("storageClassName", ""),
                claim if luck.chance(0.15) else None,
            )
        )


def _volume(store: Store, name: str, storage_class: str, claim: Thing | None) -> Thing:
    luck = store.luck
    meta: Thing = {"name": name, "labels": {}}
    luck.maybe(meta["labels"], "disk", 0.3, lambda: luck.one(("ssd", "hdd")))
    for key, share in ((ZONE, 0.2), (OLD_ZONE, 0.05), (REGION, 0.1), (OLD_REGION, 0.03)):
        if luck.chance(share):
            meta["labels"][key] = luck.one(_ZONES if key in {ZONE, OLD_ZONE} else ("r1", "r2"))
    spec: Thing = {
        "capacity": {"storage": luck.one(_SIZES) if luck.chance(0.5) else "20Gi"},
        "accessModes": luck.some(_MODES, 3, 1),
        "persistentVolumeReclaimPolicy": "Delete",
    }
    if storage_class:
        spec["storageClassName"] = storage_class
    if claim:
        of = claim["metadata"]
        spec["accessModes"] = claim["spec"]["accessModes"]
        spec["claimRef"] = {
            "kind": "PersistentVolumeClaim",
            "name": of["name"],
            "namespace": of["namespace"],
        }
        luck.maybe(
            spec["claimRef"], "uid", 0.9, lambda: of["uid"] if luck.chance(0.95) else "uid-other"
        )
    luck.maybe(spec, "volumeMode", 0.7, lambda: luck.one(("Filesystem", "Filesystem", "Block")))
    luck.maybe(
        spec,
        "nodeAffinity",
        0.4,
        lambda: {"required": {"nodeSelectorTerms": luck.times(lambda: _reach(store), 2, 1)}},
    )
    if luck.chance(0.4):
        spec |= _pv_disk(luck)
    else:
        spec["csi"] = {
            "driver": luck.one(_DRIVERS[:4]),
            "volumeHandle": name if luck.chance(0.8) else luck.one(("h1", "vol-d0", "vol-d1")),
        }
    phase = (
        "Bound"
        if claim and luck.chance(0.9)
        else luck.one(("Available", "Available", "Available", "Pending", "Released", ""))
    )
    if luck.chance(0.03):
        meta["deletionTimestamp"], meta["finalizers"] = "2026-01-01T00:00:00Z", ["example.com/held"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": meta,
        "spec": spec,
        "status": {"phase": phase},
    }


def _pv_disk(luck: Luck) -> Thing:
    source = _disk(luck)
    if "azureFile" in source and luck.chance(0.5):
        source["azureFile"]["secretNamespace"] = "default"
    return source if luck.chance(0.9) else {"local": {"path": "/mnt"}}


def _reach(store: Store) -> Thing:
    luck = store.luck
    if luck.chance(0.04):
        return {}
    expression = luck.one(
        (
            {"key": ZONE, "operator": "In", "values": luck.some(("z1", "z2", "z3"), 2, 1)},
            {"key": HOST, "operator": "In", "values": luck.some(store.names, 4, 1)},
            {"key": "topology.gke.io/zone", "operator": "In", "values": ["z1"]},
            {"key": "disk", "operator": luck.one(("Exists", "DoesNotExist"))},
            {"key": "cores", "operator": luck.one(("Gt", "Lt")), "values": [luck.one(("4", "x"))]},
        )
    )
    return {"matchExpressions": [expression]}


def attachments(luck: Luck, store: Store) -> list[Thing]:
    """Volumes that are attached, or still attached, to nodes."""

    def one() -> Thing:
        source: Thing = {
            "persistentVolumeName": luck.one(
                [volume["metadata"]["name"] for volume in store.volumes] or ["gone"]
            )
        }
        if luck.chance(0.1):
            source = {
                "inlineVolumeSpec": {
                    "csi": {"driver": _DRIVER, "volumeHandle": "h1"},
                    "accessModes": ["ReadWriteOnce"],
                }
            }
        return {
            "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": f"att{luck.randrange(10**9)}"},
            "spec": {"attacher": luck.one(_DRIVERS[:4]), "nodeName": luck.one(store.names), "source": source},
            "status": {"attached": luck.chance(0.7)},
        }  # fmt: skip

    return luck.times(one, 5)


def add_storage(case: Thing, luck: Luck, share: float = 0.4) -> None:
    """Volumes for the pods of a case, and everything behind them."""
    store = Store(luck, case["nodes"])
    for pod in case["pods"]:
        if luck.chance(share):
            for _ in range(luck.randint(1, 2)):
                add_volume(store, pod)
    for _ in range(luck.randint(1, 3)):
        add_volume(store, case["pod"])
    case |= {
        "storageclasses": classes(luck), "csidrivers": drivers(luck), "csinodes": csi_nodes(luck, case["nodes"]),
        "csistoragecapacities": capacities(luck), "persistentvolumeclaims": store.claims, "persistentvolumes": store.volumes,
        "volumeattachments": attachments(luck, store),
    }  # fmt: skip
