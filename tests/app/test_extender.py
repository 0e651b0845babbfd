"""An extender with a cache of its own, fed by the watches of a cluster: names are all that it needs to be sent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import yaml

from bayplan.app.extender import ExtenderOptions
from bayplan.embedded.server import EmbeddedApi, EmbeddedOptions
from bayplan.testing import make_node, make_pod
from tests.serve.extender.scene import Caller, caller, pod

PROFILE = {
    "schedulerName": "default-scheduler",
    "plugins": {"multiPoint": {"enabled": [{"name": "LowCpuScheduler"}]}},
}
PROVIDER = {
    "name": "usage",
    "type": "static",
    "values": {"idle": {"cpu": 0.1}, "busy": {"cpu": 0.95}},
}

Scenario = Callable[[EmbeddedApi, Caller], Awaitable[None]]


def on_cluster(folder: Path, scenario: Scenario, profile: dict[str, Any]) -> None:
    """Run a scenario with a cluster of two nodes, and an extender that watches it."""
    documents = [
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [profile],
        },
        {
            "apiVersion": "bayplan.io/v1alpha1",
            "kind": "BayplanConfiguration",
            "providers": [PROVIDER],
        },
    ]
    config, kubeconfig = folder / "config.yaml", folder / "kubeconfig"
    config.write_text(yaml.safe_dump_all(documents), encoding="utf-8")

    async def main() -> None:
        async with EmbeddedApi(EmbeddedOptions()) as api:
            api.write_kubeconfig(kubeconfig)
            for name in ("idle", "busy"):
                api.store.create("nodes", make_node(name).capacity(cpu="4").manifest)
            wanted = ExtenderOptions(config=config, port=0, kubeconfig=str(kubeconfig))
            async with caller(wanted) as calling:
                await scenario(api, calling)

    asyncio.run(main())


async def filtered(calling: Caller, until: Callable[[dict[str, Any]], bool], **asks: str) -> Any:
    """The answer about both nodes, once it is as wanted: watches and measurements take their time."""
    asking = pod("web")
    asking["spec"]["containers"][0]["resources"] = {"requests": asks}
    answer: Any = None
    for _ in range(300):
        _, answer = await calling.post(
            "filter", {"Pod": asking, "Nodes": None, "NodeNames": ["idle", "busy", "nowhere"]}
        )
        if until(answer):
            return answer
        await asyncio.sleep(0.05)
    raise AssertionError(answer)


def test_plugins_see_usage(tmp_path: Path) -> None:
    async def scenario(_api: EmbeddedApi, calling: Caller) -> None:
        answer = await filtered(calling, lambda said: said["NodeNames"] == ["idle"])
        assert answer["FailedNodes"] == {
            "busy": "cpu usage too high",
            "nowhere": "node is not known to the extender",
        }

    on_cluster(tmp_path, scenario, PROFILE)


def test_plugins_see_pods(tmp_path: Path) -> None:
    async def scenario(api: EmbeddedApi, calling: Caller) -> None:
        await filtered(calling, lambda said: said["NodeNames"] == ["idle", "busy"], cpu="3")
        other = make_pod("other").image("none").requests(cpu="3").on("busy")
        api.store.create("pods", other.manifest, "default")
        answer = await filtered(calling, lambda said: said["NodeNames"] == ["idle"], cpu="3")
        assert answer["FailedNodes"]["busy"] == "Insufficient cpu"

    on_cluster(tmp_path, scenario, {"schedulerName": "default-scheduler"})


def test_the_bind_verb_binds(tmp_path: Path) -> None:
    async def scenario(api: EmbeddedApi, calling: Caller) -> None:
        made = api.store.create("pods", make_pod("web").image("none").manifest, "default")
        names = {"PodName": "web", "PodNamespace": "default", "Node": "idle"}
        _, answer = await calling.post("bind", {**names, "PodUID": "another"})
        assert "is another one by now" in answer["Error"]
        _, answer = await calling.post("bind", {**names, "PodUID": made["metadata"]["uid"]})
        assert answer == {"Error": ""}
        assert api.store.get("pods", "web", "default")["spec"]["nodeName"] == "idle"
        _, answer = await calling.post("bind", {**names, "PodName": "gone"})
        assert "not found" in answer["Error"]

    on_cluster(tmp_path, scenario, {"schedulerName": "default-scheduler"})
