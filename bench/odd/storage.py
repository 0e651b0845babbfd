"""Volumes of pods: claims bound and unbound, volumes made by hand, disks of clouds that CSI drivers took over."""

from __future__ import annotations

from dataclasses import dataclass, field

from bench.odd import drivers
from bench.odd.luck import Luck, Thing, thing
from bench.odd.selectors import HOST, OLD_REGION, OLD_ZONE, REGION, ZONE

_MODES = ("ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod", "ReadOnlyMany", "ReadWriteMany")
_ZONE_VALUES = ("z1", "z2", "z1__z2", "z3", "z1__", "__")
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_BOUND = "pv.kubernetes.io/bind-completed"
_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
_SELECTED = "volume.kubernetes.io/selected-node"
_GCE_ZONE = "topology.gke.io/zone"
_SELECTORS: tuple[Thing, ...] = (
    {},
    {"matchLabels": {"disk": "ssd"}},
    {"matchExpressions": [{"key": "disk", "operator": "Exists"}]},
    {"matchExpressions": [{"key": "disk", "operator": "NotIn", "values": ["hdd"]}]},
)
_IRRELEVANT: tuple[Thing, ...] = (
    {"emptyDir": {}},
    {"csi": {"driver": drivers.CSI}},
    {"configMap": {"name": "x"}},
    {"hostPath": {"path": "/x"}},
)


@dataclass
class Store:
    """The claims and volumes of a case so far."""

    luck: Luck
    #: The nodes' names.
    names: list[str]
    #: Whether some are so broken that the pod is turned down before any node is looked at.
    broken: bool
    claims: list[Thing] = field(default_factory=list)
    volumes: list[Thing] = field(default_factory=list)

    def breaks(self, share: float) -> bool:
        """True in this share of the throws, where things may be broken."""
        return self.broken and self.luck.chance(share)

    def a_class(self) -> str:
        """A storage class."""
        return self.luck.one(drivers.CLASSES if self.broken else (*drivers.WAITING, "wait", "wait"))


def add_storage(case: Thing, luck: Luck, share: float = 0.4) -> None:
    """Volumes for the pods of a case, and everything behind them."""
    names = [node["metadata"]["name"] for node in case["nodes"]] or ["n00"]
    store = Store(luck, names, luck.chance(0.4))
    for pod in case["pods"]:
        if luck.chance(share):
            for _ in range(luck.randint(1, 2)):
                add_volume(store, pod)
    for _ in range(luck.randint(1, 3)):
        add_volume(store, case["pod"])
    case |= {
        "storageclasses": drivers.storage_classes(luck),
        "csidrivers": drivers.csi_drivers(luck),
        "csinodes": drivers.csi_nodes(luck, names),
        "csistoragecapacities": drivers.capacities(luck),
        "persistentvolumeclaims": store.claims,
        "persistentvolumes": store.volumes,
        "volumeattachments": drivers.attachments(luck, names, store.volumes),
    }


def add_volume(store: Store, pod: Thing) -> None:
    """Give a pod a volume of some kind."""
    luck = store.luck
    name = f"v{luck.randrange(10**6)}"
    owner, space = pod["metadata"]["name"], pod["metadata"]["namespace"]
    throw = luck.random()
    if throw < 0.3:
        source: Thing = _disk(luck)
    elif throw < 0.35:
        source = luck.one(_IRRELEVANT)
    elif throw < 0.43:
        source = {
            "ephemeral": {"volumeClaimTemplate": {"spec": _claim_spec(store, store.a_class())}}
        }
        if not store.breaks(0.2):
            _claim(store, f"{owner}-{name}", space, owner=pod)
    else:
        source = {"persistentVolumeClaim": {"claimName": _claim_name(store, space)}}
        luck.maybe(source["persistentVolumeClaim"], "readOnly", 0.1, lambda: True)
    pod["spec"].setdefault("volumes", []).append({"name": name, **source})


def _disk(luck: Luck) -> Thing:
    """A disk written into the pod or into a volume; also ones that two pods may share."""
    disk = luck.one(("d0", "d1", "d2"))
    on_aws = luck.one(
        (
            f"vol-{disk}",
            f"vol-{disk}",
            f"aws://us-east-1a/vol-{disk}",
            f"aws:///vol-{disk}",
            f"ebs://z/vol-{disk}",
            "vol-",
            disk,
        )
    )
    azure: Thing = {
        "diskName": disk,
        "diskURI": f"/subscriptions/s/{luck.one((disk, disk.upper()))}",
    }
    luck.maybe(azure, "kind", 0.3, lambda: luck.one(("Managed", "Dedicated", "managed")))
    kinds: tuple[Thing, ...] = (
        {"gcePersistentDisk": {"pdName": disk, "partition": luck.one((0, 0, 1))}},
        {"awsElasticBlockStore": {"volumeID": on_aws, "partition": luck.one((0, 0, 1))}},
        {"azureDisk": azure},
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
    source = luck.one(kinds)
    kind = next(iter(source))
    if kind != "vsphereVolume":
        luck.maybe(source[kind], "readOnly", 0.4, lambda: luck.chance(0.7))
    return source


def _claim_name(store: Store, space: str) -> str:
    luck = store.luck
    known: list[str] = [
        c["metadata"]["name"] for c in store.claims if c["metadata"]["namespace"] == space
    ]
    if known and luck.chance(0.35):
        return luck.one(known)
    name = f"claim{len(store.claims)}"
    if not store.breaks(0.05):
        _claim(store, name, space)
    return name


def _claim_spec(store: Store, storage_class: str) -> Thing:
    luck = store.luck
    spec: Thing = {
        "accessModes": luck.some(_MODES, 2, 1),
        "resources": {"requests": {"storage": luck.one(drivers.SIZES)}},
    }
    luck.maybe(spec, "storageClassName", 0.95, lambda: storage_class)
    luck.maybe(spec, "volumeMode", 0.7, lambda: luck.one(("Filesystem", "Filesystem", "Block")))
    luck.maybe(spec, "selector", 0.25, lambda: luck.one(_SELECTORS))
    luck.maybe(spec, "volumeAttributesClassName", 0.1, lambda: luck.one(("gold", "silver", "")))
    if luck.chance(0.1):
        del spec["resources"]["requests"]
    return spec


def _claim(store: Store, name: str, space: str, owner: Thing | None = None) -> None:
    luck = store.luck
    notes: dict[str, str] = {}
    meta: Thing = {"uid": f"uid-{space}-{name}", "annotations": notes}
    if owner and not store.breaks(0.1):
        of = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
        }
        meta["ownerReferences"] = [{**of, "controller": True}]
    storage_class = store.a_class()
    spec = _claim_spec(store, storage_class)
    if luck.chance(0.05):
        notes[_BETA_CLASS] = storage_class
    claim = thing(
        "PersistentVolumeClaim", name, space, metadata=meta, spec=spec, status={"phase": "Pending"}
    )
    store.claims.append(claim)
    if store.breaks(0.05):
        claim["metadata"] |= _DELETED
    if store.breaks(0.05):
        claim["status"]["phase"] = "Lost"
    if luck.chance(0.5):
        _bind(store, claim)
        return
    luck.maybe(notes, _SELECTED, 0.12, lambda: luck.one((*store.names, "nowhere")))
    for i in range(luck.randint(0, 3)):  # volumes made by hand that may suit
        promised = claim if luck.chance(0.15) else None
        store.volumes.append(_volume(store, f"free-{space}-{name}-{i}", claim, promised))


_DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/held"]}


def _bind(store: Store, claim: Thing) -> None:
    luck, notes = store.luck, claim["metadata"]["annotations"]
    volume = f"pv-{claim['metadata']['namespace']}-{claim['metadata']['name']}"
    claim["spec"]["volumeName"] = volume
    if not store.breaks(0.15):
        notes[_BOUND] = "yes"
    luck.maybe(notes, _BY_CONTROLLER, 0.5, lambda: "yes")
    claim["status"]["phase"] = luck.one(("Pending", "Lost")) if store.breaks(0.1) else "Bound"
    if not store.breaks(0.1):
        store.volumes.append(_volume(store, volume, claim, claim))


def _volume(store: Store, name: str, like: Thing, claim: Thing | None) -> Thing:
    """A volume of the class of one claim, promised or bound to another, or to none."""
    luck = store.luck
    meta: Thing = {"labels": {}}
    luck.maybe(meta["labels"], "disk", 0.4, lambda: luck.one(("ssd", "hdd")))
    for key, share in ((ZONE, 0.2), (OLD_ZONE, 0.05), (REGION, 0.1), (OLD_REGION, 0.03)):
        if luck.chance(share):
            meta["labels"][key] = luck.one(
                _ZONE_VALUES if key in {ZONE, OLD_ZONE} else ("r1", "r2")
            )
    spec: Thing = {
        "capacity": {"storage": luck.one(drivers.SIZES) if luck.chance(0.4) else "20Gi"},
        "accessModes": like["spec"]["accessModes"] if luck.chance(0.5) else luck.some(_MODES, 3, 1),
    }
    storage_class = like["spec"].get("storageClassName")
    if storage_class:
        spec["storageClassName"] = storage_class
        if luck.chance(0.05):
            meta["annotations"] = {_BETA_CLASS: luck.one((storage_class, "other"))}
    if claim:
        of = claim["metadata"]
        spec["accessModes"] = claim["spec"]["accessModes"]
        reference = {
            "kind": "PersistentVolumeClaim",
            "name": of["name"],
            "namespace": of["namespace"],
        }
        luck.maybe(reference, "uid", 0.9, lambda: of["uid"] if luck.chance(0.95) else "uid-other")
        spec["claimRef"] = reference
    mode = like["spec"].get("volumeMode") if luck.chance(0.8) else luck.one(("Filesystem", "Block"))
    if mode:
        spec["volumeMode"] = mode
    vac = (
        like["spec"].get("volumeAttributesClassName")
        if luck.chance(0.8)
        else luck.one(("gold", ""))
    )
    if vac is not None:
        spec["volumeAttributesClassName"] = vac
    if luck.chance(0.4):
        spec["nodeAffinity"] = {
            "required": {"nodeSelectorTerms": luck.times(lambda: _reach(store), 2, 1)}
        }
    throw = luck.random()
    if throw < 0.2:
        _put_in_cloud(luck, meta, spec)
    elif throw < 0.5:
        spec |= _volume_disk(luck)
    else:
        handle = name if luck.chance(0.8) else luck.one(("h1", "vol-d0", "vol-d1"))
        spec["csi"] = {"driver": luck.one(drivers.DRIVERS[:4]), "volumeHandle": handle}
    if luck.chance(0.03):
        meta |= _DELETED
    free = luck.one(("Available", "Available", "Available", "Pending", "Released", ""))
    phase = "Bound" if claim and luck.chance(0.9) else free
    return thing("PersistentVolume", name, metadata=meta, spec=spec, status={"phase": phase})


def _put_in_cloud(luck: Luck, meta: Thing, spec: Thing) -> None:
    """A disk of a cloud as its volume plugin made it: labels and node affinity tell the same zones."""
    zones = luck.some(("us-a1-a", "us-a1-b", "eu-b2-a", "z1", "z2"), 2, 1)
    meta["labels"][luck.one((ZONE, ZONE, OLD_ZONE))] = "__".join(zones)
    disks: tuple[Thing, ...] = (
        {"gcePersistentDisk": {"pdName": "d0"}},
        {"gcePersistentDisk": {"pdName": "d1", "partition": 1}},
        {"awsElasticBlockStore": {"volumeID": "vol-d0"}},
        {"azureDisk": {"diskName": "d0", "diskURI": "/subscriptions/s/d0"}},
        {"cinder": {"volumeID": "d0"}},
    )
    spec |= luck.one(disks)
    if luck.chance(0.6):
        there = {"key": luck.one((ZONE, ZONE, OLD_ZONE)), "operator": "In", "values": zones}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [there]}]}}


def _volume_disk(luck: Luck) -> Thing:
    source = _disk(luck)
    if "azureFile" in source and luck.chance(0.5):
        source["azureFile"]["secretNamespace"] = "default"
    return source if luck.chance(0.9) else {"local": {"path": "/mnt"}}


def _reach(store: Store) -> Thing:
    """A term of the nodes that reach a volume."""
    luck = store.luck
    if luck.chance(0.04):
        return {}
    expressions: tuple[Thing, ...] = (
        {
            "key": luck.one((ZONE, OLD_ZONE, _GCE_ZONE)),
            "operator": "In",
            "values": luck.some(("z1", "z2", "z3"), 2, 1),
        },
        {
            "key": ZONE,
            "operator": "In",
            "values": luck.some(("us-a1-a", "us-a1-b", "z1", "eu-b2-a"), 2, 1),
        },
        {"key": HOST, "operator": "In", "values": luck.some(store.names, 4, 1)},
        {"key": "disk", "operator": luck.one(("Exists", "DoesNotExist"))},
        {"key": "cores", "operator": luck.one(("Gt", "Lt")), "values": [luck.one(("4", "x"))]},
    )
    return {"matchExpressions": [luck.one(expressions)]}
