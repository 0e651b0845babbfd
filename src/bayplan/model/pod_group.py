"""One form for a group of pods that are scheduled together, whatever API it was written in.

``groups`` holds the objects of the three APIs as they are written; each becomes one ``Group``, so that nothing above has to
know which API a cluster serves. A pod says in its spec (the native API) or in a label (the other two) which group it is in.

Made by ``model.group_forms``, kept by ``cluster.gangs``; read by the queue, the cycle and the runtime.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from bayplan.model.groups import FORMER_GROUP_LABELS, GROUP_LABEL

if TYPE_CHECKING:
    from bayplan.model.meta import Condition
    from bayplan.model.pod import PodSpec
    from bayplan.model.quantity import ResourceList

_LABELS: Final = (GROUP_LABEL, *FORMER_GROUP_LABELS)


class GroupApi(Enum):
    """Where a group was written, the one that goes before the others first."""

    NATIVE = "scheduling.k8s.io/v1alpha2"
    COSCHEDULING = "scheduling.x-k8s.io/v1alpha1"
    #: Of manifests from before the plugin had an API group of its own.
    FORMER = "scheduling.k8s.io/v1alpha1"


def advice_to_define() -> str:
    """What to do on a cluster that serves no groups of the coscheduling plugin.

    The former form is in an API group that Kubernetes keeps for itself: no definition can make it be served.
    """
    return (
        f"write it as {GroupApi.COSCHEDULING.value} "
        f"({GroupApi.FORMER.value} is Kubernetes' own group, where nobody else can serve a PodGroup), "
        "and apply deploy/crds/podgroups.scheduling.x-k8s.io.yaml"
    )


class GroupKey(NamedTuple):
    """A group by name. Native groups and the others are two worlds: the same name in both is two groups."""

    namespace: str
    name: str
    native: bool = False

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Member(Protocol):
    """What is read of a pod, decoded or as the cluster keeps it."""

    @property
    def namespace(self) -> str: ...
    @property
    def labels(self) -> Mapping[str, str]: ...
    @property
    def spec(self) -> PodSpec: ...


@dataclass(frozen=True, slots=True)
class GroupTopology:
    """All members in one domain of a label: one zone, one rack, one node."""

    key: str
    #: True: or not at all; False: if that is possible.
    required: bool = True


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """What the object's status says already, so that only changes are written."""

    phase: str = ""
    scheduled: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    #: Seconds since the epoch.
    schedule_start_time: float | None = None
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """What the scheduler goes by, and what it needs for writing the status back."""

    key: GroupKey
    api: GroupApi
    #: So many at once or none; 1 and less: the pods do not wait for each other.
    min_member: int
    #: What the cluster as a whole has to have free before the members are looked at; empty: nothing is asked.
    min_resources: ResourceList = field(default_factory=dict)
    #: How long a group may stand half bound before its bound members are evicted; None: as configured.
    timeout_s: float | None = None
    #: None: that of its members.
    priority: int | None = None
    priority_class: str = ""
    topology: GroupTopology | None = None
    #: Its pods are evicted all together or not at all.
    disrupted_whole: bool = False
    uid: str = ""
    resource_version: str = ""
    #: Seconds since the epoch; 0 where unknown.
    created: float = 0.0
    terminating: bool = False
    status: GroupStatus = GroupStatus()

    @property
    def is_gang(self) -> bool:
        """Whether its pods wait for each other at all."""
        return self.min_member > 1


def group_of(pod: Member) -> GroupKey | None:
    """The group that a pod says it is in; its spec goes before its labels, the current label before the former ones."""
    name = group_in_spec(pod.spec)
    if name:
        return GroupKey(pod.namespace, name, native=True)
    return group_in_labels(pod.namespace, pod.labels)


def group_in_spec(spec: PodSpec) -> str:
    """The name of the native group; empty if none."""
    group = spec.scheduling_group
    return (group.pod_group_name or "") if group is not None else ""


def group_in_labels(namespace: str, labels: Mapping[str, str]) -> GroupKey | None:
    """The group that the labels of a pod of that namespace name."""
    if labels:
        for label in _LABELS:
            name = labels.get(label)
            if name:
                return GroupKey(namespace, name)
    return None
