"""kubectl, unmodified, on the embedded API. In real time, since kubectl lives in another process; nothing waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.embedded.api.speaking import pod

from bayplan.embedded.faults import OpenWatch
from bayplan.embedded.server import EmbeddedApi, EmbeddedOptions
from bayplan.testing.control_plane import Binaries

pytestmark = pytest.mark.slow

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
"""

WIDGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget, singular: widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer}}}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
"""


@dataclass
class Kubectl:
    api: EmbeddedApi
    program: Path
    config: Path

    async def __call__(self, *arguments: str, stdin: str = "") -> tuple[int, str]:
        """Exit code and everything it printed."""
        process = await asyncio.create_subprocess_exec(
            self.program,
            *arguments,
            env={"KUBECONFIG": str(self.config), "HOME": str(self.config.parent)},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        printed, _ = await asyncio.wait_for(process.communicate(stdin.encode()), 30)
        return process.returncode or 0, printed.decode()

    async def good(self, *arguments: str, stdin: str = "") -> str:
        """What it prints when it succeeds."""
        code, printed = await self(*arguments, stdin=stdin)
        assert code == 0, printed
        return printed


Work = Callable[[Kubectl], Awaitable[None]]


def with_kubectl(binaries: Binaries, folder: Path, work: Work, *, tls: bool = False) -> None:
    if not binaries.has("kubectl"):
        pytest.skip("no kubectl: run `make kube`")

    async def main() -> None:
        options = EmbeddedOptions(tls=tls, token="sesame" if tls else "")
        async with EmbeddedApi(options) as api:
            config = api.write_kubeconfig(folder / "kubeconfig")
            await work(Kubectl(api, binaries.path("kubectl"), config))

    asyncio.run(main())


def rows(printed: str) -> list[list[str]]:
    return [line.split() for line in printed.splitlines()]


def test_reading(binaries: Binaries, tmp_path: Path) -> None:
    async def work(kubectl: Kubectl) -> None:
        store = kubectl.api.store
        node = {
            "metadata": {"name": "n1", "labels": {"node-role.kubernetes.io/worker": ""}},
            "status": {
                "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
                "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True"}],
                "nodeInfo": {"kubeletVersion": "v1.36.4"},
            },
        }
        store.create("nodes", node)
        store.create("pods", pod("a", nodeName="n1"), "default")
        regarding = {"kind": "Pod", "name": "a", "namespace": "default"}
        regarding["uid"] = store.get("pods", "a", "default")["metadata"]["uid"]
        event = {
            "metadata": {"name": "a.1"},
            "regarding": regarding,
            "reason": "Scheduled",
            "note": "Successfully assigned default/a to n1",
            "type": "Normal",
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "bayplan",
        }
        store.create("events.events.k8s.io", event, "default")

        assert rows(await kubectl.good("get", "nodes"))[1][:3] == ["n1", "Ready", "worker"]
        listed = rows(await kubectl.good("get", "pods", "-A", "-o", "wide"))
        assert listed[0][:3] == ["NAMESPACE", "NAME", "READY"]
        assert listed[1][:4] == ["default", "a", "0/1", "Pending"]
        assert "n1" in listed[1]
        described = await kubectl.good("describe", "pod", "a")
        assert "Successfully assigned default/a to n1" in described
        assert "bayplan" in described
        described = await kubectl.good("describe", "node", "n1")
        assert "Non-terminated Pods:          (1 in total)" in described
        assert "Scheduled" in await kubectl.good("get", "events")
        name = await kubectl.good("get", "pod", "a", "-o", "jsonpath={.spec.nodeName}")
        assert name == "n1"
        code, printed = await kubectl("get", "pod", "none")
        assert (code, printed) == (1, 'Error from server (NotFound): pods "none" not found\n')

    with_kubectl(binaries, tmp_path, work)


def test_applying_client_side_and_server_side(binaries: Binaries, tmp_path: Path) -> None:
    async def work(kubectl: Kubectl) -> None:
        async def apply(replicas: int, *more: str) -> str:
            given = DEPLOYMENT.replace("REPLICAS", str(replicas))
            return await kubectl.good("apply", "-f", "-", *more, stdin=given)

        assert await apply(2) == "deployment.apps/web created\n"
        assert await apply(2) == "deployment.apps/web unchanged\n"
        assert await apply(3) == "deployment.apps/web configured\n"
        assert kubectl.api.store.get("deployments.apps", "web", "default")["spec"]["replicas"] == 3
        assert await kubectl.good("scale", "deploy/web", "--replicas=5")
        code, printed = await kubectl(
            "apply", "--server-side", "-f", "-", stdin=DEPLOYMENT.replace("REPLICAS", "4")
        )
        assert code == 1
        assert ".spec.replicas" in printed
        assert await apply(4, "--server-side", "--force-conflicts") == (
            "deployment.apps/web serverside-applied\n"
        )
        assert kubectl.api.store.get("deployments.apps", "web", "default")["spec"]["replicas"] == 4
        wrong = DEPLOYMENT.replace("replicas: REPLICAS", "replica: 2")
        code, printed = await kubectl("apply", "-f", "-", stdin=wrong)
        assert code == 1
        assert 'unknown field "spec.replica"' in printed

    with_kubectl(binaries, tmp_path, work)


def test_changing_and_deleting(binaries: Binaries, tmp_path: Path) -> None:
    async def work(kubectl: Kubectl) -> None:
        store = kubectl.api.store
        store.create("nodes", {"metadata": {"name": "n1"}})
        await kubectl.good("run", "a", "--image=app:1")
        await kubectl.good("label", "pod", "a", "tier=front")
        await kubectl.good("taint", "node", "n1", "gpu=yes:NoSchedule")
        await kubectl.good("cordon", "n1")
        spec = store.get("nodes", "n1")["spec"]
        assert spec["unschedulable"] is True
        assert {"key": "gpu", "value": "yes", "effect": "NoSchedule"} in spec["taints"]
        # It reads, then watches until the pod is gone.
        await kubectl.good("delete", "pod", "-l", "tier=front")
        assert store.find("pods", "a", "default") is None
        await kubectl.good("create", "namespace", "team")
        await kubectl.good("create", "configmap", "x", "-n", "team", "--from-literal=a=b")
        await kubectl.good("delete", "namespace", "team")
        assert store.find("namespaces", "team") is None
        assert await kubectl.good("auth", "can-i", "create", "pods") == "yes\n"

    with_kubectl(binaries, tmp_path, work, tls=True)


def test_waiting_for_a_condition(binaries: Binaries, tmp_path: Path) -> None:
    async def work(kubectl: Kubectl) -> None:
        store = kubectl.api.store
        store.create("pods", pod("a"), "default")
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}

        def become_ready(_: OpenWatch) -> None:
            store.mutate("pods", "a", lambda obj: obj["status"].update(ready), "default")

        kubectl.api.faults.on_watch = become_ready
        printed = await kubectl.good("wait", "pod/a", "--for=condition=Ready", "--timeout=20s")
        assert printed == "pod/a condition met\n"

    with_kubectl(binaries, tmp_path, work)


def test_custom_resources(binaries: Binaries, tmp_path: Path) -> None:
    async def work(kubectl: Kubectl) -> None:
        await kubectl.good("apply", "-f", "-", stdin=WIDGETS)
        await kubectl.good("wait", "--for=condition=Established", "crd/widgets.example.com")
        widget = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: 3}}"
        assert await kubectl.good("apply", "-f", "-", stdin=widget) == (
            "widget.example.com/w created\n"
        )
        assert rows(await kubectl.good("get", "wd")) == [["NAME", "SIZE"], ["w", "3"]]
        assert "size" in await kubectl.good("explain", "widget.spec")

    with_kubectl(binaries, tmp_path, work)
