"""The fields that objects can be selected by, beside labels: those that kube-apiserver offers, per kind.

Read by entries, which remember the values, and by selecting, which refuses other fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from bayplan.embedded.objects import Object, at, number_at, text_at

_Reader = Callable[[Object], str]


def _text(*path: str) -> _Reader:
    return lambda obj: text_at(obj, *path)


def _flag(*path: str) -> _Reader:
    return lambda obj: "true" if at(obj, *path) is True else "false"


def _number(*path: str) -> _Reader:
    return lambda obj: str(number_at(obj, *path))


ALWAYS: Final[Mapping[str, _Reader]] = {
    "metadata.name": _text("metadata", "name"),
    "metadata.namespace": _text("metadata", "namespace"),
}

_REFERENCE: Final = (
    "kind",
    "namespace",
    "name",
    "uid",
    "apiVersion",
    "resourceVersion",
    "fieldPath",
)


def _event_source(event: Object) -> str:
    return text_at(event, "source", "component") or text_at(event, "reportingComponent")


#: Events are kept as core/v1 has them, so both groups' names read the same fields.
_EVENT: Final[Mapping[str, _Reader]] = {
    **{f"involvedObject.{name}": _text("involvedObject", name) for name in _REFERENCE},
    **{f"regarding.{name}": _text("involvedObject", name) for name in _REFERENCE},
    "reason": _text("reason"),
    "type": _text("type"),
    "source": _event_source,
    "reportingComponent": _text("reportingComponent"),
    "reportingController": _text("reportingComponent"),
}

#: Fields that can be selected by, per shelf, beside name and namespace.
FIELDS: Final[Mapping[str, Mapping[str, _Reader]]] = {
    "pods": {
        "spec.nodeName": _text("spec", "nodeName"),
        "spec.restartPolicy": _text("spec", "restartPolicy"),
        "spec.schedulerName": _text("spec", "schedulerName"),
        "spec.serviceAccountName": _text("spec", "serviceAccountName"),
        "spec.hostNetwork": _flag("spec", "hostNetwork"),
        "status.phase": _text("status", "phase"),
        "status.podIP": _text("status", "podIP"),
        "status.nominatedNodeName": _text("status", "nominatedNodeName"),
    },
    "nodes": {"spec.unschedulable": _flag("spec", "unschedulable")},
    "namespaces": {"status.phase": _text("status", "phase"), "name": _text("metadata", "name")},
    "events": _EVENT,
    "secrets": {"type": _text("type")},
    "services": {"spec.clusterIP": _text("spec", "clusterIP"), "spec.type": _text("spec", "type")},
    "persistentvolumes": {"name": _text("metadata", "name")},
    "persistentvolumeclaims": {"name": _text("metadata", "name")},
    "replicationcontrollers": {"status.replicas": _number("status", "replicas")},
    "replicasets.apps": {"status.replicas": _number("status", "replicas")},
    "jobs.batch": {"status.successful": _number("status", "succeeded")},
    "resourceslices.resource.k8s.io": {
        "spec.nodeName": _text("spec", "nodeName"),
        "spec.driver": _text("spec", "driver"),
    },
}


def fields_of(shelf: str, obj: Object) -> dict[str, str]:
    """The selectable fields of an object, beyond its name and namespace."""
    return {name: read(obj) for name, read in FIELDS.get(shelf, {}).items()}
