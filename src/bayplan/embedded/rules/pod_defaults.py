"""What a pod's spec says when its author is silent, field by field as kube-apiserver fills it in.

Used for pods and for the pod templates of workloads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from bayplan.embedded.objects import Object, as_list, as_object, at

_SPEC: Final[tuple[tuple[str, Any], ...]] = (
    ("restartPolicy", "Always"),
    ("terminationGracePeriodSeconds", 30),
    ("dnsPolicy", "ClusterFirst"),
    ("schedulerName", "default-scheduler"),
)

_PROBE: Final = (
    ("timeoutSeconds", 1),
    ("periodSeconds", 10),
    ("successThreshold", 1),
    ("failureThreshold", 3),
)

#: 0644.
_FILE_MODE: Final = 420

#: Seconds for which a pod bears with a node that is not ready or not reachable.
_BEARING_S: Final = 300


def default_pod_spec(spec: Object) -> None:
    """Fill in a pod's spec, or a template's."""
    for name, value in _SPEC:
        if spec.get(name) is None:
            spec[name] = value
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    if spec.get("serviceAccount") and not spec.get("serviceAccountName"):
        spec["serviceAccountName"] = spec["serviceAccount"]
    for container in _containers(spec, *_KINDS_OF_CONTAINERS, "ephemeralContainers"):
        _default_container(container, on_host=spec.get("hostNetwork") is True)
    for volume in as_list(spec.get("volumes")):
        if isinstance(volume, dict):
            _default_volume(volume)


def default_pod(pod: Object) -> None:
    """Fill in a pod itself: what a template leaves open as well."""
    spec = as_object(pod.get("spec"))
    if spec.get("enableServiceLinks") is None:
        spec["enableServiceLinks"] = True
    default_pod_spec(spec)
    spec.setdefault("serviceAccountName", "default")
    for container in _containers(spec):
        _requests_from_limits(container)
    _bear_with_nodes(spec)


def first_status(pod: Object) -> Object:
    """The status that a new pod begins with."""
    status: Object = {"phase": "Pending", "qosClass": quality_of_service(pod)}
    if at(pod, "spec", "schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": None,
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    return status


def quality_of_service(pod: Object) -> str:
    """``Guaranteed``, ``Burstable`` or ``BestEffort``, from cpu and memory of all containers."""
    sides: list[tuple[Object, Object]] = []
    for container in _containers(as_object(pod.get("spec"))):
        resources = as_object(container.get("resources"))
        sides.append((as_object(resources.get("requests")), as_object(resources.get("limits"))))
    counted = ("cpu", "memory")
    named = [
        side.get(resource)
        for pair in sides
        for side in pair
        for resource in counted
        if str(side.get(resource) or 0) != "0"
    ]
    if not named:
        return "BestEffort"
    guaranteed = all(
        limits.get(resource) and requests.get(resource) == limits.get(resource)
        for requests, limits in sides
        for resource in counted
    )
    return "Guaranteed" if guaranteed else "Burstable"


_KINDS_OF_CONTAINERS: Final = ("initContainers", "containers")


def _containers(spec: Object, *fields: str) -> Iterator[Object]:
    for field in fields or _KINDS_OF_CONTAINERS:
        for container in as_list(spec.get(field)):
            if isinstance(container, dict):
                yield container


def _default_container(container: Object, *, on_host: bool) -> None:
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("imagePullPolicy", _pull_policy(str(container.get("image") or "")))
    if container.get("resources") is None:
        container["resources"] = {}
    for port in as_list(container.get("ports")):
        if isinstance(port, dict):
            port.setdefault("protocol", "TCP")
            if on_host and "containerPort" in port:
                port.setdefault("hostPort", port["containerPort"])
    for variable in as_list(container.get("env")):
        reference = at(variable, "valueFrom", "fieldRef")
        if isinstance(reference, dict):
            reference.setdefault("apiVersion", "v1")
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(name)
        if isinstance(probe, dict):
            _default_probe(probe)


def _pull_policy(image: str) -> str:
    if "@" in image:
        return "IfNotPresent"
    _, colon, tag = image.rpartition("/")[2].partition(":")
    return "Always" if not colon or tag == "latest" else "IfNotPresent"


def _default_probe(probe: Object) -> None:
    for name, value in _PROBE:
        if not probe.get(name):
            probe[name] = value
    request = probe.get("httpGet")
    if isinstance(request, dict):
        request.setdefault("scheme", "HTTP")
        request.setdefault("path", "/")
    remote = probe.get("grpc")
    if isinstance(remote, dict):
        remote.setdefault("service", "")


def _requests_from_limits(container: Object) -> None:
    resources = as_object(container.get("resources"))
    limits = as_object(resources.get("limits"))
    if limits:
        requests = as_object(resources.get("requests"))
        resources["requests"] = {**limits, **requests}


def _default_volume(volume: Object) -> None:
    if not any(name != "name" for name in volume):
        volume["emptyDir"] = {}
    for name, fill in _VOLUMES.items():
        source = volume.get(name)
        if isinstance(source, dict):
            fill(source)


def _default_mode(source: Object) -> None:
    source.setdefault("defaultMode", _FILE_MODE)


def _default_host_path(source: Object) -> None:
    source.setdefault("type", "")


def _default_claim_template(source: Object) -> None:
    spec = at(source, "volumeClaimTemplate", "spec")
    if isinstance(spec, dict):
        spec.setdefault("volumeMode", "Filesystem")


_VOLUMES: Final[dict[str, Callable[[Object], None]]] = {
    "configMap": _default_mode,
    "secret": _default_mode,
    "projected": _default_mode,
    "downwardAPI": _default_mode,
    "hostPath": _default_host_path,
    "ephemeral": _default_claim_template,
}


def _bear_with_nodes(spec: Object) -> None:
    """Admission plugin DefaultTolerationSeconds."""
    tolerations = as_list(spec.get("tolerations"))
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if not any(_tolerates_eviction(one, key) for one in tolerations):
            tolerations.append(
                {
                    "key": key,
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": _BEARING_S,
                }
            )
    spec["tolerations"] = tolerations


def _tolerates_eviction(toleration: object, key: str) -> bool:
    return (
        isinstance(toleration, dict)
        and toleration.get("key") in (key, "", None)
        and toleration.get("effect") in ("NoExecute", "", None)
    )
