"""What Kubernetes 1.36 fixes about points and plugins: the default set, the interfaces, the names that are gone.

Read by ``expand`` and ``arguments``. (apis/config/v1/default_plugins.go with the default feature gates,
framework/runtime/framework.go: getExtensionPoints, apis/config/validation/validation.go: invalidPluginsByVersion.)
"""

from __future__ import annotations

from typing import Final

from bayplan.framework.config.fields import invalid
from bayplan.framework.config.types import VERSION

#: The default MultiPoint set in run order; None: no weight given, which counts as 1 where the plugin scores.
DEFAULTS: Final[dict[str, int | None]] = {
    "SchedulingGates": None,
    "PrioritySort": None,
    "NodeUnschedulable": None,
    "NodeName": None,
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodePorts": None,
    "NodeResourcesFit": 1,
    "VolumeRestrictions": None,
    "NodeVolumeLimits": None,
    "VolumeBinding": None,
    "VolumeZone": None,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
    "DefaultPreemption": None,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
    "DefaultBinder": None,
    "NodeDeclaredFeatures": None,
}

#: Points by the names that files use, with upstream's names for their interfaces, in the order it goes through them.
POINT_TYPES: Final[dict[str, str]] = {
    "preFilter": "PreFilterPlugin",
    "filter": "FilterPlugin",
    "postFilter": "PostFilterPlugin",
    "reserve": "ReservePlugin",
    "preScore": "PreScorePlugin",
    "score": "ScorePlugin",
    "preBind": "PreBindPlugin",
    "bind": "BindPlugin",
    "postBind": "PostBindPlugin",
    "permit": "PermitPlugin",
    "preEnqueue": "PreEnqueuePlugin",
    "queueSort": "QueueSortPlugin",
    "placementGenerate": "PlacementGeneratePlugin",
    "placementScore": "PlacementScorePlugin",
}

#: Points of pod group scheduling, which is off by default upstream: accepted in files, but nothing runs there yet.
UNUSED_POINTS: Final[dict[str, frozenset[str]]] = {
    "placementGenerate": frozenset({"TopologyPlacementGenerator"}),
    "placementScore": frozenset({"NodeResourcesFit", "PodGroupPodsCount"}),
}

#: Preemption plugins that spare pods which DefaultPreemption would evict: they are to take its place.
SPARING_PREEMPTION: Final = ("CapacityScheduling", "PreemptionToleration")

#: Names that upstream knows to be gone.
REMOVED: Final = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})

#: Plugins whose Score cannot do without what their PreScore computed; upstream fails every pod there.
NEEDS_PRESCORE: Final = frozenset({"InterPodAffinity", "PodTopologySpread", "TaintToleration"})
#: Likewise for Filter and PreFilter.
NEEDS_PREFILTER: Final = frozenset(
    {
        "DynamicResources",
        "InterPodAffinity",
        "NodeDeclaredFeatures",
        "NodePorts",
        "NodeResourcesFit",
        "PodTopologySpread",
        "VolumeBinding",
        "VolumeRestrictions",
    }
)


def removal(name: str, api_version: str) -> str:
    """Upstream's words for a plugin that is gone."""
    detail = f'was invalid in version "{VERSION}" (KubeSchedulerConfiguration is version "{api_version}")'
    return invalid(name, detail)
