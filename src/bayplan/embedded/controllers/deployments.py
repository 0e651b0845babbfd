"""Deployments: a ReplicaSet per pod template, and the way from the old one to the new one.

Fed by changes of Deployments and ReplicaSets. ``RollingUpdate`` keeps to maxSurge and maxUnavailable, ``Recreate`` waits
until the old pods are gone.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Any, Final

from bayplan.embedded.binding import set_condition
from bayplan.embedded.controllers.controller import Controller
from bayplan.embedded.controllers.pod_notes import PodNote, controller_reference, owner_of
from bayplan.embedded.entries import Change
from bayplan.embedded.following import Key
from bayplan.embedded.objects import (
    Object,
    as_list,
    as_object,
    at,
    copy_of,
    encode,
    metadata,
    number_at,
    section,
    text_at,
)

RESOURCE: Final = "deployments.apps"
_SETS: Final = "replicasets.apps"
_HASH: Final = "pod-template-hash"
_REVISION: Final = "deployment.kubernetes.io/revision"
#: Kubernetes' letters for hashes: no vowels, nothing that is mistaken for something else.
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"


class Deployments(Controller):
    """The controller."""

    resource = RESOURCE

    def _followed(self) -> dict[str, Callable[[Change], None]]:
        return {**super()._followed(), _SETS: self._on_replica_set}

    def _on_replica_set(self, change: Change) -> None:
        owner = owner_of(change.entry.decode())
        if owner is not None and owner.kind == "Deployment":
            self._desk.add((change.entry.namespace, owner.name))

    def _on_pod(self, before: PodNote | None, after: PodNote | None) -> None:
        """``Recreate`` waits for the last of the old pods."""
        if before is None or after is not None or before.owner is None:
            return
        replica_set = self._store.find(_SETS, before.owner.name, before.namespace)
        owner = owner_of(replica_set.decode()) if replica_set else None
        if owner is not None:
            self._desk.add((before.namespace, owner.name))

    def _look(self, key: Key) -> None:
        namespace, name = key
        entry = self._store.find(RESOURCE, name, namespace)
        if entry is None:
            return
        deployment = entry.decode()
        if "deletionTimestamp" in metadata(deployment):
            return
        sets = [
            one
            for one in self._store.list(_SETS, namespace)
            if (owner := owner_of(one)) and owner.uid == entry.uid
        ]
        paused = at(deployment, "spec", "paused") is True
        wanted = template_hash(deployment)
        current = next((one for one in sets if _hash_of(one) == wanted), None)
        if current is None and not paused:
            current = self._make_set(deployment, wanted, sets)
            sets.append(current)
        old = [one for one in sets if one is not current]
        if current is not None:
            self._renumber(current, old)
            self._scale(deployment, current, old)
        self._forget_old(deployment, old)
        self._report(deployment, current, sets)

    def _make_set(self, deployment: Object, wanted: str, sets: list[Object]) -> Object:
        meta, spec = metadata(deployment), as_object(deployment.get("spec"))
        template: Object = copy_of(spec["template"])
        labels = metadata(template)["labels"] = {
            **as_object(metadata(template).get("labels")),
            _HASH: wanted,
        }
        selector: Object = copy_of(spec["selector"])
        selector["matchLabels"] = {**as_object(selector.get("matchLabels")), _HASH: wanted}
        revision = 1 + max((_revision(one) for one in sets), default=0)
        return self._store.create(
            _SETS,
            {
                "metadata": {
                    "name": f"{meta['name']}-{wanted}",
                    "labels": labels,
                    "annotations": {_REVISION: str(revision)},
                    "ownerReferences": [controller_reference("apps/v1", "Deployment", deployment)],
                },
                "spec": {"replicas": 0, "selector": selector, "template": template},
            },
            meta["namespace"],
        )

    def _renumber(self, current: Object, old: list[Object]) -> None:
        """A template that comes back is the newest revision, whatever it was before."""
        newest = max((_revision(one) for one in old), default=0)
        if _revision(current) < newest:
            meta = metadata(current)
            annotations = {**as_object(meta.get("annotations")), _REVISION: str(newest + 1)}
            meta["annotations"] = annotations
            self._store.mutate(
                _SETS,
                meta["name"],
                lambda obj: metadata(obj).update(annotations=annotations),
                meta["namespace"],
            )

    def _scale(self, deployment: Object, current: Object, old: list[Object]) -> None:
        wanted = number_at(deployment, "spec", "replicas")
        strategy = as_object(at(deployment, "spec", "strategy"))
        if strategy.get("type") == "Recreate":
            for one in old:
                self._resize(one, 0)
            gone = not any(self._pods.of_owner(metadata(one)["uid"]) for one in old)
            self._resize(current, wanted if gone else number_at(current, "spec", "replicas"))
            return
        rolling = as_object(strategy.get("rollingUpdate"))
        surge = _amount(rolling.get("maxSurge", "25%"), wanted, up=True)
        unavailable = _amount(rolling.get("maxUnavailable", "25%"), wanted, up=False)
        if surge == unavailable == 0:
            unavailable = 1
        standing = sum(number_at(one, "spec", "replicas") for one in old)
        mine = number_at(current, "spec", "replicas")
        room = wanted + surge - standing - mine
        grown = wanted if not standing else min(wanted, mine + max(0, room))
        self._resize(current, grown)
        available = number_at(current, "status", "availableReplicas")
        spare = standing + min(grown, available) - (wanted - unavailable)
        for one in sorted(old, key=lambda one: (_ready(one), _revision(one))):
            size = number_at(one, "spec", "replicas")
            fewer = min(size, max(0, spare))
            self._resize(one, size - fewer)
            spare -= fewer

    def _resize(self, replica_set: Object, size: int) -> None:
        if number_at(replica_set, "spec", "replicas") == size:
            return
        meta = metadata(replica_set)

        def change(current: Object | None) -> Object:
            changed = current or {}
            section(changed, "spec")["replicas"] = size
            return changed

        self._store.patch(_SETS, meta["name"], change, meta["namespace"])
        section(replica_set, "spec")["replicas"] = size

    def _forget_old(self, deployment: Object, old: list[Object]) -> None:
        limit = number_at(deployment, "spec", "revisionHistoryLimit")
        empty = [
            one
            for one in sorted(old, key=_revision)
            if not number_at(one, "spec", "replicas") and not number_at(one, "status", "replicas")
        ]
        for one in empty[: max(0, len(empty) - limit)]:
            self._store.delete(_SETS, metadata(one)["name"], metadata(one)["namespace"])

    def _report(self, deployment: Object, current: Object | None, sets: list[Object]) -> None:
        meta, wanted = metadata(deployment), number_at(deployment, "spec", "replicas")

        def total(field: str) -> int:
            return sum(number_at(one, "status", field) for one in sets)

        available, replicas = total("availableReplicas"), total("replicas")
        updated = number_at(current, "status", "replicas")
        counts = {
            "observedGeneration": number_at(deployment, "metadata", "generation"),
            "replicas": replicas,
            "updatedReplicas": updated,
            "readyReplicas": total("readyReplicas"),
            "availableReplicas": available,
            "unavailableReplicas": max(0, wanted - available),
        }
        complete = updated == replicas == available == wanted
        least = wanted - _amount(
            at(deployment, "spec", "strategy", "rollingUpdate", "maxUnavailable") or 0,
            wanted,
            up=False,
        )
        now_s = self._store.clock.now()

        def write(obj: Object) -> None:
            status: Object = {"conditions": as_list(at(obj, "status", "conditions"))}
            status |= {name: count for name, count in counts.items() if count}
            for condition in _conditions(
                enough=available >= least, complete=complete, current=current
            ):
                before = [one for one in status["conditions"] if one["type"] == condition["type"]]
                if not before or any(before[0].get(k) != v for k, v in condition.items()):
                    set_condition(status, condition, now_s)
                    _stamp(status["conditions"], condition["type"])
            obj["status"] = status
            if current is not None:
                notes = as_object(metadata(obj).get("annotations"))
                metadata(obj)["annotations"] = notes | {_REVISION: str(_revision(current))}

        self._store.mutate(RESOURCE, meta["name"], write, meta["namespace"])


def _conditions(*, enough: bool, complete: bool, current: Object | None) -> list[Object]:
    name = text_at(current, "metadata", "name")
    available: Object = (
        {
            "type": "Available",
            "status": "True",
            "reason": "MinimumReplicasAvailable",
            "message": "Deployment has minimum availability.",
        }
        if enough
        else {
            "type": "Available",
            "status": "False",
            "reason": "MinimumReplicasUnavailable",
            "message": "Deployment does not have minimum availability.",
        }
    )
    said = "has successfully progressed." if complete else "is progressing."
    progressing = {
        "type": "Progressing",
        "status": "True",
        "reason": "NewReplicaSetAvailable" if complete else "ReplicaSetUpdated",
        "message": f'ReplicaSet "{name}" {said}',
    }
    return [available, progressing]


def _stamp(conditions: list[Any], kind: str) -> None:
    """A Deployment's conditions say when they were updated, and not when they were probed."""
    for one in conditions:
        if one["type"] == kind:
            one.pop("lastProbeTime", None)
            one["lastUpdateTime"] = one["lastTransitionTime"]


def template_hash(deployment: Object) -> str:
    """What tells one pod template of a Deployment from another."""
    raw = encode(_sorted(at(deployment, "spec", "template")))
    number = int.from_bytes(hashlib.sha256(raw).digest()[:8])
    letters = ""
    for _ in range(10):
        number, place = divmod(number, len(_LETTERS))
        letters += _LETTERS[place]
    return letters


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(one) for one in value] if isinstance(value, list) else value


def _hash_of(replica_set: Object) -> str:
    return text_at(replica_set, "metadata", "labels", _HASH)


def _revision(replica_set: Object) -> int:
    said = text_at(replica_set, "metadata", "annotations", _REVISION)
    return int(said) if said.isdecimal() else 0


def _ready(replica_set: Object) -> int:
    return number_at(replica_set, "status", "readyReplicas")


def _amount(given: object, whole: int, *, up: bool) -> int:
    """A number, or a percentage of the whole."""
    if isinstance(given, str) and given.endswith("%"):
        share = whole * float(given[:-1] or 0) / 100
        return math.ceil(share) if up else math.floor(share)
    return given if isinstance(given, int) else 0
