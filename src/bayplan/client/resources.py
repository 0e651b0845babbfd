"""What the scheduler reads and writes, as paths and bodies. Pure: nothing here sends anything.

``Resource`` names a kind for lists, watches and single reads; the functions below build the few writes that a scheduler
makes, as ``Request``s for ``client.api``. Leases are in ``client.lease_requests``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from bayplan.client.request import (
    JSON,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Request,
)
from bayplan.client.retry import BIND, CHEAP, IDEMPOTENT
from bayplan.model import (
    ConfigMap,
    CoschedulingPodGroup,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    Deployment,
    ElasticQuota,
    KubeObject,
    Lease,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    PodGroup,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    ResourceQuota,
    SchedulingPolicy,
    Service,
    StatefulSet,
    StorageClass,
    VolumeAttachment,
)
from bayplan.model.meta import format_micro_time, format_time

T = TypeVar("T", bound=KubeObject)

_encode = msgspec.json.encode


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """A kind, as its paths spell it."""

    group: str
    version: str
    plural: str
    kind: type[T]
    namespaced: bool
    #: The one namespace that lists and watches are about; empty: all of them.
    only_in: str = ""
    #: The one object that is asked for, where a role may name it; a field selector says the same to lists and watches.
    only_named: str = ""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """``pods``, ``storageclasses.storage.k8s.io``: as RBAC and error messages have it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def root(self) -> str:
        """The path of its group and version, where the API server says what there is of them."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, name: str = "", namespace: str = "", subresource: str = "") -> str:
        """The path of one object, or of all of them; without a namespace those of all namespaces."""
        parts = [self.root]
        if self.namespaced and (namespace or self.only_in):
            parts.append(f"namespaces/{segment(namespace or self.only_in)}")
        parts.append(self.plural)
        if name:
            parts.append(segment(name))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)

    def collection(self, **query: str) -> str:
        """The path of all objects with a query; parameters that are empty are left out."""
        given = {key: value for key, value in query.items() if value}
        return f"{self.path()}?{urlencode(given)}" if given else self.path()


PODS: Final = Resource("", "v1", "pods", Pod, namespaced=True)
NODES: Final = Resource("", "v1", "nodes", Node, namespaced=False)
NAMESPACES: Final = Resource("", "v1", "namespaces", Namespace, namespaced=False)
SERVICES: Final = Resource("", "v1", "services", Service, namespaced=True)
REPLICATION_CONTROLLERS: Final = Resource(
    "", "v1", "replicationcontrollers", ReplicationController, namespaced=True
)
REPLICA_SETS: Final = Resource("apps", "v1", "replicasets", ReplicaSet, namespaced=True)
STATEFUL_SETS: Final = Resource("apps", "v1", "statefulsets", StatefulSet, namespaced=True)
DEPLOYMENTS: Final = Resource("apps", "v1", "deployments", Deployment, namespaced=True)
PERSISTENT_VOLUMES: Final = Resource(
    "", "v1", "persistentvolumes", PersistentVolume, namespaced=False
)
PERSISTENT_VOLUME_CLAIMS: Final = Resource(
    "", "v1", "persistentvolumeclaims", PersistentVolumeClaim, namespaced=True
)
STORAGE_CLASSES: Final = Resource(
    "storage.k8s.io", "v1", "storageclasses", StorageClass, namespaced=False
)
CSI_NODES: Final = Resource("storage.k8s.io", "v1", "csinodes", CSINode, namespaced=False)
CSI_DRIVERS: Final = Resource("storage.k8s.io", "v1", "csidrivers", CSIDriver, namespaced=False)
CSI_STORAGE_CAPACITIES: Final = Resource(
    "storage.k8s.io", "v1", "csistoragecapacities", CSIStorageCapacity, namespaced=True
)
VOLUME_ATTACHMENTS: Final = Resource(
    "storage.k8s.io", "v1", "volumeattachments", VolumeAttachment, namespaced=False
)
POD_DISRUPTION_BUDGETS: Final = Resource(
    "policy", "v1", "poddisruptionbudgets", PodDisruptionBudget, namespaced=True
)
PRIORITY_CLASSES: Final = Resource(
    "scheduling.k8s.io", "v1", "priorityclasses", PriorityClass, namespaced=False
)
ELASTIC_QUOTAS: Final = Resource(
    "scheduling.x-k8s.io", "v1alpha1", "elasticquotas", ElasticQuota, namespaced=True
)
RESOURCE_QUOTAS: Final = Resource("", "v1", "resourcequotas", ResourceQuota, namespaced=True)
POD_GROUPS: Final = Resource(
    "scheduling.k8s.io", "v1alpha2", "podgroups", PodGroup, namespaced=True
)
COSCHEDULING_POD_GROUPS: Final = Resource(
    "scheduling.x-k8s.io", "v1alpha1", "podgroups", CoschedulingPodGroup, namespaced=True
)
CONFIG_MAPS: Final = Resource("", "v1", "configmaps", ConfigMap, namespaced=True)
SCHEDULING_POLICIES: Final = Resource(
    "policy.bayplan.io", "v1alpha1", "schedulingpolicies", SchedulingPolicy, namespaced=False
)
#: Of manifests from before the plugin had an API group of its own. Only our embedded server serves it: the group is
#: Kubernetes' own, and a CustomResourceDefinition in it is refused.
FORMER_POD_GROUPS: Final = Resource(
    "scheduling.k8s.io", "v1alpha1", "podgroups", CoschedulingPodGroup, namespaced=True
)
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", Lease, namespaced=True)


def segment(text: str) -> str:
    """A name as one segment of a path: nothing in it can lead to another object."""
    # A segment of dots alone is resolved by whoever reads the path.
    return quote(text, safe="") if text.strip(".") else text.replace(".", "%2E")


# Binding ----------------------------------------------------------------------------------------


def bind(
    pod_namespace: str,
    pod_name: str,
    pod_uid: str,
    node: str,
    annotations: Mapping[str, str] | None = None,
) -> Request:
    """Put a pod on a node. Refused with a Conflict if another pod has the name by now, or if it is bound.

    The API server merges the annotations into the pod.
    """
    meta: dict[str, Any] = {"name": pod_name, "namespace": pod_namespace, "uid": pod_uid}
    if annotations:
        meta["annotations"] = dict(annotations)
    body = {
        "kind": "Binding",
        "apiVersion": "v1",
        "metadata": meta,
        "target": {"kind": "Node", "name": node},
    }
    path = PODS.path(pod_name, pod_namespace, "binding")
    # Twice is refused by the uid and by the pod's being bound; whose doing that was, the caller looks up.
    return Request("POST", path, _encode(body), JSON, BIND, guarded=True)


# Pods -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ConditionChange:
    """A condition to set in a pod's status."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    #: When the status last became another, seconds since 1970; None: it stays what it was.
    transition_time: float | None = None
    #: The generation of the pod that was looked at; 0: not said.
    observed_generation: int = 0


def patch_status(
    namespace: str,
    name: str,
    uid: str,
    *,
    conditions: tuple[ConditionChange, ...] = (),
    nominated_node_name: str | None = None,
) -> Request:
    """Change a pod's status: these conditions, by type, and the nominated node.

    Args:
        namespace: the pod's.
        name: the pod's.
        uid: the pod's; if another pod has the name by now, the answer is a Conflict. Empty: whichever has the name.
        conditions: the others stay.
        nominated_node_name: None leaves it, empty clears it.
    """
    status: dict[str, Any] = {}
    if conditions:
        status["$setElementOrder/conditions"] = [{"type": each.type} for each in conditions]
        status["conditions"] = [_condition(each) for each in conditions]
    if nominated_node_name is not None:
        status["nominatedNodeName"] = nominated_node_name or None
    body: dict[str, Any] = {"status": status}
    if uid:
        body["metadata"] = {"uid": uid}
    path = PODS.path(name, namespace, "status")
    return Request("PATCH", path, _encode(body), STRATEGIC_MERGE_PATCH, IDEMPOTENT)


def _condition(change: ConditionChange) -> dict[str, Any]:
    body: dict[str, Any] = {
        "type": change.type,
        "status": change.status,
        "reason": change.reason,
        "message": change.message,
        "lastProbeTime": None,
    }
    if change.transition_time is not None:
        body["lastTransitionTime"] = format_time(_moment(change.transition_time))
    if change.observed_generation:
        body["observedGeneration"] = change.observed_generation
    return body


def delete_pod(
    namespace: str, name: str, uid: str, *, grace_period_seconds: int | None = None
) -> Request:
    """Delete this pod and no later one of its name; after its own grace period unless one is given."""
    body: dict[str, Any] = {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "preconditions": {"uid": uid},
    }
    if grace_period_seconds is not None:
        body["gracePeriodSeconds"] = grace_period_seconds
    return Request("DELETE", PODS.path(name, namespace), _encode(body), JSON, IDEMPOTENT)


# Policies ---------------------------------------------------------------------------------------


def policy_status(name: str, conditions: list[dict[str, Any]]) -> Request:
    """Say in a SchedulingPolicy's status whether it can be applied."""
    path = SCHEDULING_POLICIES.path(name, subresource="status")
    body = {"status": {"conditions": conditions}}
    return Request("PATCH", path, _encode(body), MERGE_PATCH, IDEMPOTENT)


# Volumes ----------------------------------------------------------------------------------------


def patch_volume(name: str, patch: Mapping[str, Any]) -> Request:
    """A merge patch of a PersistentVolume; a resourceVersion in it makes it conditional."""
    path = PERSISTENT_VOLUMES.path(name)
    return Request("PATCH", path, _encode(patch), MERGE_PATCH, IDEMPOTENT)


def patch_claim(namespace: str, name: str, patch: Mapping[str, Any]) -> Request:
    """A merge patch of a PersistentVolumeClaim; a resourceVersion in it makes it conditional."""
    path = PERSISTENT_VOLUME_CLAIMS.path(name, namespace)
    return Request("PATCH", path, _encode(patch), MERGE_PATCH, IDEMPOTENT)


# Quotas -----------------------------------------------------------------------------------------


def patch_quota_status(
    namespace: str, name: str, uid: str, used: Mapping[str, str | None]
) -> Request:
    """Say in an ElasticQuota's status what is used; None takes a resource out."""
    body = {"metadata": {"uid": uid} if uid else {}, "status": {"used": used}}
    path = ELASTIC_QUOTAS.path(name, namespace, "status")
    return Request("PATCH", path, _encode(body), MERGE_PATCH, IDEMPOTENT)


# Events -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """The object that an Event is about."""

    kind: str
    namespace: str
    name: str
    uid: str = ""
    api_version: str = "v1"
    resource_version: str = ""

    def body(self) -> dict[str, str]:
        fields = {
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "apiVersion": self.api_version,
            "resourceVersion": self.resource_version,
        }
        return {key: value for key, value in fields.items() if value}


@dataclass(frozen=True, slots=True)
class EventNote:
    """What an Event says, in the terms of events.k8s.io/v1."""

    regarding: ObjectRef
    reason: str
    action: str
    note: str
    #: ``Normal`` or ``Warning``.
    type: str = "Normal"
    related: ObjectRef | None = None


def event(
    note: EventNote, *, now: float, controller: str, instance: str, serial: int = 0
) -> Request:
    """Record an Event.

    Args:
        note: what it says.
        now: seconds since 1970.
        controller: who says it, the scheduler's name.
        instance: which process of those that have this name.
        serial: tells Events about one object in one microsecond apart; any counter.
    """
    namespace = note.regarding.namespace or "default"
    body: dict[str, Any] = {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "metadata": {"name": event_name(note.regarding.name, now, serial), "namespace": namespace},
        "eventTime": format_micro_time(_moment(now)),
        "reportingController": controller,
        "reportingInstance": instance,
        "action": note.action,
        "reason": note.reason,
        "regarding": note.regarding.body(),
        "note": note.note,
        "type": note.type,
    }
    if note.related is not None:
        body["related"] = note.related.body()
    path = f"/apis/events.k8s.io/v1/namespaces/{segment(namespace)}/events"
    return Request("POST", path, _encode(body), JSON, CHEAP, guarded=True)


def event_series(namespace: str, name: str, *, count: int, now: float) -> Request:
    """Say that an Event has been seen again: so often altogether, last now."""
    series = {"count": count, "lastObservedTime": format_micro_time(_moment(now))}
    path = f"/apis/events.k8s.io/v1/namespaces/{segment(namespace)}/events/{segment(name)}"
    return Request("PATCH", path, _encode({"series": series}), STRATEGIC_MERGE_PATCH, CHEAP)


def event_name(regarding: str, now: float, serial: int = 0) -> str:
    """A name that no other Event has: the object's, cut where needed, and a moment in nanoseconds."""
    # An object's name may have 253 characters, and so may the whole.
    nanoseconds = int(now * 1e6) * 1000 + serial % 1000
    return f"{regarding[: 253 - 17].rstrip('.-')}.{nanoseconds:x}"


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
