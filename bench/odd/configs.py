"""Configurations: strategies, shapes, weights, arguments, plugins left out, a second profile."""

from __future__ import annotations

from collections.abc import Sequence

from bench.odd.luck import Luck, Thing
from bench.odd.selectors import HOST, REGION, ZONE, node_term, preferred_nodes

_SCORERS = ("TaintToleration", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity",
            "NodeResourcesBalancedAllocation", "ImageLocality", "VolumeBinding")  # fmt: skip
_FILTERS = ("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeRestrictions",
            "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity")  # fmt: skip
#: Those that can do without their PreScore.
_SCORE_ALONE = ("NodeAffinity", "NodeResourcesFit", "NodeResourcesBalancedAllocation")
_RESOURCES = (
    "cpu",
    "memory",
    "ephemeral-storage",
    "nvidia.com/gpu",
    "example.com/foo",
    "hugepages-2Mi",
    "absent.example.com/x",
)


VOLUME_PLUGINS = ("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone")


def without(luck: Luck, names: Sequence[str]) -> Thing:
    """A configuration that does without some plugins, everywhere or as filters."""
    point = luck.one(("multiPoint", "filter"))
    disabled = [{"name": name} for name in luck.some(names, 2, 1)]
    return _versioned([{"plugins": {point: {"disabled": disabled}}}])


def _versioned(profiles: list[Thing]) -> Thing:
    api = "kubescheduler.config.k8s.io/v1"
    return {"apiVersion": api, "kind": "KubeSchedulerConfiguration", "profiles": profiles}


def config(luck: Luck, names: list[str]) -> Thing:
    """A KubeSchedulerConfiguration."""
    profile: Thing = {"schedulerName": "default-scheduler"}
    luck.maybe(profile, "pluginConfig", 0.85, lambda: _arguments(luck, names))
    luck.maybe(profile, "plugins", 0.5, lambda: _plugins(luck))
    profiles = [profile]
    if luck.chance(0.1):
        profiles.append(
            {"schedulerName": "second", "plugins": {"score": {"disabled": [{"name": "*"}]}}}
        )
    made = _versioned(profiles)
    luck.maybe(made, "percentageOfNodesToScore", 0.1, lambda: luck.one((0, 1, 50, 100)))
    return made


def _arguments(luck: Luck, names: list[str]) -> list[Thing]:
    made = []
    for name, make in (
        ("NodeResourcesFit", lambda: _fit(luck)),
        ("NodeResourcesBalancedAllocation", lambda: _balanced(luck)),
        ("NodeAffinity", lambda: _added(luck, names)),
        ("InterPodAffinity", lambda: _inter_pod(luck)),
        ("PodTopologySpread", lambda: _spread(luck)),
        (
            "DefaultPreemption",
            lambda: {
                "minCandidateNodesPercentage": luck.one((0, 10, 100)),
                "minCandidateNodesAbsolute": luck.one((100, 1000)),
            },
        ),
    ):
        if luck.chance(0.4):
            meta = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": f"{name}Args"}
            made.append({"name": name, "args": meta | make()})
    return made


def _fit(luck: Luck) -> Thing:
    args: Thing = {}
    luck.maybe(
        args,
        "ignoredResources",
        0.3,
        lambda: luck.some(("example.com/foo", "nvidia.com/gpu", "amd.com/gpu"), 2, 1),
    )
    luck.maybe(
        args,
        "ignoredResourceGroups",
        0.3,
        lambda: luck.some(("example.com", "nvidia.com", "requests.example.com"), 2, 1),
    )
    if luck.chance(0.85):
        strategy: Thing = {
            "type": luck.one(
                (
                    "LeastAllocated",
                    "MostAllocated",
                    "RequestedToCapacityRatio",
                    "RequestedToCapacityRatio",
                )
            )
        }
        luck.maybe(strategy, "resources", 0.8, lambda: _resources(luck, (1, 1, 2, 5, 100)))
        if strategy["type"] == "RequestedToCapacityRatio":
            strategy["requestedToCapacityRatio"] = {"shape": _shape(luck)}
        args["scoringStrategy"] = strategy
    return args


def _resources(luck: Luck, weights: tuple[int, ...]) -> list[Thing]:
    return [{"name": name, "weight": luck.one(weights)} for name in luck.some(_RESOURCES, 4, 1)]


def _shape(luck: Luck) -> list[Thing]:
    points = sorted(luck.some(range(101), 5, 1))
    if luck.chance(0.3):
        points = sorted({0, *points, 100})
    return [{"utilization": point, "score": luck.randint(0, 10)} for point in points]


def _balanced(luck: Luck) -> Thing:
    return {"resources": _resources(luck, (1,))}


def _added(luck: Luck, names: list[str]) -> Thing:
    added: Thing = {}
    luck.maybe(
        added,
        "requiredDuringSchedulingIgnoredDuringExecution",
        0.6,
        lambda: {"nodeSelectorTerms": luck.times(lambda: node_term(luck, names, 0.05), 3, 1)},
    )
    luck.maybe(
        added,
        "preferredDuringSchedulingIgnoredDuringExecution",
        0.6,
        lambda: preferred_nodes(luck, names, 0.05),
    )
    return {"addedAffinity": added} if luck.chance(0.95) else {}


def _inter_pod(luck: Luck) -> Thing:
    args: Thing = {}
    luck.maybe(args, "hardPodAffinityWeight", 0.8, lambda: luck.one((0, 1, 10, 100)))
    luck.maybe(args, "ignorePreferredTermsOfExistingPods", 0.5, lambda: luck.chance(0.7))
    return args


def _spread(luck: Luck) -> Thing:
    if luck.chance(0.15):
        return {"defaultingType": "System"}
    seen = {}
    for _ in range(luck.randint(0, 3)):
        key, how = (
            luck.one((ZONE, HOST, REGION, "rack")),
            luck.one(("DoNotSchedule", "ScheduleAnyway")),
        )
        seen[key, how] = {
            "maxSkew": luck.one((1, 2, 3)),
            "topologyKey": key,
            "whenUnsatisfiable": how,
        }
    return {"defaultingType": "List", "defaultConstraints": list(seen.values())}


def _plugins(luck: Luck) -> Thing:
    made: Thing = {}
    if luck.chance(0.6):
        score: Thing = {}
        luck.maybe(
            score,
            "disabled",
            0.6,
            lambda: (
                [{"name": name} for name in luck.some(_SCORERS, 3)]
                if luck.chance(0.7)
                else [{"name": "*"}]
            ),
        )
        luck.maybe(
            score,
            "enabled",
            0.7,
            lambda: [
                {"name": name, "weight": luck.one((0, 1, 2, 7, 100))}
                for name in luck.some(_SCORERS, 4, 1)
            ],
        )
        made["score"] = score
    if luck.chance(0.4):
        made["filter"] = {"disabled": [{"name": name} for name in luck.some(_FILTERS, 3, 1)]}
        if luck.chance(0.2):  # others first, so that others give the reason
            order = luck.some(_FILTERS, 3, 2)
            made["filter"] = {
                "disabled": [{"name": "*"}],
                "enabled": [{"name": name} for name in order],
            }
    if luck.chance(0.2):
        made["multiPoint"] = luck.one(
            (
                {"disabled": [{"name": luck.one(_SCORERS)}]},
                {"enabled": [{"name": luck.one(_SCORERS), "weight": 5}]},
                {"enabled": [{"name": "ImageLocality", "weight": 9}, {"name": "NodeName"}]},
            )
        )
    luck.maybe(
        made,
        "postFilter",
        0.1,
        lambda: {"disabled": [{"name": luck.one(("DefaultPreemption", "*"))}]},
    )
    luck.maybe(
        made,
        "preFilter",
        0.05,
        lambda: {"disabled": [{"name": luck.one(("NodeAffinity", "NodeUnschedulable"))}]},
    )
    luck.maybe(made, "preScore", 0.1, lambda: {"disabled": [{"name": luck.one(_SCORE_ALONE)}]})
    return made
