"""Volumes, budgets and garbage."""

from __future__ import annotations

from typing import Any

from bayplan.embedded.objects import Object
from tests.embedded.cluster.world import SELECTOR, TEMPLATE, World, lives

CLAIM_SPEC: Object = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "5Gi"}},
}


def storage_class(world: World, name: str, **rest: Any) -> None:
    world.create("storageclasses.storage.k8s.io", name, **rest)


def claim(world: World, name: str = "data", **spec: Any) -> None:
    world.create("persistentvolumeclaims", name, spec=CLAIM_SPEC | spec)


def volume(world: World, name: str, size: str, **spec: Any) -> None:
    base: Object = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/x"},
        "storageClassName": "hand",
    }
    world.create("persistentvolumes", name, spec=base | spec)


def phase(world: World, resource: str, name: str) -> str:
    found: str = world.get(resource, name)["status"]["phase"]
    return found


def test_a_claim_that_waits_gets_its_volume_where_its_pod_goes() -> None:
    async def test(world: World) -> None:
        storage_class(world, "late", provisioner="x", volumeBindingMode="WaitForFirstConsumer")
        claim(world, storageClassName="late")
        await world.settle(10)
        assert phase(world, "persistentvolumeclaims", "data") == "Pending"
        assert world.store.list("persistentvolumes") == []
        world.store.mutate(
            "persistentvolumeclaims",
            "data",
            lambda obj: obj["metadata"].update(
                annotations={"volume.kubernetes.io/selected-node": "node-1"}
            ),
            "default",
        )
        await world.settle()
        found = world.get("persistentvolumeclaims", "data")
        (made,) = world.store.list("persistentvolumes")
        assert found["spec"]["volumeName"] == made["metadata"]["name"]
        assert found["status"] == {
            "phase": "Bound",
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "5Gi"},
        }
        assert found["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] == "yes"
        assert made["status"]["phase"] == "Bound"
        (term,) = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        assert term["matchExpressions"] == [
            {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-a"]}
        ]
        world.store.delete("persistentvolumeclaims", "data", "default")
        await world.settle()
        assert world.store.list("persistentvolumes") == []

    lives(test)


def test_a_claim_takes_the_smallest_volume_that_does() -> None:
    async def test(world: World) -> None:
        storage_class(world, "hand", provisioner="kubernetes.io/no-provisioner")
        volume(world, "small", "1Gi")
        volume(world, "large", "50Gi")
        volume(world, "right", "10Gi")
        volume(world, "other", "5Gi", storageClassName="other")
        await world.settle()
        assert phase(world, "persistentvolumes", "right") == "Available"
        claim(world, storageClassName="hand")
        await world.settle()
        assert world.get("persistentvolumeclaims", "data")["spec"]["volumeName"] == "right"
        assert phase(world, "persistentvolumes", "right") == "Bound"
        assert phase(world, "persistentvolumes", "large") == "Available"
        world.store.delete("persistentvolumeclaims", "data", "default")
        await world.settle()
        assert phase(world, "persistentvolumes", "right") == "Released"

    lives(test)


def test_a_volume_that_the_scheduler_chose() -> None:
    async def test(world: World) -> None:
        storage_class(
            world,
            "hand",
            provisioner="kubernetes.io/no-provisioner",
            volumeBindingMode="WaitForFirstConsumer",
        )
        claim(world, storageClassName="hand")
        volume(world, "first", "10Gi")
        volume(world, "chosen", "50Gi")
        await world.settle()
        assert phase(world, "persistentvolumeclaims", "data") == "Pending"
        reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data"}
        world.store.mutate(
            "persistentvolumes", "chosen", lambda obj: obj["spec"].update(claimRef=reference)
        )
        await world.settle()
        assert world.get("persistentvolumeclaims", "data")["spec"]["volumeName"] == "chosen"
        assert phase(world, "persistentvolumes", "chosen") == "Bound"

    lives(test)


def test_a_claim_gets_the_default_class_and_a_volume_at_once() -> None:
    async def test(world: World) -> None:
        claim(world)
        await world.settle()
        assert phase(world, "persistentvolumeclaims", "data") == "Pending"
        default = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
        storage_class(world, "usual", provisioner="x", metadata=default)
        await world.settle()
        found = world.get("persistentvolumeclaims", "data")
        assert found["spec"]["storageClassName"] == "usual"
        assert found["status"]["phase"] == "Bound"

    lives(test)


def budget(world: World, **spec: Any) -> None:
    world.create("poddisruptionbudgets.policy", "web", spec={"selector": SELECTOR} | spec)


def counts(world: World) -> tuple[int, int, int, int]:
    status = world.get("poddisruptionbudgets.policy", "web")["status"]
    return (
        status["expectedPods"],
        status["currentHealthy"],
        status["desiredHealthy"],
        status["disruptionsAllowed"],
    )


def test_a_budget_counts_healthy_pods() -> None:
    async def test(world: World) -> None:
        budget(world, minAvailable=2)
        for name in ("a", "b", "c"):
            world.pod(name, labels={"app": "web"})
        world.pod("other", labels={"app": "db"})
        await world.settle()
        assert counts(world) == (3, 0, 2, 0)
        world.bind_all()
        await world.settle(1)
        assert counts(world) == (3, 3, 2, 1)
        world.store.delete("pods", "a", "default")
        await world.settle(0.1)
        assert counts(world) == (3, 2, 2, 0)
        assert world.get("poddisruptionbudgets.policy", "web")["status"]["observedGeneration"] == 1

    lives(test)


def test_a_share_is_of_what_the_owner_asks_for() -> None:
    async def test(world: World) -> None:
        budget(world, maxUnavailable="25%")
        spec = {"replicas": 8, "selector": SELECTOR, "template": TEMPLATE}
        world.create("deployments.apps", "web", spec=spec)
        await world.settle()
        world.bind_all()
        await world.settle(1)
        assert counts(world) == (8, 8, 6, 2)

    lives(test)


def test_an_eviction_uses_up_the_budget_until_the_pod_is_gone() -> None:
    from bayplan.embedded.binding import evict
    from bayplan.errors import RequestRefused

    async def test(world: World) -> None:
        budget(world, minAvailable=1)
        for name in ("a", "b"):
            world.pod(name, labels={"app": "web"})
        world.bind_all()
        await world.settle(1)
        evict(world.store, "default", "a", {})
        try:
            evict(world.store, "default", "b", {})
            allowed = True
        except RequestRefused as refusal:
            allowed = refusal.code != 429
        assert not allowed
        await world.settle(2)
        assert world.phases() == {"b": "Running"}
        assert counts(world) == (1, 1, 1, 0)

    lives(test)


def test_an_object_whose_owner_never_was_goes() -> None:
    async def test(world: World) -> None:
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "u"}
        world.create("configmaps", "orphan", metadata={"ownerReferences": [owner]})
        await world.settle()
        assert world.gone("configmaps", "orphan")

    lives(test)


def test_an_object_goes_with_its_last_owner() -> None:
    async def test(world: World) -> None:
        owners = []
        for name in ("one", "two"):
            made = world.create("configmaps", name)
            owners.append(
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "name": name,
                    "uid": made["metadata"]["uid"],
                }
            )
        world.create("secrets", "owned", metadata={"ownerReferences": owners})
        world.store.delete("configmaps", "one", "default")
        await world.settle()
        assert not world.gone("secrets", "owned")
        world.store.delete("configmaps", "two", "default")
        await world.settle()
        assert world.gone("secrets", "owned")

    lives(test)
