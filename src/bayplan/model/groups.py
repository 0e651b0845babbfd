"""Pods that are scheduled together: the PodGroup of Kubernetes itself and those of the coscheduling plugin.

Three APIs are in use. ``PodGroup`` is the native one (``scheduling.k8s.io/v1alpha2``): a pod names its group in its
spec. ``CoschedulingPodGroup`` is that of scheduler-plugins (``scheduling.x-k8s.io/v1alpha1``), which older manifests
write as ``scheduling.k8s.io/v1alpha1``: a pod names its group in a label.

Fed by ``decode``; read by gang scheduling.
"""

from typing import ClassVar, Final

import msgspec

from bayplan.model.meta import Condition, Int32, KubeObject, Record, Time
from bayplan.model.pod import Pod, PodResourceClaim, PodResourceClaimStatus
from bayplan.model.quantity import ResourceList

#: The label by which a pod belongs to a ``CoschedulingPodGroup``.
GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"
#: Labels that earlier versions of the plugin read, the latest first.
FORMER_GROUP_LABELS: Final = (
    "pod-group.scheduling.sigs.k8s.io",
    "pod-group.scheduling.sigs.k8s.io/name",
)


class CoschedulingSpec(Record, frozen=True):
    """How many must run at once, and how long to wait for the others."""

    min_member: Int32 = 0
    min_resources: ResourceList = msgspec.field(default_factory=dict)
    schedule_timeout_seconds: Int32 | None = None


class CoschedulingStatus(Record, frozen=True):
    """How far the group is."""

    phase: str = ""
    occupied_by: str = ""
    running: Int32 = 0
    succeeded: Int32 = 0
    failed: Int32 = 0
    schedule_start_time: Time | None = None


class CoschedulingPodGroup(KubeObject, frozen=True, tag="PodGroup"):
    """A group as the coscheduling plugin has it."""

    api_versions: ClassVar[tuple[str, ...]] = (
        "scheduling.x-k8s.io/v1alpha1",
        "scheduling.k8s.io/v1alpha1",
        "scheduling.sigs.k8s.io/v1alpha1",
    )

    spec: CoschedulingSpec = CoschedulingSpec()
    status: CoschedulingStatus = CoschedulingStatus()

    @property
    def min_count(self) -> int:
        return self.spec.min_member


class BasicSchedulingPolicy(Record, frozen=True):
    """The pods of the group do not wait for each other."""


class GangSchedulingPolicy(Record, frozen=True):
    """At least so many at once, or none."""

    min_count: Int32 = 0


class PodGroupSchedulingPolicy(Record, frozen=True):
    """One of the two."""

    basic: BasicSchedulingPolicy | None = None
    gang: GangSchedulingPolicy | None = None


class TopologyConstraint(Record, frozen=True):
    """All pods of the group in one domain of this label."""

    key: str = ""


class PodGroupSchedulingConstraints(Record, frozen=True):
    """Where the group as a whole may be."""

    topology: tuple[TopologyConstraint, ...] = ()


class WorkloadReference(Record, frozen=True):
    """The template, in a Workload, that the group was made from."""

    workload_name: str = ""
    pod_group_template_name: str = ""


class PodGroupTemplateReference(Record, frozen=True):
    """Where the group comes from."""

    workload: WorkloadReference | None = None


class PodGroupSpec(Record, frozen=True):
    """How the group is scheduled."""

    pod_group_template_ref: PodGroupTemplateReference | None = None
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    #: Empty means ``Pod``: its pods may be evicted one by one.
    disruption_mode: str = ""
    priority_class_name: str = ""
    priority: Int32 | None = None


class PodGroupStatus(Record, frozen=True):
    """Whether the group is scheduled."""

    conditions: tuple[Condition, ...] = ()
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()


class PodGroup(KubeObject, frozen=True):
    """A group as Kubernetes has it."""

    api_versions: ClassVar[tuple[str, ...]] = ("scheduling.k8s.io/v1alpha2",)

    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    @property
    def min_count(self) -> int:
        """How many must fit at once; 1 for a group that is no gang."""
        gang = self.spec.scheduling_policy.gang
        return gang.min_count if gang is not None else 1


def group_name(pod: Pod) -> str:
    """The native group that the pod is in; empty if none."""
    group = pod.spec.scheduling_group
    return (group.pod_group_name or "") if group is not None else ""


def coscheduling_group_name(pod: Pod) -> str:
    """The group of the coscheduling plugin that the pod is in; empty if none.

    The current label goes before the former ones.
    """
    labels = pod.metadata.labels
    for label in (GROUP_LABEL, *FORMER_GROUP_LABELS):
        if name := labels.get(label):
            return name
    return ""
