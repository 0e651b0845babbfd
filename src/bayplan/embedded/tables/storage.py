"""``kubectl get`` for volumes, claims and classes."""

from __future__ import annotations

from typing import Final

from bayplan.embedded.objects import Object, as_list, at, text_at
from bayplan.embedded.tables.cells import AGE, NAME, UNSET, flag, joined, made, text

_SHORT: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _modes(modes: object) -> str:
    return ",".join(_SHORT.get(one, one) for one in as_list(modes))


def _phase(obj: Object) -> str:
    gone = at(obj, "metadata", "deletionTimestamp")
    return "Terminating" if gone else text_at(obj, "status", "phase")


def _claim(volume: Object) -> str:
    reference = at(volume, "spec", "claimRef")
    if not isinstance(reference, dict):
        return ""
    return f"{text_at(reference, 'namespace')}/{text_at(reference, 'name')}"


def _bound(claim: Object) -> bool:
    return bool(text_at(claim, "spec", "volumeName"))


_MODE: Final = text("VolumeMode", "spec", "volumeMode", empty=UNSET, priority=1)
_ATTRIBUTES: Final = text("VolumeAttributesClass", "spec", "volumeAttributesClassName", empty=UNSET)

VOLUMES: Final = (
    NAME,
    text("Capacity", "spec", "capacity", "storage"),
    made("Access Modes", lambda obj: _modes(at(obj, "spec", "accessModes"))),
    text("Reclaim Policy", "spec", "persistentVolumeReclaimPolicy"),
    made("Status", _phase),
    made("Claim", _claim),
    text("StorageClass", "spec", "storageClassName"),
    _ATTRIBUTES,
    text("Reason", "status", "reason"),
    AGE,
    _MODE,
)
CLAIMS: Final = (
    NAME,
    made("Status", _phase),
    text("Volume", "spec", "volumeName"),
    made(
        "Capacity", lambda obj: text_at(obj, "status", "capacity", "storage") if _bound(obj) else ""
    ),
    made(
        "Access Modes", lambda obj: _modes(at(obj, "status", "accessModes")) if _bound(obj) else ""
    ),
    text("StorageClass", "spec", "storageClassName"),
    _ATTRIBUTES,
    AGE,
    _MODE,
)


def _class_name(obj: Object) -> str:
    name = text_at(obj, "metadata", "name")
    mark = at(obj, "metadata", "annotations", "storageclass.kubernetes.io/is-default-class")
    return f"{name} (default)" if mark == "true" else name


CLASSES: Final = (
    made("Name", _class_name),
    text("Provisioner", "provisioner"),
    text("ReclaimPolicy", "reclaimPolicy"),
    text("VolumeBindingMode", "volumeBindingMode"),
    made("AllowVolumeExpansion", lambda obj: obj.get("allowVolumeExpansion") is True),
    AGE,
)
ATTACHMENTS: Final = (
    NAME,
    text("Attacher", "spec", "attacher"),
    text("PV", "spec", "source", "persistentVolumeName"),
    text("Node", "spec", "nodeName"),
    flag("Attached", "status", "attached"),
    AGE,
)


def _audiences(driver: Object) -> str:
    requests = at(driver, "spec", "tokenRequests")
    return UNSET if requests is None else ",".join(text_at(one, "audience") for one in requests)


CSI_DRIVERS: Final = (
    NAME,
    flag("AttachRequired", "spec", "attachRequired", default=True),
    flag("PodInfoOnMount", "spec", "podInfoOnMount"),
    flag("StorageCapacity", "spec", "storageCapacity"),
    made("TokenRequests", _audiences),
    flag("RequiresRepublish", "spec", "requiresRepublish"),
    made("Modes", lambda obj: joined(as_list(at(obj, "spec", "volumeLifecycleModes")))),
    AGE,
)
CSI_NODES: Final = (
    NAME,
    made("Drivers", lambda obj: len(as_list(at(obj, "spec", "drivers"))), "integer"),
    AGE,
)
