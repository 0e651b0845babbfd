"""Claims that wait for their first consumer: the scheduler chooses the node, and with it the volume."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.testing.control_plane import History, Obj
from tests.e2e.stage import Stage, node, pod

pytestmark = pytest.mark.e2e

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
SELECTED_NODE = "volume.kubernetes.io/selected-node"


@pytest.fixture
def stage(stage: Stage) -> Stage:
    """Three nodes in three zones, and the controller that completes bindings of claims."""
    for zone in "abc":
        stage.add(node(f"n-{zone}").zone(zone))
    stage.need("kube-controller-manager")
    stage.plane.start_controller_manager(["persistentvolume-binder-controller"])
    stage.start_scheduler().wait_ready()
    return stage


def storage_class(name: str, provisioner: str) -> Obj:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
        "reclaimPolicy": "Retain",
    }


def claim(name: str, of_class: str, size: str = "1Gi") -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "storageClassName": of_class,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
        },
    }


def volume(name: str, of_class: str, size: str, key: str, value: str, **more: Any) -> Obj:
    expression = {"key": key, "operator": "In", "values": [value]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "storageClassName": of_class,
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "local": {"path": f"/mnt/{name}"},
            "nodeAffinity": {
                "required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
            },
            **more,
        },
    }


def test_the_smallest_volume_that_does_on_a_node_that_reaches_it(stage: Stage) -> None:
    host = "kubernetes.io/hostname"
    stage.add(
        storage_class("local", "kubernetes.io/no-provisioner"),
        volume("too-small", "local", "1Gi", host, "n-a"),
        volume("just-right", "local", "5Gi", host, "n-b"),
        volume("too-large", "local", "50Gi", host, "n-b"),
        claim("data", "local", "4Gi"),
        pod("db").claim("data"),
    )

    assert stage.wait_bound("default/db") == {"default/db": "n-b"}
    bound = stage.plane.admin.get(f"{CLAIMS}/data")
    assert bound["spec"]["volumeName"] == "just-right"
    assert bound["status"]["phase"] == "Bound"


def test_two_pods_do_not_get_one_volume(stage: Stage) -> None:
    stage.add(storage_class("local", "kubernetes.io/no-provisioner"))
    for zone in "ab":
        stage.add(volume(f"disk-{zone}", "local", "5Gi", "kubernetes.io/hostname", f"n-{zone}"))
    stage.may_wait.add("default/p2")
    for number in (0, 1):
        stage.add(claim(f"c{number}", "local"), pod(f"p{number}").claim(f"c{number}"))
    homes = stage.wait_bound("default/p0", "default/p1")
    stage.add(claim("c2", "local"), pod("p2").claim("c2"))

    assert sorted(homes.values()) == ["n-a", "n-b"]
    # The pod may be seen before its claim is.
    assert stage.wait_refused(
        "default/p2", "3 node(s) didn't find available persistent volumes to bind"
    )


def test_a_volume_is_made_where_the_pod_goes(stage: Stage) -> None:
    zone = "topology.kubernetes.io/zone"
    stage.add(
        storage_class("made", "disks.example.com"),
        claim("data", "made"),
        pod("db").claim("data").node_selector({zone: "c"}),
    )
    with History(stage.plane.admin, CLAIMS) as claims:
        chosen = claims.wait(
            lambda objects: (
                objects["default/data"]["metadata"].get("annotations", {}).get(SELECTED_NODE)
            ),
            "node for the claim",
        )["default/data"]
        # The pod waits for its volume before it is bound.
        assert stage.node_of("default/db") == ""
        # This is the provisioner's part.
        owner = {
            "kind": "PersistentVolumeClaim",
            "apiVersion": "v1",
            "namespace": "default",
            "name": "data",
            "uid": chosen["metadata"]["uid"],
        }
        stage.add(volume("fresh", "made", "1Gi", zone, "c", claimRef=owner))

    assert chosen["metadata"]["annotations"][SELECTED_NODE] == "n-c"
    assert stage.wait_bound("default/db") == {"default/db": "n-c"}


def test_a_pod_waits_for_a_claim_that_is_not_there_yet(stage: Stage) -> None:
    stage.add(storage_class("local", "kubernetes.io/no-provisioner"))
    stage.add(volume("disk", "local", "5Gi", "kubernetes.io/hostname", "n-a"))
    stage.add(pod("db").claim("data"))
    message = stage.wait_refused("default/db")
    stage.add(claim("data", "local"))

    assert 'persistentvolumeclaim "data" not found' in message
    assert stage.wait_bound("default/db") == {"default/db": "n-a"}
