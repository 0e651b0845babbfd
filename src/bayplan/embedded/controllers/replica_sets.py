"""ReplicaSets: as many pods as they ask for, made and deleted in portions.

Fed by changes of ReplicaSets and of their pods. Which pods go first is upstream's order: unbound before bound, pending
before running, not ready before ready, young before old.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayplan.embedded.controllers.controller import Controller
from bayplan.embedded.controllers.pod_notes import PodNote, controller_reference
from bayplan.embedded.following import Key
from bayplan.embedded.objects import Object, as_object, at, metadata, number_at, section

if TYPE_CHECKING:
    from bayplan.embedded.store import Store

RESOURCE: Final = "replicasets.apps"
#: Pods made or deleted in one go; requests are answered between two.
_PORTION: Final = 50


class ReplicaSets(Controller):
    """The controller."""

    resource = RESOURCE
    kind = "ReplicaSet"

    def _look(self, key: Key) -> bool:
        namespace, name = key
        entry = self._store.find(RESOURCE, name, namespace)
        if entry is None:
            return False
        replica_set = entry.decode()
        pods = list(self._pods.of_owner(entry.uid))
        active = [pod for pod in pods if pod.active]
        missing = number_at(replica_set, "spec", "replicas") - len(active)
        if "deletionTimestamp" in metadata(replica_set):
            missing = 0
        for _ in range(min(missing, _PORTION)):
            make_pod(self._store, "apps/v1", "ReplicaSet", replica_set)
        for pod in sorted(active, key=_first_to_go)[
            : min(-missing, _PORTION) if missing < 0 else 0
        ]:
            self._store.delete("pods", pod.name, namespace)
        self._report(replica_set, active)
        return abs(missing) > _PORTION

    def _report(self, replica_set: Object, active: list[PodNote]) -> None:
        ready = sum(pod.ready for pod in active)
        labels = as_object(at(replica_set, "spec", "template", "metadata", "labels")).items()
        status = {
            "replicas": len(active),
            "fullyLabeledReplicas": sum(labels <= pod.labels.items() for pod in active),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "observedGeneration": number_at(replica_set, "metadata", "generation"),
        }
        wanted = {name: count for name, count in status.items() if count or name == "replicas"}
        if replica_set.get("status") != wanted:
            meta = metadata(replica_set)
            self._store.mutate(
                RESOURCE, meta["name"], lambda obj: obj.update(status=wanted), meta["namespace"]
            )


def _first_to_go(pod: PodNote) -> tuple[bool, bool, bool, str]:
    # Timestamps sort as text; the youngest goes first.
    youth = "".join(chr(0x7F - ord(one)) for one in pod.created)
    return bool(pod.node), pod.phase == "Running", pod.ready, youth


def make_pod(
    store: Store,
    api_version: str,
    kind: str,
    owner: Object,
    *,
    name: str = "",
    changes: Object | None = None,
) -> Object:
    """A pod from a workload's template; ``changes`` goes over its metadata and spec."""
    meta, template = metadata(owner), as_object(at(owner, "spec", "template"))
    given = as_object(template.get("metadata"))
    pod: Object = {
        "metadata": {
            "labels": as_object(given.get("labels")),
            "annotations": as_object(given.get("annotations")),
            "finalizers": given.get("finalizers") or [],
            "ownerReferences": [controller_reference(api_version, kind, owner)],
        },
        "spec": as_object(template.get("spec")),
    }
    meta_of_pod = section(pod, "metadata")
    if name:
        meta_of_pod["name"] = name
    else:
        meta_of_pod["generateName"] = f"{meta['name']}-"
    for part, values in (changes or {}).items():
        section(pod, part).update(values)
    for field in ("annotations", "finalizers"):
        if not meta_of_pod[field]:
            del meta_of_pod[field]
    return store.create("pods", pod, meta["namespace"])
