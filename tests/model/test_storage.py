"""Storage: nil against empty, and the spellings that break the rule."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.model.decode import decode_as
from bayplan.model.storage import (
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, None, id="absent is the default class"),
        pytest.param({"storageClassName": None}, None, id="so is null"),
        pytest.param({"storageClassName": ""}, "", id="empty is no class"),
        pytest.param({"storageClassName": "fast"}, "fast", id="a class"),
    ],
)
def test_class_of_a_claim(spec: dict[str, Any], expected: str | None) -> None:
    assert decode_as(PersistentVolumeClaim, {"spec": spec}).spec.storage_class_name == expected


def test_volume() -> None:
    spec = decode_as(
        PersistentVolume,
        {
            "spec": {
                "capacity": {"storage": "10Gi"},
                "claimRef": {"namespace": "default", "name": "c", "uid": "u"},
                "csi": {"driver": "d", "volumeHandle": "h"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": []}},
            }
        },
    ).spec
    assert spec.csi is not None
    assert (spec.csi.driver, spec.csi.volume_handle) == ("d", "h")
    assert spec.claim_ref is not None
    assert spec.claim_ref.uid == "u"
    assert spec.node_affinity is not None
    assert spec.node_affinity.required is not None


def test_driver_of_a_node() -> None:
    drivers = [{"name": "d", "nodeID": "i-1", "allocatable": {"count": 0}}, {"name": "e"}]
    node = decode_as(CSINode, {"spec": {"drivers": drivers}})
    limited, free = node.spec.drivers
    assert limited.node_id == "i-1"
    assert limited.allocatable is not None
    assert limited.allocatable.count == 0
    assert free.allocatable is None


def test_capacity_may_be_absent() -> None:
    capacity = decode_as(CSIStorageCapacity, {"capacity": "1Gi", "nodeTopology": {}})
    assert (capacity.capacity, capacity.maximum_volume_size) == ("1Gi", None)
    assert capacity.node_topology is not None


def test_binding_mode_may_be_absent() -> None:
    assert decode_as(StorageClass, {"provisioner": "p"}).volume_binding_mode is None


def test_attachment() -> None:
    spec = {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "pv"}}
    found = decode_as(VolumeAttachment, {"spec": spec, "status": {"attached": True}})
    assert found.spec.source.persistent_volume_name == "pv"
    assert found.status.attached
