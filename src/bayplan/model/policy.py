"""Rules about pods: how many may be missing, who goes first, how much a namespace may use.

Fed by ``decode``; read by preemption, and by policies about tenants.
"""

from typing import ClassVar

import msgspec

from bayplan.model.label_selectors import LabelSelector
from bayplan.model.meta import Int32, Int64, KubeObject, Record, Time
from bayplan.model.quantity import ResourceList


class PodDisruptionBudgetSpec(Record, frozen=True):
    """How many of which pods may be missing, as numbers or as percentages."""

    #: None matches nothing, and so does an empty one in preemption.
    selector: LabelSelector | None = None
    min_available: Int32 | str | None = None
    max_unavailable: Int32 | str | None = None


class PodDisruptionBudgetStatus(Record, frozen=True):
    """How many may be disrupted now, as the disruption controller counts."""

    disruptions_allowed: Int32 = 0
    #: Pods whose eviction was allowed but has not been seen yet, with the time.
    disrupted_pods: dict[str, Time | None] = msgspec.field(default_factory=dict)
    current_healthy: Int32 = 0
    desired_healthy: Int32 = 0
    expected_pods: Int32 = 0
    observed_generation: Int64 = 0


class PodDisruptionBudget(KubeObject, frozen=True):
    """Limits how many of some pods are evicted at a time."""

    api_versions: ClassVar[tuple[str, ...]] = ("policy/v1",)

    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class PriorityClass(KubeObject, frozen=True):
    """A name for a priority."""

    api_versions: ClassVar[tuple[str, ...]] = ("scheduling.k8s.io/v1",)

    value: Int32 = 0
    global_default: bool = False
    description: str = ""
    #: Empty means ``PreemptLowerPriority``.
    preemption_policy: str = ""


class ElasticQuotaSpec(Record, frozen=True):
    """What a namespace is sure of, and how far it may go."""

    min: ResourceList = msgspec.field(default_factory=dict)
    max: ResourceList = msgspec.field(default_factory=dict)


class ElasticQuotaStatus(Record, frozen=True):
    """What its pods take."""

    used: ResourceList = msgspec.field(default_factory=dict)


class ElasticQuota(KubeObject, frozen=True):
    """Shares a cluster among namespaces: what one leaves of its minimum the others may borrow until it wants it back."""

    api_versions: ClassVar[tuple[str, ...]] = ("scheduling.x-k8s.io/v1alpha1",)

    spec: ElasticQuotaSpec = ElasticQuotaSpec()
    status: ElasticQuotaStatus = ElasticQuotaStatus()


class ResourceQuotaSpec(Record, frozen=True):
    """The most that a namespace may use."""

    hard: ResourceList = msgspec.field(default_factory=dict)
    scopes: tuple[str, ...] = ()


class ResourceQuotaStatus(Record, frozen=True):
    """What it uses."""

    hard: ResourceList = msgspec.field(default_factory=dict)
    used: ResourceList = msgspec.field(default_factory=dict)


class ResourceQuota(KubeObject, frozen=True):
    """Limits what a namespace may use; enforced when pods are created, not when they are placed."""

    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()
