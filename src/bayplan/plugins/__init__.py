"""Kubernetes' own plugins, by their own names, one module each."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bayplan.framework.plugin import Plugin
    from bayplan.framework.registry import Registry

#: Module and class of each default plugin, in the order in which the default profile runs them.
_DEFAULTS: Final = (
    ("scheduling_gates", "SchedulingGates"),
    ("priority_sort", "PrioritySort"),
    ("node_unschedulable", "NodeUnschedulable"),
    ("node_name", "NodeName"),
    ("taint_toleration", "TaintToleration"),
    ("node_affinity", "NodeAffinity"),
    ("node_ports", "NodePorts"),
    ("node_resources_fit", "NodeResourcesFit"),
    ("volume_restrictions", "VolumeRestrictions"),
    ("node_volume_limits", "NodeVolumeLimits"),
    ("volume_binding", "VolumeBinding"),
    ("volume_zone", "VolumeZone"),
    ("pod_topology_spread", "PodTopologySpread"),
    ("inter_pod_affinity", "InterPodAffinity"),
    ("dynamic_resources", "DynamicResources"),
    ("default_preemption", "DefaultPreemption"),
    ("node_resources_balanced_allocation", "NodeResourcesBalancedAllocation"),
    ("image_locality", "ImageLocality"),
    ("default_binder", "DefaultBinder"),
    ("node_declared_features", "NodeDeclaredFeatures"),
)


#: bayplan's own policies: offered by name like a user's plugin, which takes the place of one of the same name.
_POLICIES: Final = (
    ("adaptive_scheduling_plugin", "AdaptiveSchedulingPlugin"),
    ("app_spread", "AppSpread"),
    ("business_affinity_plugin", "BusinessAffinityPlugin"),
    ("business_score_plugin", "BusinessScorePlugin"),
    ("capacity_scheduling", "CapacityScheduling"),
    ("compliance_zone", "ComplianceZone"),
    ("cost_optimization_plugin", "CostOptimizationPlugin"),
    ("custom_filter_plugin", "CustomFilterPlugin"),
    ("custom_score_plugin", "CustomScorePlugin"),
    ("energy_plugin", "EnergyPlugin"),
    ("example_plugin", "ExamplePlugin"),
    ("fair_queues", "FairQueues"),
    ("gpu_fragmentation", "GPUFragmentation"),
    ("gpu_priority_plugin", "GPUPriorityPlugin"),
    ("load_balancing_plugin", "LoadBalancingPlugin"),
    ("low_cpu_scheduler", "LowCpuScheduler"),
    ("network_latency_plugin", "NetworkLatencyPlugin"),
    ("numa_topology", "NUMATopology"),
    ("scheduling_policy", "SchedulingPolicy"),
    ("preemption_toleration", "PreemptionToleration"),
    ("tenant_isolation", "TenantIsolation"),
)
#: Of Kubernetes, and behind a gate there.
_GATED: Final = (("gang_scheduling", "GangScheduling"),)
#: Second names of default plugins.
_ALIASES: Final = {"NodeAffinityPlugin": ("node_affinity", "NodeAffinity")}


def default_plugins() -> tuple[type[Plugin], ...]:
    """The plugins of the default profile, in its order; their modules are imported now."""
    return tuple(
        getattr(import_module(f"{__name__}.{module}"), plugin) for module, plugin in _DEFAULTS
    )


def default_registry(generation: int = 1) -> Registry:
    """A registry that knows the default plugins and, until somebody asks for them by name alone, the policies."""
    from bayplan.framework.registry import Registry

    registry = Registry(default_plugins(), generation=generation)
    for module, plugin in _POLICIES:
        registry.offer(plugin, f"bayplan.policies.{module}:{plugin}")
    for module, plugin in _GATED:
        registry.offer(plugin, f"{__name__}.{module}:{plugin}")
    for alias, (module, plugin) in _ALIASES.items():
        registry.offer(alias, f"{__name__}.{module}:{plugin}")
    return registry
