"""Volumes, claims, classes and the like: kept in the cluster, told to the queue where they may wake pods."""

from __future__ import annotations

from bayplan.framework.events import Resource
from bayplan.model import PersistentVolumeClaim, PodDisruptionBudget, StorageClass
from bayplan.model.decode import decode_as
from bayplan.runtime.ingest.objects import Objects
from tests.runtime.ingest.told import Scene


def storage_class(provisioner: str = "x") -> StorageClass:
    return decode_as(
        StorageClass, {"metadata": {"name": "fast", "uid": "u"}, "provisioner": provisioner}
    )


def test_a_kind_that_wakes_pods_is_told_with_both_states() -> None:
    scene = Scene()
    handler = Objects(StorageClass, scene.cluster, scene.waker, Resource.STORAGE_CLASS)
    handler.on_put(storage_class("x"))
    handler.on_put(storage_class("y"))
    handler.on_gone("", "fast", "u", None)
    assert scene.take() == [
        "storage.k8s.io/StorageClassAdd",
        "storage.k8s.io/StorageClassUpdate",
        "storage.k8s.io/StorageClassDelete",
    ]
    update, delete = scene.queue.events[1:]
    assert (update.old.provisioner, update.new.provisioner) == ("x", "y")
    assert delete.old.provisioner == "y"
    assert scene.cluster.storage.classes.get("fast") is None


def test_a_kind_that_wakes_nobody_is_only_kept() -> None:
    scene = Scene()
    handler = Objects(PodDisruptionBudget, scene.cluster, scene.waker)
    budget = decode_as(PodDisruptionBudget, {"metadata": {"name": "b", "namespace": "default"}})
    handler.on_put(budget)
    handler.on_gone("default", "b", "", None)
    assert scene.take() == []


def test_whoever_waits_for_a_claim_hears_of_it() -> None:
    scene, heard = Scene(), []
    handler = Objects(
        PersistentVolumeClaim,
        scene.cluster,
        scene.waker,
        Resource.PERSISTENT_VOLUME_CLAIM,
        lambda: heard.append(scene.cluster.storage.claims.get("default/c") is not None),
    )
    claim = decode_as(PersistentVolumeClaim, {"metadata": {"name": "c", "namespace": "default"}})
    handler.on_put(claim)
    handler.on_gone("default", "c", "", None)
    assert heard == [True, False]  # after the cluster knows


def test_the_deletion_of_what_was_never_seen_tells_nobody() -> None:
    scene = Scene()
    handler = Objects(StorageClass, scene.cluster, scene.waker, Resource.STORAGE_CLASS)
    handler.on_gone("", "fast", "u", None)
    assert scene.take() == []
