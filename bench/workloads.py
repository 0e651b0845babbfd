"""The engine benchmark's workloads: a cluster, the pods to place, and how.

Sizes follow kube-scheduler's own performance suite (node: 4 CPU, 32 GiB, 110 pods; pod: 100m, 500Mi).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from bayplan.cluster.cluster import Cluster
from bayplan.framework.plugin import Plugin
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.plugins import default_registry
from bayplan.testing import PodBuilder, make_node, make_pod

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


@dataclass(frozen=True)
class Workload:
    """What a row of the benchmark runs."""

    nodes: int
    pods: int
    #: The i-th pod to place; alike pods come from one template.
    pod: Callable[[int], PodBuilder]
    zones: int = 3
    #: Pods that run already, by the same template unless ``before_pod`` is given; node i mod n.
    before: int = 0
    before_pod: Callable[[int], PodBuilder] | None = None
    classes: int = 1
    plugins: tuple[type[Plugin], ...] = ()
    usage: bool = False
    preempts: bool = False
    checked: bool = field(default=False)


def basic(i: int) -> PodBuilder:
    """100m CPU and 500Mi."""
    return make_pod(f"p-{i}").requests(cpu="100m", memory="500Mi")


def distinct(i: int) -> PodBuilder:
    """Every pod another shape."""
    return make_pod(f"p-{i}").requests(cpu=f"{100 + i % 701}m", memory=f"{200 + i}Mi")


def _green(i: int) -> PodBuilder:
    return basic(i).label("color", "green").affinity({"color": "green"}, HOST, anti=True)


def _blue(i: int) -> PodBuilder:
    return basic(i).label("color", "blue").affinity({"color": "blue"}, ZONE)


def _spread(i: int) -> PodBuilder:
    return basic(i).label("color", "blue").spread(5, ZONE, {"color": "blue"})


def _low(i: int) -> PodBuilder:
    return make_pod(f"low-{i}").requests(cpu="900m", memory="500Mi").started("2026-01-01T00:00:00Z")


def _high(i: int) -> PodBuilder:
    return make_pod(f"high-{i}").requests(cpu="3000m", memory="500Mi").priority(10)


def _low_cpu() -> type[Plugin]:
    path = Path(__file__).parents[1] / "examples" / "plugins" / "low_cpu.py"
    spec = importlib.util.spec_from_file_location("low_cpu", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    plugin: type[Plugin] = module.LowCpuScheduler
    return plugin


def _of_a_tenant(i: int) -> PodBuilder:
    return basic(i).labels({"tenant": "red", "AppID": "shop", "preferred-zone": "zone-1"})


def _policies() -> tuple[type[Plugin], ...]:
    names = "LowCpuScheduler CostOptimizationPlugin TenantIsolation AppSpread LoadBalancingPlugin"
    found = [default_registry().get(name) for name in names.split()]
    return tuple(plugin for plugin in found if plugin is not None)


def workloads() -> dict[str, Workload]:
    """All rows that place pods, by name."""
    return {
        "basic": Workload(5000, 20000, basic, before=1000),
        "spread": Workload(5000, 5000, _spread, before=5000, before_pod=basic),
        "affinity": Workload(5000, 5000, _blue, zones=1, before=5000),
        "antiaffinity": Workload(5000, 2000, _green, before=1000),
        "distinct": Workload(5000, 5000, distinct, classes=5000, before=1000),
        "preemption": Workload(1000, 500, _high, before=4000, before_pod=_low, preempts=True),
        "user-plugin": Workload(5000, 10000, basic, plugins=(_low_cpu(),), usage=True),
        "policies": Workload(5000, 10000, _of_a_tenant, plugins=_policies(), usage=True),
        "basic-100k": Workload(100_000, 20000, basic, checked=True),
        "memory-100k": Workload(100_000, 1000, basic, before=1_000_000),
    }


def nodes(count: int, zones: int) -> Iterator[Node]:
    """Alike nodes, zones in turn."""
    template = make_node("n").build()
    for i in range(count):
        name = f"node-{i}"
        labels = {HOST: name, ZONE: f"zone-{i % zones}"}
        meta = msgspec.structs.replace(template.metadata, name=name, labels=labels)
        yield msgspec.structs.replace(template, metadata=meta)


def pods(count: int, builder: Callable[[int], PodBuilder], *, classes: int = 1) -> Iterator[Pod]:
    """Decoded pods; alike ones share their spec, as pods of one Deployment do."""
    template = builder(0).build()
    prefix = template.metadata.name.rpartition("-")[0]
    for i in range(count):
        if classes > 1:
            template = builder(i).build()
        name = f"{prefix}-{i}"
        meta = msgspec.structs.replace(template.metadata, name=name, uid=f"uid-{name}")
        yield msgspec.structs.replace(template, metadata=meta)


def cluster_of(workload: Workload) -> Cluster:
    """The cluster before the first pod of the row."""
    cluster = Cluster()
    for node in nodes(workload.nodes, workload.zones):
        cluster.put(node)
    if workload.usage:
        for i in range(workload.nodes):
            cluster.set_data(f"node-{i}", "cpu", (i % 100) / 100)
    builder = workload.before_pod or workload.pod
    for i, pod in enumerate(pods(workload.before, builder)):
        info = cluster.info(pod)
        info.name = f"before-{i}"
        info.uid = f"uid-before-{i}"
        info.node_name = f"node-{i % workload.nodes}"
        cluster.put_pod(info)
    return cluster
