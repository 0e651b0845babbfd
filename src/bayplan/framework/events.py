"""What happens in a cluster, and what a plugin wants to hear of it.

Plugins declare ``wakes_on``; ``runtime.ingest`` makes a ``ClusterEvent`` of each thing that happens; the queue matches the two
to decide which rejected pods deserve another attempt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, IntFlag
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo

#: In the place of a plugin's name where a foreign extender turned a pod down; events of every kind wake such a pod.
EXTENDER: Final = "Extender"


class Action(IntFlag):
    """What happened to the object."""

    ADD = 1 << 0
    DELETE = 1 << 1
    UPDATE_NODE_ALLOCATABLE = 1 << 2
    UPDATE_NODE_LABEL = 1 << 3
    UPDATE_NODE_TAINT = 1 << 4
    UPDATE_NODE_CONDITION = 1 << 5
    UPDATE_NODE_ANNOTATION = 1 << 6
    UPDATE_NODE_DECLARED_FEATURE = 1 << 7
    UPDATE_POD_LABEL = 1 << 8
    UPDATE_POD_SCALE_DOWN = 1 << 9
    UPDATE_POD_TOLERATION = 1 << 10
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 1 << 11
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 1 << 12
    UPDATE_OTHER = 1 << 13
    UPDATE = (
        UPDATE_NODE_ALLOCATABLE
        | UPDATE_NODE_LABEL
        | UPDATE_NODE_TAINT
        | UPDATE_NODE_CONDITION
        | UPDATE_NODE_ANNOTATION
        | UPDATE_NODE_DECLARED_FEATURE
        | UPDATE_POD_LABEL
        | UPDATE_POD_SCALE_DOWN
        | UPDATE_POD_TOLERATION
        | UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        | UPDATE_POD_GENERATED_RESOURCE_CLAIM
        | UPDATE_OTHER
    )
    ALL = ADD | DELETE | UPDATE


class Resource(Enum):
    """Which kind of object it happened to."""

    POD = "Pod"  #: the pod being scheduled itself, or any pod
    ASSIGNED_POD = "AssignedPod"
    UNSCHEDULED_POD = "UnschedulablePod"
    NODE = "Node"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    RESOURCE_CLAIM = "resource.k8s.io/ResourceClaim"
    NAMESPACE = "Namespace"
    SERVICE = "Service"
    POD_GROUP = "PodGroup"
    ELASTIC_QUOTA = "scheduling.x-k8s.io/ElasticQuota"
    PRIORITY_CLASS = "scheduling.k8s.io/PriorityClass"
    DATA = "Data"  #: outside data were refreshed
    ANY = "*"


class Hint(Enum):
    """What a hint says of a pod that its plugin rejected."""

    QUEUE = "Queue"
    SKIP = "QueueSkip"


#: ``hint(pod, old, new)``: would this event make the pod schedulable? ``old`` and ``new`` are model objects or None.
#: Alike pods share the answer unless the hint read what sets one apart (its name, uid, times, version); comparing its uid
#: with that of a placed pod does not count as reading it.
HintFn = Callable[["PodInfo", Any, Any], Hint]


@dataclass(frozen=True, slots=True)
class WakeOn:
    """An event that may cure a rejection, and optionally a closer look at it."""

    resource: Resource
    actions: Action
    hint: HintFn | None = None

    def covers(self, resource: Resource, action: Action) -> bool:
        """Whether an event is what is declared here, or a more specific case of it.

        Kubernetes' rule: an event that says no more than "updated" is not a case of a named update.
        """
        if self.resource is Resource.ANY and self.actions == Action.ALL:
            return True
        return (
            (self.resource in (Resource.ANY, resource) or self._is_any_pod(resource))
            and bool(self.actions & action)
            and action <= self.actions
        )

    def _is_any_pod(self, resource: Resource) -> bool:
        return self.resource is Resource.POD and resource in _PODS


_PODS: Final = (Resource.ASSIGNED_POD, Resource.UNSCHEDULED_POD)


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """Something that happened to an object; which one it was and what it became."""

    resource: Resource
    action: Action
    old: Any = None
    new: Any = None
    #: Where the label says more than resource and action do.
    custom_label: str = ""
    #: What metrics and logs call it, as in Kubernetes 1.36: ``AssignedPodAdd``, ``NodeUpdateNodeLabel``.
    label: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        label = self.custom_label or self.resource.value + _label(self.action)
        object.__setattr__(self, "label", label)

    @classmethod
    def of(cls, resource: Resource, action: Action, old: Any, new: Any) -> ClusterEvent:
        """``old`` is None for what was added, ``new`` for what was deleted; both are model objects."""
        return cls(resource, action, old, new)

    @classmethod
    def force_activate(cls, pod: Any) -> ClusterEvent:
        """Somebody wants this pod tried again at once."""
        return cls(Resource.ANY, Action.ALL, None, pod, FORCE_ACTIVATE)

    @classmethod
    def unschedulable_timeout(cls) -> ClusterEvent:
        """Pods that nothing woke for too long are tried again."""
        return cls(Resource.ANY, Action.ALL, None, None, UNSCHEDULABLE_TIMEOUT)

    @classmethod
    def reloaded(cls) -> ClusterEvent:
        """Other profiles decide from now on: whoever turned a pod down may not be there any more."""
        return cls(Resource.ANY, Action.ALL, None, None, PROFILE_RELOAD)

    @property
    def is_wildcard(self) -> bool:
        """Whether it concerns pods whatever turned them down; where ``new`` is a pod, that pod alone."""
        return self.resource is Resource.ANY and self.action == Action.ALL


#: What brings a pod into a queue beside an event of the cluster, in the words of Kubernetes' metrics.
FORCE_ACTIVATE: Final = "ForceActivate"
UNSCHEDULABLE_TIMEOUT: Final = "UnschedulableTimeout"
PROFILE_RELOAD: Final = "ProfileReload"
SCHEDULE_ATTEMPT_FAILURE: Final = "ScheduleAttemptFailure"
BACKOFF_COMPLETE: Final = "BackoffComplete"
POP_FROM_BACKOFF: Final = "PopFromBackoffQ"
#: Ours: a sibling's turn has come.
WITH_ITS_GROUP: Final = "PodGroupMember"
UNSCHEDULED_POD_ADD: Final = "UnschedulablePodAdd"
UNSCHEDULED_POD_UPDATE: Final = "UnschedulablePodUpdate"

_COMPOUND: Final = {Action.UPDATE: "Update", Action.ALL: "All"}


@cache
def _label(action: Action) -> str:
    """``UpdateNodeLabel`` of ``UPDATE_NODE_LABEL``; a mixture that has no name is spelled out."""
    if action in _COMPOUND:
        return _COMPOUND[action]
    return "|".join((part.name or "").title().replace("_", "") for part in action)
