"""What the scheduler knows of a pod: identity, kin and shape.

Built by the cluster from a decoded Pod, which is dropped at once; read by every plugin. A decoded Pod costs some two
kilobytes; a million placed pods share a few thousand shapes and kins, and a placed pod is a row of numbers.

* **Shape**: the spec as plugins read it, shared by all pods whose specs read alike.
* **Kin**: namespace and labels, shared likewise; selectors are evaluated once per kin, not once per pod.
* **PodInfo**: one pod: name, uid, times, its shape and its kin.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from bayplan.cluster.devices import Share, share_of
from bayplan.model import requests
from bayplan.model.pod_group import GroupKey, group_in_labels, group_in_spec
from bayplan.model.quality import is_guaranteed

if TYPE_CHECKING:
    from bayplan.cluster.policy import Applied
    from bayplan.model.meta import OwnerReference
    from bayplan.model.pod import PodSpec

NOTHING: Mapping[str, str] = MappingProxyType({})


class HostPort(NamedTuple):
    """A port that a pod wants on its node."""

    ip: str
    protocol: str
    port: int


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """Host ports of containers and sidecars, Kubernetes' defaults filled in."""
    containers = [
        *(c for c in spec.init_containers if c.restart_policy == "Always"),
        *spec.containers,
    ]
    return tuple(
        HostPort(port.host_ip or "0.0.0.0", port.protocol or "TCP", port.host_port)
        for container in containers
        for port in container.ports
        if port.host_port > 0
    )


class Shape:
    """A pod spec as plugins read it, with what follows from it; one object for all pods that share it."""

    def __init__(self, number: int, spec: PodSpec, placed: requests.Placed) -> None:
        self.id = number
        self.spec = spec
        #: Resource name to amount (CPU in milli-units): what Filter asks of a node.
        self.requests: Mapping[str, int] = requests.for_filter(spec)
        #: What the pod takes from a node once it is there: in-place resizes counted.
        self.placed = placed
        self.priority: int = spec.priority or 0
        #: The name of the native pod group that the pod is in; empty if none.
        self.group = group_in_spec(spec)
        #: Memo of plugins and tables: what they derive from the spec alone, by an owner's key.
        self.memo: dict[Any, Any] = {}

    @cached_property
    def host_ports(self) -> tuple[HostPort, ...]:
        """Host ports of containers and sidecars, Kubernetes' defaults filled in."""
        return host_ports(self.spec)

    @cached_property
    def has_volumes(self) -> bool:
        """Whether any volume matters to the scheduler."""
        return bool(self.spec.volumes)

    @cached_property
    def has_affinity_terms(self) -> bool:
        """Whether the pod says anything about other pods."""
        affinity = self.spec.affinity
        if affinity is None:
            return False
        near, away = affinity.pod_affinity, affinity.pod_anti_affinity
        return bool(near.required or near.preferred or away.required or away.preferred)


class Kin:
    """Pods of one namespace with equal labels."""

    __slots__ = ("__weakref__", "counters", "counters_at", "group", "id", "labels", "namespace")

    def __init__(self, number: int, namespace: str, labels: Mapping[str, str]) -> None:
        self.id = number
        self.namespace = namespace
        self.labels = labels
        #: The pod group that the labels name.
        self.group = group_in_labels(namespace, labels)
        #: The counters that count pods of this kin, as of generation ``counters_at``; kept by ``cluster.counts``.
        self.counters: tuple[Any, ...] = ()
        self.counters_at = -1


class PodInfo:
    """One pod, pending or placed."""

    __slots__ = (
        "_alike",
        "annotations",
        "created",
        "disrupted",
        "finished",
        "kin",
        "name",
        "node_name",
        "nominated_node",
        "own_shape",
        "owner",
        "policy",
        "resource_version",
        "shape",
        "started",
        "terminating",
        "uid",
    )

    def __init__(self, name: str, kin: Kin, shape: Shape, *, uid: str = "") -> None:
        self.name = name
        self.kin = kin
        self.shape = shape
        self.uid = uid
        self.annotations: Mapping[str, str] = NOTHING
        #: The controlling owner, if there is one.
        self.owner: OwnerReference | None = None
        #: Seconds since the epoch; 0 where unknown.
        self.created = 0.0
        #: status.startTime; None where the pod has not started.
        self.started: float | None = None
        self.terminating = False
        #: Its DisruptionTarget condition says that a scheduler preempts it.
        self.disrupted = False
        #: Succeeded or Failed: it holds nothing any more.
        self.finished = False
        self.node_name = ""
        self.nominated_node = ""
        self.resource_version = ""
        #: The scheduling policy that holds for it while it is pending; ``shape`` is then the pod with the policy laid over it.
        self.policy: Applied | None = None
        #: The pod without it; None where no policy holds.
        self.own_shape: Shape | None = None
        self._alike: Any = None

    @property
    def namespace(self) -> str:
        """The pod's namespace."""
        return self.kin.namespace

    @property
    def labels(self) -> Mapping[str, str]:
        """The pod's labels."""
        return self.kin.labels

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.kin.namespace}/{self.name}"

    @property
    def spec(self) -> PodSpec:
        """The spec, with what the scheduler does not read left out; ``node_name`` stands on the pod itself."""
        return self.shape.spec

    @property
    def priority(self) -> int:
        """spec.priority, 0 where unset."""
        return self.shape.priority

    @property
    def queue_priority(self) -> int:
        """What orders the queue: the priority of the policy's class, if it names one, else the pod's own."""
        policy = self.policy
        if policy is None or policy.priority is None:
            return self.shape.priority
        return policy.priority

    @property
    def is_guaranteed(self) -> bool:
        """Whether it is of QoS class Guaranteed."""
        known: bool | None = self.shape.memo.get(is_guaranteed)
        if known is None:
            known = self.shape.memo[is_guaranteed] = is_guaranteed(self.shape.spec)
        return known

    @property
    def requests(self) -> Mapping[str, int]:
        """Resource name to amount; CPU in milli-units."""
        return self.shape.requests

    @property
    def group(self) -> GroupKey | None:
        """The pod group that the pod says it is in."""
        name = self.shape.group
        return GroupKey(self.kin.namespace, name, native=True) if name else self.kin.group

    @property
    def gpu_share(self) -> Share:
        """How many shared GPUs the pod asks for, and how many thousandths of each."""
        return share_of(self.annotations, self.shape.requests)

    @property
    def alike(self) -> Any:
        """A key that pods share which no well-behaved plugin tells apart."""
        if self._alike is None:
            owner = self.owner
            self._alike = (
                self.shape.id,
                self.kin.id,
                frozenset(self.annotations.items()) if self.annotations else None,
                (owner.kind, owner.name) if owner is not None else None,
                self.terminating,
                self.policy.identity if self.policy is not None else None,
            )
        return self._alike

    def forget_likeness(self) -> None:
        """What makes the pod like others has changed."""
        self._alike = None

    def __repr__(self) -> str:
        return f"PodInfo({self.key})"


class PersonalPod(PodInfo):
    """A pod that notes whether it was asked who it is.

    Handed to per-node plugins: alike pods share what a plugin said of their class, unless it read what sets one pod
    apart from the next.
    """

    __slots__ = ("personal",)

    def __init__(self, pod: PodInfo) -> None:
        for slot in PodInfo.__slots__:
            object.__setattr__(self, slot, getattr(pod, slot))
        #: Whether name, uid, times or version were read.
        self.personal = False

    def __getattribute__(self, name: str) -> Any:
        if name in _PERSONAL:
            object.__setattr__(self, "personal", True)
        return object.__getattribute__(self, name)


_PERSONAL = frozenset(
    {"name", "uid", "key", "created", "started", "resource_version", "nominated_node"}
)
