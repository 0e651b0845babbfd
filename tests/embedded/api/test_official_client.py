"""The official Python client, unmodified, on the embedded API. It blocks, so it works in a thread of its own."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config, dynamic, watch

from bayplan.clock import SystemClock
from bayplan.embedded.server import EmbeddedApi, EmbeddedOptions

Work = Callable[[client.ApiClient], None]

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {"containers": [{"name": "c", "image": "nginx"}]},
}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"disk": "ssd"}}}


def at_work(folder: Path, work: Work, *, tls: bool) -> None:
    async def serve() -> None:
        options = EmbeddedOptions(
            clock=SystemClock(), rng=random.Random(0), tls=tls, token="secret"
        )
        async with EmbeddedApi(options) as api:
            file = folder / "kubeconfig"
            api.write_kubeconfig(file)
            await asyncio.to_thread(_work, file, work)

    asyncio.run(serve())


def _work(file: Path, work: Work) -> None:
    with config.new_client_from_config(str(file)) as api:
        work(api)


@pytest.mark.parametrize("tls", [pytest.param(False, id="plain"), pytest.param(True, id="tls")])
def test_a_pod_from_creation_to_deletion(tmp_path: Path, tls: bool) -> None:
    def work(api: client.ApiClient) -> None:
        core = client.CoreV1Api(api)
        core.create_node(NODE)
        created = core.create_namespaced_pod("default", POD)
        assert created.spec.scheduler_name == "default-scheduler"
        target = client.V1ObjectReference(api_version="v1", kind="Node", name="n1")
        bound = client.V1Binding(metadata=client.V1ObjectMeta(name="web"), target=target)
        # The client wants a Binding back where the API answers with a Status; its own users pass this, too.
        core.create_namespaced_binding("default", bound, _preload_content=False)
        pod = core.read_namespaced_pod("web", "default")
        assert pod.spec.node_name == "n1"
        assert [c.status for c in pod.status.conditions if c.type == "PodScheduled"] == ["True"]
        core.patch_namespaced_pod("web", "default", {"metadata": {"labels": {"tier": "front"}}})
        listed = core.list_pod_for_all_namespaces(label_selector="tier=front").items
        assert [p.metadata.name for p in listed] == ["web"]
        core.delete_namespaced_pod("web", "default", grace_period_seconds=0)
        with pytest.raises(client.ApiException) as caught:
            core.read_namespaced_pod("web", "default")
        assert caught.value.status == 404

    at_work(tmp_path, work, tls=tls)


def test_a_watch_tells_what_happens(tmp_path: Path) -> None:
    def work(api: client.ApiClient) -> None:
        core = client.CoreV1Api(api)
        core.create_namespaced_pod("default", POD)
        told: list[Any] = []
        watching = watch.Watch()
        for event in watching.stream(core.list_namespaced_pod, "default", timeout_seconds=30):
            told.append((event["type"], event["object"].metadata.name))
            if event["type"] == "ADDED":
                core.delete_namespaced_pod("web", "default", grace_period_seconds=0)
            if event["type"] == "DELETED":
                watching.stop()
        assert told[0] == ("ADDED", "web")
        assert told[-1] == ("DELETED", "web")

    at_work(tmp_path, work, tls=False)


def test_the_dynamic_client_finds_kinds_by_discovery(tmp_path: Path) -> None:
    def work(api: client.ApiClient) -> None:
        found = dynamic.DynamicClient(api, cache_file=str(tmp_path / "discovery"))
        leases = found.resources.get(api_version="coordination.k8s.io/v1", kind="Lease")
        body = {"metadata": {"name": "mine"}, "spec": {"holderIdentity": "me"}}
        leases.create(body=body, namespace="default")
        assert leases.get(name="mine", namespace="default").spec.holderIdentity == "me"
        deployments = found.resources.get(api_version="apps/v1", kind="Deployment")
        applied = deployments.server_side_apply(
            body={
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "web"},
                "spec": {
                    "selector": {"matchLabels": {"app": "web"}},
                    "template": {
                        "metadata": {"labels": {"app": "web"}},
                        "spec": {"containers": [{"name": "c", "image": "nginx"}]},
                    },
                },
            },
            name="web",
            namespace="default",
            field_manager="me",
        )
        assert applied.metadata.managedFields[0].manager == "me"

    at_work(tmp_path, work, tls=False)
