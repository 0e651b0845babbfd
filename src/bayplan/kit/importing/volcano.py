"""A volcano-scheduler.conf (actions, tiers of plugins, metrics) as ours.

Volcano decides in sessions, action by action; bayplan decides pod by pod, and gang by gang, as events come. So actions
have no counterpart as such: what they bring about mostly happens anyway. Names and defaults: Volcano, pkg/scheduler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from bayplan.kit.importing.draft import Draft, Verdict
from bayplan.kit.importing.shapes import mapping, sequence, whole
from bayplan.kit.importing.volcano_parts import (
    ACTIONS,
    NODE_ORDER,
    PLAIN,
    PREDICATES,
    QUEUE_LABEL,
    USUAL_ACTIONS,
)

SCHEDULER_NAME: Final = "volcano"
#: Ours, for queues.
QUOTAS: Final = "CapacityScheduling"


def is_volcano(content: Any) -> bool:
    """Whether a document is Volcano's."""
    return (
        isinstance(content, Mapping)
        and "kind" not in content
        and ("tiers" in content or "actions" in content)
    )


def import_volcano(content: Mapping[str, Any], draft: Draft) -> None:
    """Turn the document over into ``draft``."""
    importer = _Importer(draft)
    actions = str(content.get("actions") or USUAL_ACTIONS).replace(",", " ").split()
    if not any("preempt" in action or "reclaim" in action for action in actions):
        importer.never_preempts()
    for action in actions:
        verdict, remark = ACTIONS.get(action, (Verdict.NONE, "an action that is not known"))
        draft.say(verdict, f"action {action}", "", remark)
    for number, tier in enumerate(sequence(content.get("tiers"), "tiers"), start=1):
        where = f"tier {number}: plugins"
        for plugin in sequence(mapping(tier, where).get("plugins"), where):
            importer.plugin(number, mapping(plugin, where))
    if content.get("metrics"):
        importer.metrics(mapping(content["metrics"], "metrics"))
    if content.get("configurations"):
        draft.say(Verdict.NONE, "configurations", "", "settings of actions")
    draft.scheduler["profiles"] = [importer.profile()]
    draft.say(
        Verdict.CHANGED,
        "pods with schedulerName volcano",
        f"profile {SCHEDULER_NAME}",
        "Volcano's scheduler must be gone, or pods be given another schedulerName",
    )


class _Importer:
    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._scores: dict[str, int] = {}
        self._filters: list[str] = []
        self._filters_off: list[str] = []
        self._args: dict[str, dict[str, Any]] = {}
        self._orders_nodes = False
        self._preempts = True
        self._has_quotas = False
        self._is_fair = False

    def plugin(self, tier: int, plugin: Mapping[str, Any]) -> None:
        """One plugin of a tier."""
        name = str(plugin.get("name", ""))
        theirs = f"tier {tier}: {name}"
        arguments = mapping(plugin.get("arguments"), f"{theirs}: arguments")
        work: dict[str, Callable[[str, Mapping[str, Any]], None]] = {
            "predicates": self._predicates,
            "nodeorder": self._node_order,
            "binpack": self._binpack,
            "usage": self._usage,
            "numaaware": self._numa,
            "drf": self._fairness,
            "proportion": self._quotas,
            "capacity": self._quotas,
            "deviceshare": self._devices,
            "extender": self._extender,
        }
        if name in work:
            work[name](theirs, arguments)
        elif name in PLAIN:
            verdict, remark = PLAIN[name]
            self._draft.say(verdict, theirs, "", remark)
        else:
            self._draft.say(
                Verdict.NONE, theirs, "", f"write it in Python: bayplan new-plugin {name or 'NAME'}"
            )
        for switch in sorted(key for key in plugin if key.startswith("enable")):
            self._draft.say(
                Verdict.NONE,
                f"{theirs}: {switch}",
                "",
                "a plugin is enabled or not, at each point of its own",
            )

    def never_preempts(self) -> None:
        """No action makes room for pods that fit nowhere."""
        self._preempts = False
        self._draft.say(
            Verdict.KEPT, "no action preempt or reclaim", "DefaultPreemption off at postFilter"
        )

    def profile(self) -> dict[str, Any]:
        """What all the plugins come to."""
        plugins: dict[str, Any] = {}
        score: dict[str, list[dict[str, Any]]] = {"enabled": [], "disabled": []}
        scored = (
            self._scores
            if self._orders_nodes
            else {
                **dict.fromkeys((ours for ours, _ in NODE_ORDER.values()), 0),
                **self._scores,
            }
        )
        for name, weight in scored.items():
            if name in {ours for ours, _ in NODE_ORDER.values()}:
                score["disabled"].append({"name": name})
            if weight:
                score["enabled"].append({"name": name, "weight": weight})
        if any(score.values()):
            plugins["score"] = {key: value for key, value in score.items() if value}
        filters: dict[str, list[dict[str, Any]]] = {}
        if self._filters:
            filters["enabled"] = [{"name": name} for name in self._filters]
        if self._filters_off:
            filters["disabled"] = [{"name": name} for name in self._filters_off]
        if filters:
            plugins["filter"] = filters
        if self._is_fair:
            plugins["queueSort"] = {
                "enabled": [{"name": "FairQueues"}],
                "disabled": [{"name": "PrioritySort"}],
            }
        if self._has_quotas:
            plugins["preFilter"] = {"enabled": [{"name": QUOTAS}]}
        if self._has_quotas and self._preempts:
            # In the other's place: that evicts by priority alone.
            plugins["postFilter"] = {
                "enabled": [{"name": QUOTAS}],
                "disabled": [{"name": "DefaultPreemption"}],
            }
        elif not self._preempts:
            plugins["postFilter"] = {"disabled": [{"name": "DefaultPreemption"}]}
        configured = [{"name": name, "args": args} for name, args in self._args.items()]
        return {
            "schedulerName": SCHEDULER_NAME,
            **({"plugins": plugins} if plugins else {}),
            **({"pluginConfig": configured} if configured else {}),
        }

    def metrics(self, metrics: Mapping[str, Any]) -> None:
        """Where measured usage comes from."""
        kind = str(metrics.get("type", "prometheus"))
        if kind.startswith("prometheus"):
            self._draft.need(
                "prometheus",
                url=str(metrics.get("address", "http://prometheus:9090")),
                queries={
                    "cpu": "1 - avg by (node) (rate(node_cpu_seconds_total{mode='idle'}[5m]))",
                    "memory": "1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes",
                },
            )
            remark = "look at the queries: they suppose node-exporter with a label 'node'"
            self._draft.say(Verdict.CHANGED, f"metrics: {kind}", "providers: prometheus", remark)
        else:
            self._draft.need("metricsServer")
            self._draft.say(Verdict.NONE, f"metrics: {kind}", "providers: metricsServer")

    def _predicates(self, theirs: str, arguments: Mapping[str, Any]) -> None:
        self._draft.say(Verdict.BUILT_IN, theirs, "the default filters")
        for switch, value in arguments.items():
            ours = PREDICATES.get(switch)
            if ours is None:
                if "GPUSharing" in switch and _is_true(value):
                    self._devices(f"{theirs}: {switch}", {})
                else:
                    self._draft.say(Verdict.NONE, f"{theirs}: {switch}")
            elif not _is_true(value):
                self._filters_off.append(ours)
                self._draft.say(Verdict.KEPT, f"{theirs}: {switch}: false", f"{ours} off at filter")

    def _node_order(self, theirs: str, arguments: Mapping[str, Any]) -> None:
        self._orders_nodes = True
        self._draft.say(Verdict.KEPT, theirs, "the default scores, with these weights")
        for key, (ours, default) in NODE_ORDER.items():
            weight = whole(arguments.get(key), f"{theirs}: {key}", default)
            if ours != "NodeResourcesFit" or "MostAllocated" not in str(self._args):
                self._scores[ours] = weight
        most = whole(arguments.get("mostrequested.weight"), f"{theirs}: mostrequested.weight", 0)
        if most > self._scores["NodeResourcesFit"]:
            self._pack(most, [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}])
        elif most:
            self._draft.say(
                Verdict.NONE,
                f"{theirs}: mostrequested.weight",
                "",
                "beside leastrequested it cancels out",
            )

    def _binpack(self, theirs: str, arguments: Mapping[str, Any]) -> None:
        names = str(arguments.get("binpack.resources", "")).replace(",", " ").split()
        weights = {
            "cpu": whole(arguments.get("binpack.cpu"), f"{theirs}: binpack.cpu", 1),
            "memory": whole(arguments.get("binpack.memory"), f"{theirs}: binpack.memory", 1),
            **{
                name: whole(
                    arguments.get(f"binpack.resources.{name}"),
                    f"{theirs}: binpack.resources.{name}",
                    1,
                )
                for name in names
            },
        }
        resources = [
            {"name": name, "weight": weight} for name, weight in weights.items() if weight > 0
        ]
        self._pack(
            whole(arguments.get("binpack.weight"), f"{theirs}: binpack.weight", 1), resources
        )
        self._draft.say(
            Verdict.CHANGED,
            theirs,
            "NodeResourcesFit, MostAllocated",
            "in the place of LeastAllocated, not beside it",
        )

    def _pack(self, weight: int, resources: list[dict[str, Any]]) -> None:
        self._scores["NodeResourcesFit"] = weight
        self._args["NodeResourcesFit"] = {
            "scoringStrategy": {"type": "MostAllocated", "resources": resources}
        }

    def _usage(self, theirs: str, arguments: Mapping[str, Any]) -> None:
        thresholds = mapping(arguments.get("thresholds"), f"{theirs}: thresholds")
        self._scores["LowCpuScheduler"] = whole(
            arguments.get("usage.weight"), f"{theirs}: usage.weight", 5
        )
        self._filters.append("LowCpuScheduler")
        self._args["LowCpuScheduler"] = {
            "threshold": whole(thresholds.get("cpu"), f"{theirs}: cpu", 80) / 100,
            "memoryThreshold": whole(thresholds.get("mem"), f"{theirs}: mem", 80) / 100,
            "missing": "skip",
        }
        self._draft.say(
            Verdict.CHANGED, theirs, "LowCpuScheduler", "cpu.weight and memory.weight count alike"
        )

    def _quotas(self, theirs: str, arguments: Mapping[str, Any]) -> None:
        if not self._has_quotas:
            self._filters.append(QUOTAS)
        self._has_quotas = True
        self._draft.say(
            Verdict.CHANGED,
            theirs,
            QUOTAS,
            "a queue becomes an ElasticQuota of its namespace: its share is min, its capability max",
        )

    def _fairness(self, theirs: str, arguments: Mapping[str, Any]) -> None:
        self._is_fair = True
        self._args["FairQueues"] = {"label": QUEUE_LABEL}
        self._draft.say(
            Verdict.CHANGED,
            theirs,
            "FairQueues",
            "by dominant share and weight, pod by pod; write the Queue objects and their weights under queues",
        )

    def _numa(self, theirs: str, arguments: Mapping[str, Any]) -> None:
        self._scores["NUMATopology"] = whole(arguments.get("weight"), f"{theirs}: weight", 1)
        self._filters.append("NUMATopology")
        self._draft.need("numaTopology")
        self._draft.say(
            Verdict.CHANGED,
            theirs,
            "NUMATopology",
            "reads NodeResourceTopology objects, not Numatopologies",
        )

    def _devices(self, theirs: str, arguments: Mapping[str, Any]) -> None:
        self._scores["GPUFragmentation"] = (
            whole(
                arguments.get("deviceshare.ScheduleWeight"),
                f"{theirs}: deviceshare.ScheduleWeight",
                1,
            )
            or 1
        )
        self._filters.append("GPUFragmentation")
        self._draft.say(
            Verdict.CHANGED,
            theirs,
            "GPUFragmentation",
            "pods ask by alibabacloud.com/gpu-milli, not volcano.sh/gpu-memory",
        )

    def _extender(self, theirs: str, arguments: Mapping[str, Any]) -> None:
        self._draft.say(
            Verdict.NONE,
            theirs,
            "",
            "its protocol is Volcano's own; kube-scheduler's extenders: extenders:",
        )


def _is_true(value: Any) -> bool:
    return str(value).lower() == "true"
