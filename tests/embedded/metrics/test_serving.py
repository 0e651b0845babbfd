"""``metrics.k8s.io`` of an embedded cluster: over HTTP in virtual time, and for an unmodified kubectl."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.embedded.api.speaking import Speaker, pod, with_api
from tests.embedded.api.test_kubectl import Kubectl, rows, with_kubectl

from bayplan.embedded.metrics.serving import serve_metrics
from bayplan.embedded.metrics.usage import USES, Usage
from bayplan.embedded.nodes.making import make_nodes
from bayplan.embedded.nodes.shape import of_count
from bayplan.embedded.store import Store
from bayplan.testing.control_plane import Binaries

API = "/apis/metrics.k8s.io/v1beta1"


def fill(store: Store) -> None:
    """Two nodes with 8 cores, and a pod that runs on the first."""
    serve_metrics(store, Usage())
    for node in make_nodes(of_count(2), store.clock.now()):
        store.create("nodes", node)
    add_running(store, "web", "node-1", "cpu=1500m,memory=1Gi")


def add_running(store: Store, name: str, node: str, uses: str) -> None:
    spec = {"nodeName": node, "containers": [{"name": "a", "image": "a"}]}
    meta = {"name": name, "labels": {"app": name}, "annotations": {USES: uses}}
    store.create("pods", {"metadata": meta, "spec": spec}, "default")
    store.mutate("pods", name, lambda pod: pod["status"].update(phase="Running"), "default")


def usage(reply: Any) -> dict[str, str]:
    return {one["metadata"]["name"]: one["usage"]["cpu"] for one in reply.body["items"]}


def test_nodes_use_what_their_pods_use() -> None:
    async def test(api: Speaker) -> None:
        fill(api.api.store)
        reply = await api.get(f"{API}/nodes")
        assert reply.body["kind"] == "NodeMetricsList"
        assert usage(reply) == {"node-1": "1600000000n", "node-2": "100000000n"}
        one = (await api.get(f"{API}/nodes/node-1")).body
        assert one["usage"] == {"cpu": "1600000000n", "memory": f"{1536 << 10}Ki"}
        assert one["window"] == "15s"
        assert (await api.get(f"{API}/nodes/nobody")).status == 404

    with_api(test)


def test_a_node_uses_no_more_than_it_has() -> None:
    async def test(api: Speaker) -> None:
        fill(api.api.store)
        add_running(api.api.store, "greedy", "node-2", "cpu=50")
        assert usage(await api.get(f"{API}/nodes"))["node-2"] == "8000000000n"

    with_api(test)


def test_pods_are_measured_while_they_run() -> None:
    async def test(api: Speaker) -> None:
        fill(api.api.store)
        api.api.store.create("pods", pod("late"), "default")
        reply = await api.get(f"{API}/namespaces/default/pods?labelSelector=app")
        (web,) = reply.body["items"]
        assert web["metadata"]["namespace"] == "default"
        assert web["containers"] == [
            {"name": "a", "usage": {"cpu": "1500000000n", "memory": f"{1 << 20}Ki"}}
        ]
        assert len((await api.get(f"{API}/pods")).body["items"]) == 1

    with_api(test)


def test_measured_once_in_a_window() -> None:
    async def test(api: Speaker) -> None:
        fill(api.api.store)
        before = usage(await api.get(f"{API}/nodes"))
        add_running(api.api.store, "next", "node-2", "cpu=1")
        assert usage(await api.get(f"{API}/nodes")) == before
        await asyncio.sleep(15)
        assert usage(await api.get(f"{API}/nodes"))["node-2"] == "1100000000n"

    with_api(test)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("POST", "nodes", id="create"),
        pytest.param("DELETE", "nodes/node-1", id="delete"),
        pytest.param("PUT", "nodes/node-1", id="update"),
        pytest.param("GET", "nodes?watch=true", id="watch"),
    ],
)
def test_nobody_writes_or_watches_them(method: str, path: str) -> None:
    async def test(api: Speaker) -> None:
        fill(api.api.store)
        assert (await api.call(method, f"{API}/{path}")).status == 405

    with_api(test)


@pytest.mark.slow
def test_kubectl_top(binaries: Binaries, tmp_path: Path) -> None:
    async def work(kubectl: Kubectl) -> None:
        fill(kubectl.api.store)
        assert rows(await kubectl.good("top", "nodes", "--no-headers")) == [
            ["node-1", "1600m", "20%", "1536Mi", "4%"],
            ["node-2", "100m", "1%", "512Mi", "1%"],
        ]
        assert rows(await kubectl.good("top", "pods", "--no-headers")) == [
            ["web", "1500m", "1024Mi"]
        ]
        assert rows(await kubectl.good("top", "node", "node-2", "--no-headers"))[0][1] == "100m"
        listed = await kubectl.good("api-resources", "--api-group=metrics.k8s.io", "-o", "name")
        assert set(listed.split()) == {"nodes.metrics.k8s.io", "pods.metrics.k8s.io"}

    with_kubectl(binaries, tmp_path, work)
