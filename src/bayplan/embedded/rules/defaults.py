"""What objects say when their author is silent, kind by kind; pods are in ``pod_defaults``.

``fill_in`` runs on every write before anything is checked, ``complete`` at creation only: what kube-apiserver itself
decides about a new object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from bayplan.embedded.objects import Object, as_list, as_object, at, metadata, section
from bayplan.embedded.rules.pod_defaults import default_pod, default_pod_spec, first_status

Filler = Callable[[Object], None]


def fill_in(shelf: str, obj: Object) -> None:
    """Fill in what is missing."""
    filler = _FILLERS.get(shelf)
    if filler is not None:
        filler(obj)


def complete(shelf: str, obj: Object) -> None:
    """Decide about a new object what the server decides."""
    completer = _COMPLETERS.get(shelf)
    if completer is not None:
        completer(obj)


def _spec(**values: Any) -> Filler:
    """Fill these fields of the spec."""

    def fill(obj: Object) -> None:
        spec = section(obj, "spec")
        for name, value in values.items():
            if spec.get(name) is None:
                spec[name] = value() if callable(value) else value

    return fill


def _top(**values: Any) -> Filler:
    """Fill these fields of the object itself."""

    def fill(obj: Object) -> None:
        for name, value in values.items():
            if obj.get(name) is None:
                obj[name] = value

    return fill


def _template(obj: Object, *path: str) -> None:
    spec = at(obj, *path, "template", "spec")
    if isinstance(spec, dict):
        default_pod_spec(spec)


def _workload(**values: Any) -> Filler:
    """Fill these fields of the spec, and the pod template in it."""
    fields = _spec(**values)

    def fill(obj: Object) -> None:
        fields(obj)
        _template(obj, "spec")

    return fill


def _deployment_strategy() -> Object:
    return {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
    }


def _stateful_strategy() -> Object:
    return {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}


def _retain() -> Object:
    return {"whenDeleted": "Retain", "whenScaled": "Retain"}


def _daemon_strategy() -> Object:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}


def _fill_job(job: Object) -> None:
    spec = section(job, "spec")
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    _spec(
        parallelism=1,
        backoffLimit=6,
        completionMode="NonIndexed",
        suspend=False,
        manualSelector=False,
        podReplacementPolicy="TerminatingOrFailed",
    )(job)
    _template(job, "spec")


def _fill_cron_job(job: Object) -> None:
    _spec(
        concurrencyPolicy="Allow",
        suspend=False,
        successfulJobsHistoryLimit=3,
        failedJobsHistoryLimit=1,
    )(job)
    _template(job, "spec", "jobTemplate", "spec")


def _fill_service(service: Object) -> None:
    _spec(sessionAffinity="None", type="ClusterIP", internalTrafficPolicy="Cluster")(service)
    for port in as_list(at(service, "spec", "ports")):
        if isinstance(port, dict):
            port.setdefault("protocol", "TCP")
            port.setdefault("targetPort", port.get("port"))


def _fill_namespace(namespace: Object) -> None:
    meta = metadata(namespace)
    if meta.get("name"):
        labels = meta.get("labels") or {}
        meta["labels"] = labels | {"kubernetes.io/metadata.name": meta["name"]}


_NODE_INFO: Final = dict.fromkeys(
    (
        "machineID",
        "systemUUID",
        "bootID",
        "kernelVersion",
        "osImage",
        "containerRuntimeVersion",
        "kubeletVersion",
        "kubeProxyVersion",
        "operatingSystem",
        "architecture",
    ),
    "",
)


def _fill_node(node: Object) -> None:
    section(node, "spec")
    status = section(node, "status")
    status.setdefault("daemonEndpoints", {"kubeletEndpoint": {"Port": 0}})
    status["nodeInfo"] = _NODE_INFO | as_object(status.get("nodeInfo"))


def _fill_volume(volume: Object) -> None:
    _spec(persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem")(volume)
    path = at(volume, "spec", "hostPath")
    if isinstance(path, dict):
        path.setdefault("type", "")


def _fill_definition(definition: Object) -> None:
    """A CustomResourceDefinition: the names that follow from its kind."""
    _spec(conversion=lambda: {"strategy": "None"})(definition)
    names = at(definition, "spec", "names")
    if isinstance(names, dict) and isinstance(names.get("kind"), str):
        names.setdefault("singular", names["kind"].lower())
        names.setdefault("listKind", f"{names['kind']}List")


def _fill_claim(claim: Object) -> None:
    _spec(volumeMode="Filesystem")(claim)


def _fill_requests(claim: Object) -> None:
    """A ResourceClaim asks for one device unless it says how many."""
    for request in as_list(at(claim, "spec", "devices", "requests")):
        for one in [at(request, "exactly"), *as_list(at(request, "firstAvailable"))]:
            if isinstance(one, dict) and one.setdefault("allocationMode", "ExactCount") == (
                "ExactCount"
            ):
                one.setdefault("count", 1)


def _fill_rollout(strategy: str, make: Callable[[], Object]) -> Filler:
    """A rolling update without figures has the usual ones."""

    def fill(obj: Object) -> None:
        given = at(obj, "spec", strategy)
        if isinstance(given, dict) and given.setdefault("type", "RollingUpdate") == "RollingUpdate":
            usual = make()["rollingUpdate"]
            given["rollingUpdate"] = usual | (given.get("rollingUpdate") or {})

    return fill


def _chain(*fillers: Filler) -> Filler:
    def fill(obj: Object) -> None:
        for one in fillers:
            one(obj)

    return fill


_FILLERS: Final[dict[str, Filler]] = {
    "pods": default_pod,
    "namespaces": _fill_namespace,
    "services": _fill_service,
    "secrets": _top(type="Opaque"),
    "nodes": _fill_node,
    "persistentvolumes": _fill_volume,
    "persistentvolumeclaims": _fill_claim,
    "replicationcontrollers": _workload(replicas=1),
    "podtemplates": lambda obj: _template(obj),
    "deployments.apps": _chain(
        _workload(
            replicas=1,
            strategy=_deployment_strategy,
            revisionHistoryLimit=10,
            progressDeadlineSeconds=600,
        ),
        _fill_rollout("strategy", _deployment_strategy),
    ),
    "replicasets.apps": _workload(replicas=1),
    "statefulsets.apps": _chain(
        _workload(
            replicas=1,
            podManagementPolicy="OrderedReady",
            updateStrategy=_stateful_strategy,
            revisionHistoryLimit=10,
            persistentVolumeClaimRetentionPolicy=_retain,
        ),
        _fill_rollout("updateStrategy", _stateful_strategy),
    ),
    "daemonsets.apps": _chain(
        _workload(updateStrategy=_daemon_strategy, revisionHistoryLimit=10),
        _fill_rollout("updateStrategy", _daemon_strategy),
    ),
    "jobs.batch": _fill_job,
    "cronjobs.batch": _fill_cron_job,
    "priorityclasses.scheduling.k8s.io": _top(preemptionPolicy="PreemptLowerPriority"),
    "podgroups.scheduling.k8s.io": _spec(disruptionMode="Pod"),
    "storageclasses.storage.k8s.io": _top(reclaimPolicy="Delete", volumeBindingMode="Immediate"),
    "csidrivers.storage.k8s.io": _spec(
        attachRequired=True,
        podInfoOnMount=False,
        fsGroupPolicy="ReadWriteOnceWithFSType",
        storageCapacity=False,
        requiresRepublish=False,
        volumeLifecycleModes=lambda: ["Persistent"],
    ),
    "resourceclaims.resource.k8s.io": _fill_requests,
    "customresourcedefinitions.apiextensions.k8s.io": _fill_definition,
}


def _status(**values: Any) -> Filler:
    def complete_status(obj: Object) -> None:
        obj["status"] = dict(values)

    return complete_status


def _complete_pod(pod: Object) -> None:
    pod["status"] = first_status(pod)


def _complete_namespace(namespace: Object) -> None:
    section(namespace, "spec")["finalizers"] = ["kubernetes"]
    namespace["status"] = {"phase": "Active"}


def _complete_service(service: Object) -> None:
    """A service that is to have an address gets one; which, follows from its uid, and nobody routes it."""
    service["status"] = {"loadBalancer": {}}
    spec = section(service, "spec")
    if spec.get("type") != "ExternalName" and not spec.get("clusterIP"):
        number = int(metadata(service)["uid"][:4], 16)
        spec["clusterIP"] = f"10.96.{number >> 8}.{number & 255}"
    if spec.get("clusterIP"):
        spec["clusterIPs"] = [spec["clusterIP"]]
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")


def _complete_job(job: Object) -> None:
    """A job's pods are told by the job's uid, unless its author selects them himself."""
    job["status"] = {}
    spec, uid, name = section(job, "spec"), metadata(job)["uid"], metadata(job).get("name", "")
    if spec.get("manualSelector") is True or not isinstance(spec.get("template"), dict):
        return
    spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    meta = metadata(spec["template"])
    meta["labels"] = (meta.get("labels") or {}) | {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }
    if not metadata(job).get("labels"):
        metadata(job)["labels"] = dict(meta["labels"])


_COMPLETERS: Final[dict[str, Filler]] = {
    "pods": _complete_pod,
    "namespaces": _complete_namespace,
    "jobs.batch": _complete_job,
    "persistentvolumes": _status(phase="Pending"),
    "persistentvolumeclaims": _status(phase="Pending"),
    "services": _complete_service,
    "deployments.apps": _status(),
    "daemonsets.apps": _status(
        currentNumberScheduled=0, numberMisscheduled=0, desiredNumberScheduled=0, numberReady=0
    ),
    "replicasets.apps": _status(replicas=0),
    "cronjobs.batch": _status(),
    "resourcequotas": _status(),
    "poddisruptionbudgets.policy": _status(
        disruptionsAllowed=0, currentHealthy=0, desiredHealthy=0, expectedPods=0
    ),
    "podgroups.scheduling.k8s.io": _status(),
    "statefulsets.apps": _status(replicas=0, availableReplicas=0),
    "replicationcontrollers": _status(replicas=0),
}
