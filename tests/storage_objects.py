"""Storage objects in a line each, for the tests of the storage tables and of the volume plugins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bayplan.model.decode import decode_as
from bayplan.model.pod import Pod
from bayplan.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
DRIVER = "csi.example.com"


def make_class(
    name: str, provisioner: str = DRIVER, mode: str | None = "WaitForFirstConsumer", **more: Any
) -> StorageClass:
    return decode_as(
        StorageClass,
        {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode, **more},
    )


def make_claim(
    name: str,
    storage_class: str | None = "wait",
    *,
    namespace: str = "default",
    size: str = "1Gi",
    volume: str = "",
    bound: bool | None = None,
    modes: Sequence[str] = ("ReadWriteOnce",),
    phase: str = "",
    annotations: dict[str, str] | None = None,
    owner: str = "",
    version: str = "",
    deleted: bool = False,
    **spec: Any,
) -> PersistentVolumeClaim:
    """With a volume it counts as bound, unless told otherwise."""
    found = dict(annotations or {})
    if volume and bound is not False:
        found["pv.kubernetes.io/bind-completed"] = "yes"
    meta: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{name}",
        "annotations": found,
        "resourceVersion": version,
    }
    if owner:
        meta["ownerReferences"] = [{"kind": "Pod", "name": "x", "uid": owner, "controller": True}]
    if deleted:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return decode_as(
        PersistentVolumeClaim,
        {
            "metadata": meta,
            "spec": {
                "accessModes": list(modes),
                "storageClassName": storage_class,
                "resources": {"requests": {"storage": size}},
                "volumeName": volume,
                **spec,
            },
            "status": {"phase": phase or ("Bound" if volume else "Pending")},
        },
    )


def required(*terms: dict[str, Sequence[str]]) -> dict[str, Any]:
    """A node affinity: terms of labels and the values they may have."""
    return {
        "required": {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {"key": key, "operator": "In", "values": list(values)}
                        for key, values in term.items()
                    ]
                }
                for term in terms
            ]
        }
    }


def make_volume(
    name: str,
    storage_class: str = "wait",
    *,
    size: str = "1Gi",
    nodes: dict[str, Any] | None = None,
    claim: str = "",
    claim_uid: str | None = None,
    modes: Sequence[str] = ("ReadWriteOnce",),
    phase: str = "",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    version: str = "",
    deleted: bool = False,
    **spec: Any,
) -> PersistentVolume:
    """With a claim it counts as bound; without a source of its own it is a CSI volume."""
    meta: dict[str, Any] = {
        "name": name,
        "labels": labels or {},
        "annotations": annotations or {},
        "resourceVersion": version,
    }
    if deleted:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    content: dict[str, Any] = {
        "capacity": {"storage": size},
        "accessModes": list(modes),
        "storageClassName": storage_class,
        **(spec or {"csi": {"driver": DRIVER, "volumeHandle": f"handle-{name}"}}),
    }
    if nodes is not None:
        content["nodeAffinity"] = nodes
    if claim:
        uid = f"uid-{claim}" if claim_uid is None else claim_uid
        content["claimRef"] = {"namespace": "default", "name": claim, "uid": uid}
    phase = phase or ("Bound" if claim else "Available")
    return decode_as(
        PersistentVolume, {"metadata": meta, "spec": content, "status": {"phase": phase}}
    )


def make_csi_node(
    name: str, limits: dict[str, int | None] | None = None, *, migrated: Sequence[str] = ()
) -> CSINode:
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": ",".join(migrated)}
    return decode_as(
        CSINode,
        {
            "metadata": {"name": name, "annotations": annotations if migrated else {}},
            "spec": {
                "drivers": [
                    {"name": driver, "nodeID": name, "allocatable": {"count": limit}}
                    for driver, limit in (limits or {}).items()
                ]
            },
        },
    )


def make_driver(name: str = DRIVER, *, storage_capacity: bool | None = None) -> CSIDriver:
    return decode_as(
        CSIDriver, {"metadata": {"name": name}, "spec": {"storageCapacity": storage_capacity}}
    )


def make_capacity(
    name: str, storage_class: str, topology: dict[str, Any] | None, **sizes: str
) -> CSIStorageCapacity:
    """``capacity`` and ``maximumVolumeSize`` are the sizes."""
    return decode_as(
        CSIStorageCapacity,
        {
            "metadata": {"name": name, "namespace": "kube-system"},
            "storageClassName": storage_class,
            "nodeTopology": topology,
            **sizes,
        },
    )


def make_attachment(
    name: str, node: str, volume: str | None, attacher: str = DRIVER
) -> VolumeAttachment:
    return decode_as(
        VolumeAttachment,
        {
            "metadata": {"name": name},
            "spec": {
                "attacher": attacher,
                "nodeName": node,
                "source": {"persistentVolumeName": volume},
            },
        },
    )


def pod_with(
    name: str, *volumes: dict[str, Any] | str, node: str = "", namespace: str = "default"
) -> Pod:
    """A pod with volumes: a string names a claim, ``ephemeral:data`` a generic ephemeral volume ``data``."""
    given: list[dict[str, Any]] = []
    for number, volume in enumerate(volumes):
        if isinstance(volume, dict):
            given.append({"name": f"v{number}", **volume})
        elif volume.startswith("ephemeral:"):
            content: dict[str, Any] = {"volumeClaimTemplate": {"spec": {}}}
            given.append({"name": volume.removeprefix("ephemeral:"), "ephemeral": content})
        else:
            source = {"claimName": volume}
            given.append({"name": f"v{number}", "persistentVolumeClaim": source})
    return decode_as(
        Pod,
        {
            "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
            "spec": {"nodeName": node, "containers": [{"name": "main"}], "volumes": given},
        },
    )
