"""What happens in a cluster, and what a plugin wants to hear of it.

Plugins declare ``wakes_on``; the queue matches events against it to decide which rejected pods deserve another attempt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntFlag
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo


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
    DATA = "Data"  #: outside data were refreshed
    ANY = "*"


class Hint(Enum):
    """What a hint says of a pod that its plugin rejected."""

    QUEUE = "Queue"
    SKIP = "QueueSkip"


#: ``hint(pod, old, new)``: would this event make the pod schedulable? ``old`` and ``new`` are model objects or None.
HintFn = Callable[["PodInfo", Any, Any], Hint]


@dataclass(frozen=True, slots=True)
class WakeOn:
    """An event that may cure a rejection, and optionally a closer look at it."""

    resource: Resource
    actions: Action
    hint: HintFn | None = None
