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


def default_plugins() -> tuple[type[Plugin], ...]:
    """The plugins of the default profile, in its order; their modules are imported now."""
    return tuple(
        getattr(import_module(f"{__name__}.{module}"), plugin) for module, plugin in _DEFAULTS
    )


def default_registry() -> Registry:
    """A registry that knows the default plugins."""
    from bayplan.framework.registry import Registry

    return Registry(default_plugins())
