"""Claims and volumes: binding the two, and making volumes for claims that wait for them.

Fed by changes of PersistentVolumes, PersistentVolumeClaims and StorageClasses. A claim whose class says
``WaitForFirstConsumer`` is left to the scheduler, which either picks a volume (``spec.claimRef`` of the volume) or a node
(annotation ``volume.kubernetes.io/selected-node``); then the volume is made here, in the node's zone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from bayplan.embedded.binding import selects
from bayplan.embedded.entries import Change, ChangeType
from bayplan.embedded.following import Desk, Key, follow
from bayplan.embedded.nodes.making import HOSTNAME, ZONE
from bayplan.embedded.objects import Object, as_list, as_object, at, metadata, section, text_at
from bayplan.model.quantity import value

if TYPE_CHECKING:
    from bayplan.embedded.store import Store

CLAIMS: Final = "persistentvolumeclaims"
VOLUMES: Final = "persistentvolumes"
CLASSES: Final = "storageclasses.storage.k8s.io"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
#: A class with this one has no volumes but those that somebody has written.
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
_BOUND: Final = {
    "pv.kubernetes.io/bind-completed": "yes",
    "pv.kubernetes.io/bound-by-controller": "yes",
}


class Volumes:
    """The binder and the provisioner."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._claims = Desk(CLAIMS, self._look_at_claim)
        self._volumes = Desk(VOLUMES, self._look_at_volume)
        self._ends: list[Callable[[], None]] = []

    def start(self) -> None:
        """Begin; needs a running loop."""
        self._ends = [
            follow(self._store, VOLUMES, self._on_volume),
            follow(self._store, CLAIMS, self._on_claim),
            follow(self._store, CLASSES, self._on_class),
        ]

    def stop(self) -> None:
        """End."""
        for end in self._ends:
            end()
        self._claims.close()
        self._volumes.close()

    def _on_volume(self, change: Change) -> None:
        self._volumes.add(("", change.entry.name))
        reference = as_object(at(change.entry.decode(), "spec", "claimRef"))
        if reference:
            self._claims.add((reference.get("namespace", ""), reference.get("name", "")))
        elif change.type is not ChangeType.DELETED:
            self._pending_claims()

    def _on_claim(self, change: Change) -> None:
        self._claims.add((change.entry.namespace, change.entry.name))
        claim = change.entry.decode()
        if change.type is ChangeType.ADDED and at(claim, "spec", "storageClassName") is None:
            # At once, as admission does it: a pod must not be looked at before.
            self._give_default_class(claim)
        volume = text_at(claim, "spec", "volumeName")
        if volume:
            self._volumes.add(("", volume))

    def _on_class(self, change: Change) -> None:
        if change.type is not ChangeType.DELETED:
            self._pending_claims()

    def _pending_claims(self) -> None:
        for entry in self._store.shelves[CLAIMS].entries.values():
            if b'"volumeName"' not in entry.raw:
                self._claims.add((entry.namespace, entry.name))

    # Claims

    def _look_at_claim(self, key: Key) -> None:
        namespace, name = key
        entry = self._store.find(CLAIMS, name, namespace)
        if entry is None:
            return
        claim = entry.decode()
        wanted = text_at(claim, "spec", "volumeName")
        if wanted:
            volume = self._store.find(VOLUMES, wanted)
            if volume is not None:
                self._bind(claim, volume.decode())
            return
        if at(claim, "spec", "storageClassName") is None:
            self._give_default_class(claim)
            return
        chosen = self._chosen_volume(claim) or self._fitting_volume(claim)
        if chosen is not None:
            self._bind(claim, chosen)
        elif self._may_provision(claim):
            self._provision(claim)

    def _class_of(self, claim: Object) -> Object:
        name = text_at(claim, "spec", "storageClassName")
        entry = self._store.find(CLASSES, name) if name else None
        return entry.decode() if entry else {}

    def _give_default_class(self, claim: Object) -> None:
        defaults = [
            metadata(one)["name"]
            for one in self._store.list(CLASSES)
            if text_at(one, "metadata", "annotations", DEFAULT_CLASS) == "true"
        ]
        if defaults:
            meta = metadata(claim)
            self._store.mutate(
                CLAIMS,
                meta["name"],
                lambda obj: section(obj, "spec").update(storageClassName=defaults[0]),
                meta["namespace"],
            )

    def _all_volumes(self) -> Iterator[Object]:
        for entry in list(self._store.shelves[VOLUMES].entries.values()):
            yield entry.decode()

    def _chosen_volume(self, claim: Object) -> Object | None:
        """The volume that says it is for this claim: somebody has decided already."""
        return next((one for one in self._all_volumes() if _is_for(one, claim)), None)

    def _fitting_volume(self, claim: Object) -> Object | None:
        """The smallest free volume that does; not where the scheduler is to choose."""
        if self._class_of(claim).get("volumeBindingMode") == "WaitForFirstConsumer":
            return None
        fitting = [one for one in self._all_volumes() if _fits(one, claim)]
        return min(fitting, key=lambda one: (_size(one), metadata(one)["name"]), default=None)

    def _bind(self, claim: Object, volume: Object) -> None:
        if not _is_for(volume, claim) and at(volume, "spec", "claimRef"):
            return
        meta, name = metadata(claim), metadata(volume)["name"]
        reference = {
            "kind": "PersistentVolumeClaim",
            "apiVersion": "v1",
            "namespace": meta["namespace"],
            "name": meta["name"],
            "uid": meta["uid"],
        }

        def take(obj: Object) -> None:
            section(obj, "spec")["claimRef"] = as_object(at(obj, "spec", "claimRef")) | reference
            obj["status"] = {"phase": "Bound"}

        def give(obj: Object) -> None:
            section(obj, "spec")["volumeName"] = name
            annotations = as_object(metadata(obj).get("annotations"))
            metadata(obj)["annotations"] = annotations | _BOUND
            spec = as_object(volume.get("spec"))
            obj["status"] = {
                "phase": "Bound",
                "accessModes": spec.get("accessModes", []),
                "capacity": spec.get("capacity", {}),
            }

        self._store.mutate(VOLUMES, name, take)
        self._store.mutate(CLAIMS, meta["name"], give, meta["namespace"])

    # Making volumes

    def _may_provision(self, claim: Object) -> bool:
        known = self._class_of(claim)
        if known.get("provisioner", NO_PROVISIONER) == NO_PROVISIONER:
            return False
        waits = known.get("volumeBindingMode") == "WaitForFirstConsumer"
        return not waits or bool(_selected_node(claim))

    def _provision(self, claim: Object) -> None:
        meta, known, node = metadata(claim), self._class_of(claim), _selected_node(claim)
        name = f"pvc-{meta['uid']}"
        spec: Object = {
            "capacity": {"storage": at(claim, "spec", "resources", "requests", "storage") or "1Gi"},
            "accessModes": at(claim, "spec", "accessModes") or ["ReadWriteOnce"],
            "volumeMode": at(claim, "spec", "volumeMode") or "Filesystem",
            "persistentVolumeReclaimPolicy": known.get("reclaimPolicy", "Delete"),
            "storageClassName": metadata(known)["name"],
            "hostPath": {"path": f"/var/lib/bayplan/volumes/{name}"},
            "claimRef": {
                "kind": "PersistentVolumeClaim",
                "apiVersion": "v1",
                "namespace": meta["namespace"],
                "name": meta["name"],
                "uid": meta["uid"],
            },
        }
        place = self._place_of(node)
        if place:
            spec["nodeAffinity"] = {
                "required": {"nodeSelectorTerms": [{"matchExpressions": [place]}]}
            }
        annotations = {"pv.kubernetes.io/provisioned-by": known["provisioner"]}
        self._store.create(
            VOLUMES, {"metadata": {"name": name, "annotations": annotations}, "spec": spec}
        )

    def _place_of(self, node: str) -> Object | None:
        """Where the volume can be reached from: the node's zone, or the node alone."""
        entry = self._store.find("nodes", node) if node else None
        if entry is None:
            return None
        for key in (ZONE, HOSTNAME):
            if key in entry.labels:
                return {"key": key, "operator": "In", "values": [entry.labels[key]]}
        return None

    # Volumes

    def _look_at_volume(self, key: Key) -> None:
        entry = self._store.find(VOLUMES, key[1])
        if entry is None:
            return
        volume = entry.decode()
        reference = as_object(at(volume, "spec", "claimRef"))
        phase = text_at(volume, "status", "phase")
        if not reference.get("uid"):
            wanted = "Available"
        else:
            claim = self._store.find(
                CLAIMS, reference.get("name", ""), reference.get("namespace", "")
            )
            here = claim is not None and claim.uid == reference["uid"]
            wanted = phase if here else "Released"
        if wanted == "Released" and at(volume, "spec", "persistentVolumeReclaimPolicy") == "Delete":
            self._store.delete(VOLUMES, entry.name)
        elif wanted != phase:
            self._store.mutate(
                VOLUMES, entry.name, lambda obj: obj.update(status={"phase": wanted})
            )


def _selected_node(claim: Object) -> str:
    return text_at(claim, "metadata", "annotations", SELECTED_NODE)


def _is_for(volume: Object, claim: Object) -> bool:
    reference, meta = as_object(at(volume, "spec", "claimRef")), metadata(claim)
    same = (reference.get("namespace"), reference.get("name")) == (meta["namespace"], meta["name"])
    return same and reference.get("uid") in (None, "", meta["uid"])


def _size(volume: Object) -> int:
    return value(str(at(volume, "spec", "capacity", "storage") or 0))


def _fits(volume: Object, claim: Object) -> bool:
    spec, wanted = as_object(volume.get("spec")), as_object(claim.get("spec"))
    modes = set(as_list(wanted.get("accessModes")))
    needed = value(str(at(wanted, "resources", "requests", "storage") or 0))
    labels = as_object(metadata(volume).get("labels"))
    return (
        not spec.get("claimRef")
        and (spec.get("storageClassName") or "") == (wanted.get("storageClassName") or "")
        and modes <= set(as_list(spec.get("accessModes")))
        and spec.get("volumeMode", "Filesystem") == wanted.get("volumeMode", "Filesystem")
        and _size(volume) >= needed
        and (wanted.get("selector") is None or selects(wanted["selector"], labels))
    )
