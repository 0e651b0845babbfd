"""What bayplan has in the place of scheduler-plugins' plugins, and of those that kube-scheduler had once.

Names and arguments: scheduler-plugins, apis/config/v1. Plugins that bayplan has under the same name are not here.
Read by ``profiles``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bayplan.kit.importing.draft import Draft, Verdict
from bayplan.kit.importing.shapes import mapping, number

Args = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Counterpart:
    """What stands for a plugin: one of ours, what bayplan does anyway, or nothing."""

    verdict: Verdict
    remark: str
    #: Our plugin, and at which of the points where theirs is enabled it goes (empty: none is enabled).
    name: str = ""
    points: tuple[str, ...] = ()
    #: Their arguments as ours; says what is lost on the way.
    arguments: Callable[[Args, Draft], dict[str, Any]] | None = None


def _metrics(args: Args, draft: Draft, plugin: str) -> None:
    """The provider that fills node.usage, from Trimaran's metricProvider."""
    provider = mapping(args.get("metricProvider"), f"{plugin}: metricProvider")
    kind = str(provider.get("type", "KubernetesMetricsServer"))
    if args.get("watcherAddress"):
        draft.say(
            Verdict.CHANGED,
            f"{plugin}: watcherAddress",
            "providers: metricsServer",
            "there is no load watcher: bayplan asks metrics-server or Prometheus itself",
        )
    elif kind == "Prometheus":
        draft.need(
            "prometheus",
            url=str(provider.get("address", "http://prometheus:9090")),
            queries={
                "cpu": "1 - avg by (node) (rate(node_cpu_seconds_total{mode='idle'}[5m]))",
                "memory": "1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes",
            },
        )
        draft.say(
            Verdict.CHANGED,
            f"{plugin}: metricProvider Prometheus",
            "providers: prometheus",
            "look at the queries: they suppose node-exporter with a label 'node'",
        )
        for lost in ("token", "insecureSkipVerify"):
            if lost in provider:
                draft.say(Verdict.NONE, f"{plugin}: metricProvider.{lost}")
        return
    elif kind != "KubernetesMetricsServer":
        draft.say(Verdict.NONE, f"{plugin}: metricProvider {kind}", "providers: metricsServer")
    draft.need("metricsServer")


def _lost(args: Args, draft: Draft, plugin: str, *names: str) -> None:
    for name in names:
        if name in args:
            draft.say(Verdict.NONE, f"{plugin}: {name}", "", "not used")


def _target_packing(args: Args, draft: Draft) -> dict[str, Any]:
    _metrics(args, draft, "TargetLoadPacking")
    _lost(args, draft, "TargetLoadPacking", "defaultRequests", "defaultRequestsMultiplier")
    target = number(args.get("targetUtilization"), "TargetLoadPacking: targetUtilization", 40) / 100
    return {"strategy": "targetPacking", "target": target, "missing": "skip"}


def _risk_balancing(args: Args, draft: Draft) -> dict[str, Any]:
    _metrics(args, draft, "LoadVariationRiskBalancing")
    _lost(args, draft, "LoadVariationRiskBalancing", "safeVarianceSensitivity")
    where = "LoadVariationRiskBalancing: safeVarianceMargin"
    margin = number(args.get("safeVarianceMargin"), where, 1)
    return {"strategy": "riskBalancing", "riskMargin": margin, "missing": "skip"}


def _over_commitment(args: Args, draft: Draft) -> dict[str, Any]:
    _metrics(args, draft, "LowRiskOverCommitment")
    _lost(args, draft, "LowRiskOverCommitment", "smoothingWindowSize", "riskLimitWeights")
    return {"strategy": "riskBalancing", "missing": "skip"}


def _numa(args: Args, draft: Draft) -> dict[str, Any]:
    draft.need("numaTopology")
    strategy = mapping(
        args.get("scoringStrategy"), "NodeResourceTopologyMatch: scoringStrategy"
    ).get("type")
    if strategy:
        draft.say(
            Verdict.CHANGED,
            f"NodeResourceTopologyMatch: scoringStrategy {strategy}",
            "NUMATopology",
            "scores 100 where one NUMA node holds the pod, else 0",
        )
    _lost(
        args,
        draft,
        "NodeResourceTopologyMatch",
        "cacheResyncPeriodSeconds",
        "discardReservedNodes",
        "cache",
        "preemptionMode",
    )
    return {}


def _latency(args: Args, draft: Draft) -> dict[str, Any]:
    _lost(args, draft, "NetworkOverhead", "namespaces", "weightsName", "networkTopologyName")
    return {}


def _energy(args: Args, draft: Draft) -> dict[str, Any]:
    where = "Peaks: nodePowerModel"
    idle = {}
    for node, model in mapping(args.get("nodePowerModel"), where).items():
        given = mapping(model, f"{where}.{node}")
        # Power = K0 + K1 * e^(K2 * x): idle is K0 + K1.
        idle[node] = sum(number(given.get(k), f"{where}.{node}.{k}", 0) for k in ("k0", "k1"))
    if not idle:
        return {}
    draft.say(
        Verdict.CHANGED,
        "Peaks: nodePowerModel",
        "powerClasses",
        "by the label kubernetes.io/hostname; power grows in a straight line from idle to full",
    )
    classes = {
        node: {"idleWatts": watts, "maxWatts": max(watts * 3, 1)} for node, watts in idle.items()
    }
    return {"powerClassLabel": "kubernetes.io/hostname", "powerClasses": classes}


def _none(remark: str) -> Counterpart:
    return Counterpart(Verdict.NONE, remark)


_OWN: Final = "write it: bayplan new-plugin, docs/guide"
#: kube-scheduler's own plugins of old.
_GONE: Final = "gone since Kubernetes 1.24 or before"

COUNTERPARTS: Final[Mapping[str, Counterpart]] = {
    "Coscheduling": Counterpart(
        Verdict.BUILT_IN,
        "pod groups of scheduling.x-k8s.io are placed as one wherever that API is served; "
        "the time limit is the group's own scheduleTimeoutSeconds",
    ),
    "TargetLoadPacking": Counterpart(
        Verdict.CHANGED, "", "LowCpuScheduler", ("score",), _target_packing
    ),
    "LoadVariationRiskBalancing": Counterpart(
        Verdict.CHANGED,
        "reads cpu_stddev and memory_stddev too, which Prometheus can supply",
        "LowCpuScheduler",
        ("score",),
        _risk_balancing,
    ),
    "LowRiskOverCommitment": Counterpart(
        Verdict.CHANGED,
        "the nearest: mean and spread of the measured load, not limits",
        "LowCpuScheduler",
        ("score",),
        _over_commitment,
    ),
    "NodeResourceTopologyMatch": Counterpart(
        Verdict.CHANGED,
        "the pod counts as a whole (kubelet's scope pod)",
        "NUMATopology",
        ("filter", "score"),
        _numa,
    ),
    "NetworkOverhead": Counterpart(
        Verdict.CHANGED,
        "by measured latency or a table of zones, not by AppGroup and NetworkTopology objects",
        "NetworkLatencyPlugin",
        ("filter", "score"),
        _latency,
    ),
    "Peaks": Counterpart(Verdict.CHANGED, "by requested CPU", "EnergyPlugin", ("score",), _energy),
    "NodeResourcesAllocatable": _none(f"ranks by the size of nodes; {_OWN} (five lines)"),
    "NodeMetadata": _none(f"ranks by a label or annotation; {_OWN} (five lines)"),
    "PodState": _none(f"prefers nodes with terminating pods; {_OWN} (node.pods)"),
    "QOSSort": _none(f"orders the queue; {_OWN} (QueueSortPlugin)"),
    "TopologicalSort": _none(f"orders the queue by AppGroup; {_OWN} (QueueSortPlugin)"),
    "CrossNodePreemption": _none("an upstream example that is not built by default"),
    "DiskIO": _none(f"reads NodeDiskIOStats; {_OWN} with a Prometheus provider"),
    "SySched": _none("compares system call profiles"),
    "ClusterTopologyPlacementGroup": _none("places groups by a topology tree (Sakkara)"),
    "NodeResourcesLeastAllocated": Counterpart(
        Verdict.CHANGED,
        _GONE,
        "NodeResourcesFit",
        ("score",),
        lambda args, _: {"scoringStrategy": {"type": "LeastAllocated", **_resources(args)}},
    ),
    "NodeResourcesMostAllocated": Counterpart(
        Verdict.CHANGED,
        _GONE,
        "NodeResourcesFit",
        ("score",),
        lambda args, _: {"scoringStrategy": {"type": "MostAllocated", **_resources(args)}},
    ),
    "SelectorSpread": Counterpart(
        Verdict.BUILT_IN, f"{_GONE}; PodTopologySpread's system defaults do it"
    ),
    **dict.fromkeys(("NodeLabel", "ServiceAffinity", "NodePreferAvoidPods"), _none(_GONE)),
    **dict.fromkeys(
        ("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"),
        Counterpart(Verdict.BUILT_IN, f"{_GONE}; NodeVolumeLimits counts for all drivers"),
    ),
}


def _resources(args: Args) -> dict[str, Any]:
    return {"resources": args["resources"]} if args.get("resources") else {}
