"""Every policy says the same per node and in columns, attempt after attempt, whatever is known of the nodes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.cycle.attempt import attempt
from bayplan.cycle.outcome import Failed, Placed, Unplaced
from bayplan.framework.plugin import FilterPlugin, Plugin, ScorePlugin
from bayplan.model.decode import decode_as
from bayplan.model.namespace import Namespace
from bayplan.plugins import default_registry
from bayplan.testing import NodeBuilder, make_cluster, make_desk, make_node, make_pod

ARGS: list[tuple[str, dict[str, Any]]] = [
    ("LowCpuScheduler", {}),
    ("LowCpuScheduler", {"missing": "neutral", "memoryThreshold": 0.6}),
    ("LowCpuScheduler", {"missing": "skip", "strategy": "targetPacking", "countRequests": True}),
    ("LowCpuScheduler", {"missing": "neutral", "strategy": "riskBalancing"}),
    ("GPUPriorityPlugin", {"gpuWeight": 70}),
    ("GPUFragmentation", {"updateEvery": 2}),
    (
        "GPUFragmentation",
        {
            "typicalPods": [
                {
                    "cpuMilli": 1500,
                    "gpuMilli": 1000,
                    "weight": 3,
                    "nodeLabels": {"tenant-tier": ["gold"]},
                },
                {"cpuMilli": 100, "gpuMilli": 400, "gpuCount": 2, "memoryBytes": 2**34},
            ]
        },
    ),
    ("NUMATopology", {"mostNumaNodes": 2}),
    ("NUMATopology", {"missing": "reject", "resources": ["cpu"]}),
    ("NUMATopology", {"missing": "skip", "policy": "best-effort"}),
    ("BusinessAffinityPlugin", {}),
    ("AppSpread", {"maxPerNode": 2, "label": "app"}),
    ("TenantIsolation", {"dedicated": ["red"]}),
    ("ComplianceZone", {"residencies": {"eu": ["r1", "r2"]}}),
    ("CostOptimizationPlugin", {"maxCostThreshold": 0.2, "preferSpotInstances": True}),
    (
        "CostOptimizationPlugin",
        {
            "instancePrices": {"small": 0.1, "cloud-b/small": 0.3, "large": 2},
            "providerLabel": "cloud",
        },
    ),
    ("NetworkLatencyPlugin", {}),
    ("NetworkLatencyPlugin", {"missing": "reject", "latencies": {"z1": {"z1": 1, "z2": 7.5}}}),
    ("LoadBalancingPlugin", {}),
    ("EnergyPlugin", {"powerClasses": {"small": {"idleWatts": 30, "maxWatts": 90}}}),
    ("EnergyPlugin", {"missing": "reject", "maxTemperature": 30}),
    ("BusinessScorePlugin", {"instancePrices": {"small": 9, "large": 40}}),
    ("CustomScorePlugin", {"weightFactor": 7, "enableGPUScheduling": True}),
    ("CustomFilterPlugin", {"labels": ["tenant"]}),
    ("AdaptiveSchedulingPlugin", {"updateEvery": 2}),
]

LABELS = {
    "zone": ["core", "edge", "z1"],
    "node-level": ["core", "edge"],
    "topology.kubernetes.io/zone": ["z1", "z2"],
    "topology.kubernetes.io/region": ["r1", "r3"],
    "security-level": ["1", "3", "high"],
    "tenant": ["red", "blue"],
    "tenant-tier": ["gold", "bronze"],
    "node.kubernetes.io/instance-type": ["small", "large", "other"],
    "cloud": ["cloud-a", "cloud-b"],
    "spot-instance": ["true"],
    "bayplan.io/cpu-performance": ["7", "90", "fast"],
    "bayplan.io/reliability": ["33", "100"],
}
POD_LABELS = {
    "business-type": ["database"],
    "business-level": ["core", "edge"],
    "preferred-zone": ["z1", "edge"],
    "app": ["a", "b"],
    "tenant": ["red", "blue"],
    "tenant-tier": ["gold", "silver"],
    "data-residency": ["eu", "r3"],
    "security-level": ["1", "2", "x"],
    "bayplan.io/latency-from": ["z1"],
}
METRICS = [
    "cpu",
    "memory",
    "cpu_stddev",
    "temperature",
    "price",
    "latency",
    "latency.z1",
    "numa.0.cpu",
    "numa.1.cpu",
    "numa.1.memory",
]


def some_of(values: dict[str, list[str]]) -> Any:
    return st.fixed_dictionaries({}, optional={k: st.sampled_from(v) for k, v in values.items()})


NODES = st.tuples(
    some_of(LABELS),
    st.dictionaries(
        st.sampled_from(METRICS),
        st.sampled_from([0, 0.2, 0.55, 0.9, 6, 33, 77, 900, 2**31]),
        max_size=6,
    ),
    st.integers(0, 2),
)
PODS = st.tuples(some_of(POD_LABELS), st.integers(0, 1500), st.integers(0, 1))


def a_node(i: int, drawn: Any) -> NodeBuilder:
    labels, usage, gpus = drawn
    node = make_node(f"n{i}").labels(labels).usage(**usage)
    return node.capacity({"nvidia.com/gpu": str(gpus)}) if gpus else node


def a_namespace(tenant: str) -> Namespace:
    labels = {"tenant": tenant} if tenant else {}
    return decode_as(Namespace, {"metadata": {"name": "default", "labels": labels}})


def per_node(plugin: type[Plugin]) -> type[Plugin]:
    """The plugin without its column forms."""
    forms: dict[str, Any] = {"name": plugin.name}
    if issubclass(plugin, FilterPlugin):
        forms["filter"] = FilterPlugin.filter
    if issubclass(plugin, ScorePlugin):
        forms["score"] = ScorePlugin.score
    return type(plugin.__name__, (plugin,), forms)


@pytest.mark.parametrize(("name", "args"), ARGS, ids=[f"{i}-{n}" for i, (n, _) in enumerate(ARGS)])
@settings(max_examples=25)
@given(nodes=st.lists(NODES, min_size=1, max_size=12), pods=st.lists(PODS, max_size=5))
def test_both_forms_say_the_same(
    name: str, args: dict[str, Any], nodes: list[Any], pods: list[Any]
) -> None:
    plugin = default_registry().get(name)
    assert plugin is not None
    cluster = make_cluster(
        a_namespace("blue" if len(nodes) % 2 else ""),
        *(a_node(i, drawn) for i, drawn in enumerate(nodes)),
    )
    desks = [make_desk(cluster, form, args={name: args}) for form in (plugin, per_node(plugin))]
    for number, (labels, cpu, gpus) in enumerate(pods):
        pod = make_pod(f"p{number}").labels(labels).requests(cpu=f"{cpu}m", memory="1Gi")
        if number % 2:  # Guaranteed
            requests = pod.manifest["spec"]["containers"][0]["resources"]["requests"]
            pod.manifest["spec"]["containers"][0]["resources"]["limits"] = dict(requests)
        if gpus:
            pod.requests({"nvidia.com/gpu": "1"})
        else:
            pod.annotation("alibabacloud.com/gpu-milli", str(cpu % 1001))
        one, other = (attempt(cluster.info(pod.build()), desk) for desk in desks)
        assert type(one) is type(other)
        if isinstance(one, Failed) and isinstance(other, Failed):
            assert "no data for" in str(one.error)
            assert "no data for" in str(other.error)
            continue
        assert isinstance(one, Placed | Unplaced)
        assert isinstance(other, Placed | Unplaced)
        assert one.decision.picture().lines() == other.decision.picture().lines()
        assert one.decision.node == other.decision.node
        if one.decision.node:
            cluster.assume(one.pod, one.decision.node)
