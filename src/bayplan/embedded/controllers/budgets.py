"""PodDisruptionBudgets: how many pods are healthy, and how many may be disturbed.

Fed by changes of budgets and pods. Read through the budget's status by evictions and by schedulers that preempt.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from bayplan.embedded.binding import selects, set_condition
from bayplan.embedded.controllers.controller import Controller
from bayplan.embedded.controllers.pod_notes import Owner, PodNote, PodNotes, owner_of
from bayplan.embedded.entries import Change, ChangeType
from bayplan.embedded.following import Key
from bayplan.embedded.objects import Object, as_object, at, metadata, number_at, seconds_of, section

if TYPE_CHECKING:
    from bayplan.embedded.store import Store

RESOURCE: Final = "poddisruptionbudgets.policy"
#: A pod that was allowed to go and has not gone counts as healthy again after this.
_DISRUPTION_S: Final = 120
#: Kinds that say how many pods there are to be.
_SCALES: Final = {
    "ReplicaSet": "replicasets.apps",
    "StatefulSet": "statefulsets.apps",
    "Deployment": "deployments.apps",
    "ReplicationController": "replicationcontrollers",
}


class Budgets(Controller):
    """The controller."""

    resource = RESOURCE

    def __init__(self, store: Store, pods: PodNotes) -> None:
        super().__init__(store, pods)
        self._selectors: dict[Key, object] = {}

    def _on_change(self, change: Change) -> None:
        key = (change.entry.namespace, change.entry.name)
        if change.type is ChangeType.DELETED:
            self._selectors.pop(key, None)
            return
        self._selectors[key] = at(change.entry.decode(), "spec", "selector")
        self._desk.add(key)

    def _on_pod(self, before: PodNote | None, after: PodNote | None) -> None:
        if before is not None and after is not None and _alike(before, after):
            return
        for key, selector in self._selectors.items():
            for note in (before, after):
                if note is not None and note.namespace == key[0] and selects(selector, note.labels):
                    self._desk.add(key)

    def _look(self, key: Key) -> None:
        namespace, name = key
        entry = self._store.find(RESOURCE, name, namespace)
        if entry is None:
            return
        budget = entry.decode()
        selector = at(budget, "spec", "selector")
        pods = [pod for pod in self._pods.in_namespace(namespace) if selects(selector, pod.labels)]
        pods = [pod for pod in pods if pod.phase not in ("Succeeded", "Failed")]
        expected, desired = self._wanted(budget, pods)
        going = self._going(budget, pods)
        healthy = sum(pod.ready and not pod.deleting and pod.name not in going for pod in pods)
        allowed = max(0, healthy - desired) if expected > 0 else 0
        status: Object = {
            "observedGeneration": number_at(budget, "metadata", "generation"),
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "disruptionsAllowed": allowed,
        }
        if going:
            status["disruptedPods"] = going
            self._desk.add_later(key, _DISRUPTION_S)
        now_s = self._store.clock.now()
        condition = {
            "type": "DisruptionAllowed",
            "status": "True" if allowed else "False",
            "reason": "SufficientPods" if allowed else "InsufficientPods",
            "message": "",
            "observedGeneration": status["observedGeneration"],
        }

        def write(obj: Object) -> None:
            conditions = at(obj, "status", "conditions") or []
            obj["status"] = status | {"conditions": conditions}
            set_condition(section(obj, "status"), condition, now_s)
            for one in obj["status"]["conditions"]:
                one.pop("lastProbeTime", None)

        self._store.mutate(RESOURCE, name, write, namespace)

    def _going(self, budget: Object, pods: Iterable[PodNote]) -> dict[str, str]:
        """Pods whose eviction was granted a short while ago and that are still there."""
        now_s = self._store.clock.now()
        here = {pod.name for pod in pods if not pod.deleting}
        granted = as_object(at(budget, "status", "disruptedPods"))
        return {
            name: stamp
            for name, stamp in granted.items()
            if name in here and now_s < (seconds_of(str(stamp)) or 0.0) + _DISRUPTION_S
        }

    def _wanted(self, budget: Object, pods: list[PodNote]) -> tuple[int, int]:
        """How many pods there are to be, and how many of them healthy."""
        spec = as_object(budget.get("spec"))
        most_gone, least = spec.get("maxUnavailable"), spec.get("minAvailable")
        if most_gone is not None:
            expected = self._scale(metadata(budget)["namespace"], pods)
            return expected, max(0, expected - _share(most_gone, expected))
        if isinstance(least, str):
            expected = self._scale(metadata(budget)["namespace"], pods)
            return expected, _share(least, expected)
        return len(pods), least if isinstance(least, int) else 1

    def _scale(self, namespace: str, pods: list[PodNote]) -> int:
        """What the owners of these pods ask for, all together."""
        return sum(
            self._replicas(namespace, owner) for owner in {pod.owner for pod in pods if pod.owner}
        )

    def _replicas(self, namespace: str, owner: Owner) -> int:
        resource = _SCALES.get(owner.kind)
        entry = self._store.find(resource, owner.name, namespace) if resource else None
        if entry is None or entry.uid != owner.uid:
            return 0
        obj = entry.decode()
        above = owner_of(obj)
        if above is not None and above.kind in _SCALES:
            return self._replicas(namespace, above)
        return number_at(obj, "spec", "replicas")


def _alike(before: PodNote, after: PodNote) -> bool:
    return (before.ready, before.deleting, before.phase, before.labels) == (
        after.ready,
        after.deleting,
        after.phase,
        after.labels,
    )


def _share(given: object, whole: int) -> int:
    """A number, or a percentage of the whole, rounded up."""
    if isinstance(given, str) and given.endswith("%"):
        return math.ceil(whole * float(given[:-1] or 0) / 100)
    return given if isinstance(given, int) else 0
