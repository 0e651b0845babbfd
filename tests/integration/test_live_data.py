"""A whole run in which pods are placed by what providers say of the nodes."""

from __future__ import annotations

from pathlib import Path

from bayplan.embedded.agents.pods import Pace
from bayplan.embedded.cluster import living_parts
from bayplan.embedded.metrics.serving import serve_metrics
from bayplan.embedded.metrics.usage import USES, Usage
from bayplan.testing import PodBuilder, make_node
from tests.integration.rig import Obj, Rig, make_pod, on_rig


def config(*names: str) -> Obj:
    """The default plugins and these."""
    enabled = [{"name": name} for name in names]
    return {"profiles": [{"plugins": {"multiPoint": {"enabled": enabled}}}]}


def topology(node: str, cpus: list[int]) -> Obj:
    """What a node agent reports: so many CPUs left on each NUMA node."""
    zones = [
        {
            "name": f"node-{number}",
            "type": "Node",
            "resources": [
                {"name": "cpu", "capacity": "8", "allocatable": "8", "available": str(left)},
                {"name": "memory", "capacity": "32Gi", "allocatable": "32Gi", "available": "30Gi"},
            ],
        }
        for number, left in enumerate(cpus)
    ]
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": node},
        "zones": zones,
    }


TOPOLOGIES: Obj = {
    "metadata": {"name": "noderesourcetopologies.topology.node.k8s.io"},
    "spec": {
        "group": "topology.node.k8s.io",
        "scope": "Cluster",
        "names": {"plural": "noderesourcetopologies", "kind": "NodeResourceTopology"},
        "versions": [
            {
                "name": "v1alpha2",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


def test_pods_wait_for_data_and_follow_them(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("node,price\na,1\nb,1\n")
    provider = {"name": "t", "type": "csv", "file": "table.csv", "interval": "10s"}
    given = config("LowCpuScheduler", "CostOptimizationPlugin") | {"own": {"providers": [provider]}}

    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"), make_node("b"), make_pod("web").requests(cpu="1"))
        async with rig.scheduler(config=given):
            await rig.until(lambda: rig.condition("web"))
            assert "2 no data for 'cpu'" in rig.condition("web")["message"]
            table.write_text("node,price,cpu\na,1,0.9\nb,1,0.2\n")
            await rig.until_bound("web")
            assert rig.node_of("web") == "b"
            table.write_text("node,price,cpu\na,1,0.1\nb,1,0.95\n")
            await rig.pass_s(11)
            rig.add(make_pod("next").requests(cpu="1"))
            await rig.until_bound("next")
            assert rig.node_of("next") == "a"

    on_rig(scenario, tmp_path)


def test_pods_follow_what_the_embedded_cluster_measures(tmp_path: Path) -> None:
    provider = {"name": "measured", "type": "metricsServer", "interval": "10s"}
    given = config("LowCpuScheduler") | {"own": {"providers": [provider]}}

    async def scenario(rig: Rig) -> None:
        store = rig.api.store
        serve_metrics(store, Usage())
        living = living_parts(store, Pace())
        for part in living:
            part.start()
        rig.add(make_node("a").capacity(cpu="4"), make_node("b").capacity(cpu="4"))
        rig.add(make_pod("busy").annotation(USES, "cpu=3900m"))
        rig.add(make_pod("calm").annotation(USES, "cpu=1"))
        rig.bind("busy", "a")
        rig.bind("calm", "b")
        await rig.pass_s(20)
        async with rig.scheduler(config=given):
            rig.add(*(make_pod(f"web-{n}").requests(cpu="100m") for n in range(3)))
            await rig.until_bound("web-0", "web-1", "web-2")
            assert {rig.node_of(f"web-{n}") for n in range(3)} == {"b"}
            # All are busy now: the next one waits, and the first measurement that says otherwise brings it in.
            notes = {USES: "cpu=3900m"}
            rig.change("pods", "calm", lambda pod: pod["metadata"]["annotations"].update(notes))
            await rig.pass_s(30)
            rig.add(make_pod("late"))
            await rig.until(lambda: rig.condition("late"))
            assert "2 cpu usage too high" in rig.condition("late")["message"]
            rig.delete("pods", "busy")
            await rig.until_bound("late", within_s=30)
            assert rig.node_of("late") == "a"
        for part in reversed(living):
            part.stop()

    on_rig(scenario, tmp_path)


def test_a_burst_of_pods_does_not_share_cpus_that_only_one_of_them_can_have(tmp_path: Path) -> None:
    provider = {"name": "numa", "type": "numaTopology", "interval": "10s"}
    given = config("NUMATopology") | {"own": {"providers": [provider]}}
    given["profiles"][0]["pluginConfig"] = [{"name": "NUMATopology", "args": {"missing": "reject"}}]

    def exclusive(name: str) -> PodBuilder:
        pod = make_pod(name).requests(cpu="3", memory="1Gi")
        resources = pod.manifest["spec"]["containers"][0]["resources"]
        resources["limits"] = dict(resources["requests"])
        return pod

    async def scenario(rig: Rig) -> None:
        store = rig.api.store
        store.create("customresourcedefinitions.apiextensions.k8s.io", TOPOLOGIES)
        rig.add(make_node("a").capacity(cpu="16", memory="64Gi"))
        report = topology("a", [4, 4])
        store.create("noderesourcetopologies.topology.node.k8s.io", report)
        async with rig.scheduler(config=given):
            await rig.pass_s(1)
            rig.add(*(exclusive(f"p{number}") for number in range(2)))
            await rig.until(lambda: any(rig.node_of(f"p{n}") for n in range(2)))
            # Both NUMA nodes could hold one, but which of them the first pod gets is not reported yet.
            (waits,) = [f"p{n}" for n in range(2) if not rig.node_of(f"p{n}")]
            await rig.until(lambda: rig.condition(waits))
            assert "cannot align the pod to one NUMA node" in rig.condition(waits)["message"]
            store.mutate(
                "noderesourcetopologies.topology.node.k8s.io",
                "a",
                lambda obj: obj.update(zones=topology("a", [1, 4])["zones"]),
            )
            await rig.until_bound(waits, within_s=60)

    on_rig(scenario, tmp_path)


def test_a_binding_says_which_shared_gpus_a_pod_has_got(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a").capacity({"nvidia.com/gpu": "2"}))
        for name in ("one", "two", "three"):
            rig.add(make_pod(name).annotation("alibabacloud.com/gpu-milli", "600"))
        async with rig.scheduler(config=config("GPUFragmentation")):
            await rig.until(lambda: sum(bool(rig.node_of(n)) for n in ("one", "two", "three")) == 2)
            bound = [n for n in ("one", "two", "three") if rig.node_of(n)]
            notes = [rig.pod(n)["metadata"]["annotations"] for n in bound]
            assert sorted(note["alibabacloud.com/gpu-index"] for note in notes) == ["0", "1"]
            (left,) = {"one", "two", "three"} - set(bound)
            await rig.until(lambda: rig.condition(left))
            assert "Insufficient GPU devices" in rig.condition(left)["message"]
            rig.delete("pods", bound[0])
            await rig.until_bound(left)
            assert (
                rig.pod(left)["metadata"]["annotations"]["alibabacloud.com/gpu-index"]
                == (notes[0]["alibabacloud.com/gpu-index"])
            )

    on_rig(scenario, tmp_path)
