"""StatefulSets, the simple part: pods with fixed names, one after the other or all at once, and their claims.

Fed by changes of StatefulSets and of their pods. A changed template takes effect as pods are replaced from the last to
the first; partitions are kept.
"""

from __future__ import annotations

from typing import Final

from bayplan.embedded.controllers.controller import Controller
from bayplan.embedded.controllers.deployments import template_hash
from bayplan.embedded.controllers.pod_notes import PodNote
from bayplan.embedded.controllers.replica_sets import make_pod
from bayplan.embedded.following import Key
from bayplan.embedded.objects import Object, as_list, as_object, at, copy_of, metadata, number_at

RESOURCE: Final = "statefulsets.apps"
_CLAIMS: Final = "persistentvolumeclaims"
_REVISION: Final = "controller-revision-hash"


class StatefulSets(Controller):
    """The controller."""

    resource = RESOURCE
    kind = "StatefulSet"

    def _look(self, key: Key) -> None:
        namespace, name = key
        entry = self._store.find(RESOURCE, name, namespace)
        if entry is None:
            return
        stateful = entry.decode()
        pods = {pod.name: pod for pod in self._pods.of_owner(entry.uid)}
        revision = f"{name}-{template_hash(stateful)}"
        if "deletionTimestamp" not in metadata(stateful):
            self._step(stateful, pods, revision)
        self._report(stateful, list(pods.values()), revision)

    def _step(self, stateful: Object, pods: dict[str, PodNote], revision: str) -> None:
        """What can be done now; with ``OrderedReady`` one thing at a time."""
        meta = metadata(stateful)
        ordered = at(stateful, "spec", "podManagementPolicy") != "Parallel"
        names = [f"{meta['name']}-{n}" for n in range(number_at(stateful, "spec", "replicas"))]
        for number, name in enumerate(names):
            pod = pods.get(name)
            if pod is None:
                self._make(stateful, name, number, revision)
            elif pod.phase in ("Succeeded", "Failed") and not pod.deleting:
                self._store.delete("pods", name, meta["namespace"])
            if ordered and (pod is None or not pod.ready or pod.deleting):
                return
        surplus = [pod for pod in pods.values() if pod.name not in names and not pod.deleting]
        for pod in sorted(surplus, key=_ordinal, reverse=True):
            self._store.delete("pods", pod.name, meta["namespace"])
            if ordered:
                return
        self._replace_one(stateful, names, pods, revision)

    def _replace_one(
        self, stateful: Object, names: list[str], pods: dict[str, PodNote], revision: str
    ) -> None:
        strategy = as_object(at(stateful, "spec", "updateStrategy"))
        if strategy.get("type") == "OnDelete" or any(
            not pods[name].ready for name in names if name in pods
        ):
            return
        first = number_at(strategy, "rollingUpdate", "partition")
        for name in reversed(names[first:]):
            pod = pods.get(name)
            if pod is not None and pod.labels.get(_REVISION) != revision:
                self._store.delete("pods", name, metadata(stateful)["namespace"])
                return

    def _make(self, stateful: Object, name: str, number: int, revision: str) -> None:
        template = as_object(at(stateful, "spec", "template"))
        spec = as_object(template.get("spec"))
        labels = as_object(at(template, "metadata", "labels")) | {
            "apps.kubernetes.io/pod-index": str(number),
            "statefulset.kubernetes.io/pod-name": name,
            _REVISION: revision,
        }
        claims = self._make_claims(stateful, name)
        names = {one["name"] for one in claims}
        kept = [one for one in as_list(spec.get("volumes")) if one.get("name") not in names]
        changes: Object = {
            "metadata": {"labels": labels},
            "spec": {
                "hostname": name,
                "subdomain": at(stateful, "spec", "serviceName") or "",
                "volumes": kept + claims,
            },
        }
        make_pod(self._store, "apps/v1", "StatefulSet", stateful, name=name, changes=changes)

    def _make_claims(self, stateful: Object, pod: str) -> list[Object]:
        """The pod's volumes, whose claims outlive it."""
        namespace, volumes = metadata(stateful)["namespace"], []
        for template in as_list(at(stateful, "spec", "volumeClaimTemplates")):
            volume = metadata(template)["name"]
            claim = f"{volume}-{pod}"
            if self._store.find(_CLAIMS, claim, namespace) is None:
                made = {
                    "metadata": {
                        "name": claim,
                        "labels": at(stateful, "spec", "selector", "matchLabels") or {},
                    },
                    "spec": copy_of(template["spec"]),
                }
                self._store.create(_CLAIMS, made, namespace)
            volumes.append({"name": volume, "persistentVolumeClaim": {"claimName": claim}})
        return volumes

    def _report(self, stateful: Object, pods: list[PodNote], revision: str) -> None:
        ready = sum(pod.ready and not pod.deleting for pod in pods)
        updated = sum(pod.labels.get(_REVISION) == revision for pod in pods)
        status = {
            "observedGeneration": number_at(stateful, "metadata", "generation"),
            "replicas": len(pods),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "updatedReplicas": updated,
            "updateRevision": revision,
        }
        before = as_object(stateful.get("status"))
        all_new = updated == len(pods)
        status["currentRevision"] = revision if all_new else before.get("currentRevision", revision)
        status["currentReplicas"] = len(pods) if all_new else len(pods) - updated
        meta = metadata(stateful)
        self._store.mutate(
            RESOURCE, meta["name"], lambda obj: obj.update(status=status), meta["namespace"]
        )


def _ordinal(pod: PodNote) -> int:
    last = pod.name.rpartition("-")[2]
    return int(last) if last.isdecimal() else -1
