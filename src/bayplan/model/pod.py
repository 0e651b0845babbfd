"""Pods, as far as a scheduler reads them.

Specs hold nothing that tells one replica from the next but ``node_name`` and the names of volumes that do not matter
(``Volume.matters``): without those, the encoded spec is the same for all pods that are specified alike. Fed by
``decode``; read by the cluster and, there, by every plugin.
"""

import msgspec

from bayplan.model.label_selectors import LabelSelector
from bayplan.model.meta import Condition, Int32, Int64, KubeObject, Record, Time
from bayplan.model.node import Taint
from bayplan.model.node_selectors import NodeSelector, PreferredSchedulingTerm
from bayplan.model.quantity import ResourceList
from bayplan.model.volumes import Volume

# Affinity ---------------------------------------------------------------------------------------

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class NodeAffinity(Record, frozen=True):
    """Which nodes the pod needs, and which it prefers."""

    #: None: any node. Without terms: no node.
    required: NodeSelector | None = msgspec.field(default=None, name=_REQUIRED)
    preferred: tuple[PreferredSchedulingTerm, ...] = msgspec.field(default=(), name=_PREFERRED)


class PodAffinityTerm(Record, frozen=True):
    """Pods to be near to, or away from, and how near."""

    #: None: no pods. Empty: all pods.
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    topology_key: str = ""
    #: None: no further namespaces, or the pod's own if none are named. Empty: all namespaces.
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Record, frozen=True):
    """A term that is worth its weight."""

    weight: Int32 = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Record, frozen=True):
    """Terms of affinity, or of anti-affinity."""

    required: tuple[PodAffinityTerm, ...] = msgspec.field(default=(), name=_REQUIRED)
    preferred: tuple[WeightedPodAffinityTerm, ...] = msgspec.field(default=(), name=_PREFERRED)


class Affinity(Record, frozen=True):
    """Everything the pod says about its neighbourhood. A missing part is an empty one."""

    node_affinity: NodeAffinity = NodeAffinity()
    pod_affinity: PodAffinity = PodAffinity()
    pod_anti_affinity: PodAffinity = PodAffinity()


class TopologySpreadConstraint(Record, frozen=True):
    """How evenly pods have to be spread."""

    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    #: None: no pods. Empty: all pods.
    label_selector: LabelSelector | None = None
    #: None means 1.
    min_domains: Int32 | None = None
    #: None means ``Honor``.
    node_affinity_policy: str | None = None
    #: None means ``Ignore``.
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class Toleration(Record, frozen=True):
    """Taints that do not keep the pod away."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None

    def tolerates(self, taint: Taint) -> bool:
        """Upstream's ``ToleratesTaint``; Lt and Gt, alpha and off there, tolerate nothing."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator in {"", "Equal"}:
            return self.value == taint.value
        return self.operator == "Exists"


# Containers -------------------------------------------------------------------------------------


class ResourceClaimUse(Record, frozen=True):
    """A claim of the pod that a container uses."""

    name: str = ""
    request: str = ""


class ResourceRequirements(Record, frozen=True):
    """What is asked for. A name that is missing is not the same as one with 0."""

    limits: ResourceList = msgspec.field(default_factory=dict)
    requests: ResourceList = msgspec.field(default_factory=dict)
    claims: tuple[ResourceClaimUse, ...] = ()


class ContainerPort(Record, frozen=True):
    """A port; only those with a host port matter."""

    name: str = ""
    container_port: Int32 = 0
    host_port: Int32 = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = ""


class ContainerRestartRule(Record, frozen=True):
    """What to do when a container exits in some way; a node must know the action."""

    action: str = ""


class Container(Record, frozen=True):
    """A container or init container; with ``restart_policy`` Always the latter is a sidecar."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()


# Spec -------------------------------------------------------------------------------------------


class PodSchedulingGate(Record, frozen=True):
    """Holds the pod back until it is taken away."""

    name: str = ""


class PodResourceClaim(Record, frozen=True):
    """A device claim, or the template for one."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGroup(Record, frozen=True):
    """The group that the pod is scheduled with."""

    pod_group_name: str | None = None


class PodOS(Record, frozen=True):
    """The operating system that the pod is made for."""

    name: str = ""


class PodSpec(Record, frozen=True):
    """What the pod asks for."""

    node_name: str = ""
    scheduler_name: str = ""
    priority: Int32 | None = None
    priority_class_name: str = ""
    #: Empty means ``PreemptLowerPriority``.
    preemption_policy: str = ""
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    #: For the pod as a whole; None where only containers ask.
    resources: ResourceRequirements | None = None
    overhead: ResourceList = msgspec.field(default_factory=dict)
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    scheduling_group: PodSchedulingGroup | None = None
    os: PodOS | None = None
    host_network: bool = False
    #: None means True.
    host_users: bool | None = None
    runtime_class_name: str | None = None
    restart_policy: str = ""
    termination_grace_period_seconds: Int64 | None = None


# Status -----------------------------------------------------------------------------------------


class ContainerStatus(Record, frozen=True):
    """How far a container is, and what it was given."""

    name: str = ""
    ready: bool = False
    restart_count: Int32 = 0
    allocated_resources: ResourceList = msgspec.field(default_factory=dict)
    resources: ResourceRequirements | None = None


class PodResourceClaimStatus(Record, frozen=True):
    """The claim that was made from a template."""

    name: str = ""
    resource_claim_name: str | None = None


class ContainerExtendedResourceRequest(Record, frozen=True):
    """The request in the generated claim that stands for a container's extended resource."""

    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class PodExtendedResourceClaimStatus(Record, frozen=True):
    """The claim that was generated for the extended resources of the pod."""

    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()
    resource_claim_name: str = ""


class NodeAllocatableResourceClaimStatus(Record, frozen=True):
    """What of a node's own resources a claim takes."""

    resource_claim_name: str = ""
    containers: tuple[str, ...] = ()
    resources: ResourceList = msgspec.field(default_factory=dict)


class PodStatus(Record, frozen=True):
    """What became of the pod."""

    phase: str = ""
    reason: str = ""
    nominated_node_name: str = ""
    start_time: Time | None = None
    conditions: tuple[Condition, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    resize: str = ""
    #: For the pod as a whole.
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList = msgspec.field(default_factory=dict)
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    node_allocatable_resource_claim_statuses: tuple[NodeAllocatableResourceClaimStatus, ...] = ()


class Pod(KubeObject, frozen=True):
    """A pod."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def priority(self) -> int:
        """0 where none is given."""
        return self.spec.priority or 0

    @property
    def is_finished(self) -> bool:
        """It has ended for good and holds nothing any more."""
        return self.status.phase in {"Succeeded", "Failed"}

    def condition(self, kind: str) -> Condition | None:
        for condition in self.status.conditions:
            if condition.type == kind:
                return condition
        return None
