"""A stock kube-scheduler, unmodified, on the embedded API: it lists and watches, leads, binds, reports, in its protobuf."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.embedded.api.speaking import pod

from bayplan.embedded.objects import Object, as_list, at
from bayplan.embedded.server import EmbeddedApi, EmbeddedOptions
from bayplan.testing.control_plane import Binaries

pytestmark = pytest.mark.e2e

NODES = 3
#: Three fit on a node.
PODS = 3 * NODES + 1


def node(name: str) -> Object:
    amounts = {"cpu": "3", "memory": "8Gi", "pods": "110"}
    status: Object = {"allocatable": amounts, "capacity": amounts}
    status["conditions"] = [{"type": "Ready", "status": "True"}]
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": status,
    }


def asking(name: str) -> Object:
    given = pod(name)
    given["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    return given


def is_settled(one: Object) -> bool:
    """Whether the scheduler has decided: the pod is bound, or it said why not."""
    return bool(at(one, "spec", "nodeName") or as_list(at(one, "status", "conditions")))


def test_it_binds_what_fits_and_says_why_the_rest_does_not(
    binaries: Binaries, tmp_path: Path
) -> None:
    if not binaries.has("kube-scheduler"):
        pytest.skip("no kube-scheduler: run `make kube`")

    async def main() -> None:
        async with EmbeddedApi(EmbeddedOptions(tls=True, token="sesame")) as api:
            store, settled = api.store, asyncio.Event()
            for number in range(NODES):
                store.create("nodes", node(f"n{number}"))
            for number in range(PODS):
                store.create("pods", asking(f"p{number}"), "default")

            def look(*_: object) -> None:
                # Binding is told by an event too, and so is what does not fit.
                told = len(store.list("events", "default")) >= PODS
                if told and all(is_settled(one) for one in store.list("pods")):
                    settled.set()

            store.watch("pods", look)
            store.watch("events", look)
            config = api.write_kubeconfig(tmp_path / "kubeconfig")
            with (tmp_path / "log").open("wb") as log:
                scheduler = await asyncio.create_subprocess_exec(
                    binaries.path("kube-scheduler"),
                    f"--kubeconfig={config}",
                    "--secure-port=0",
                    "--leader-elect=true",
                    stdout=log,
                    stderr=log,
                )
                try:
                    await asyncio.wait_for(settled.wait(), 60)
                finally:
                    scheduler.kill()
                    await scheduler.wait()

            nodes = [at(one, "spec", "nodeName") for one in store.list("pods")]
            assert sorted(filter(None, nodes)) == sorted(
                f"n{n}" for n in range(NODES) for _ in "123"
            )
            (left,) = [one for one in store.list("pods") if not at(one, "spec", "nodeName")]
            (condition,) = left["status"]["conditions"]
            assert condition["reason"] == "Unschedulable"
            assert condition["message"].startswith(
                f"0/{NODES} nodes are available: {NODES} Insufficient cpu"
            )
            reasons = sorted(one["reason"] for one in store.list("events", "default"))
            assert reasons == ["FailedScheduling", *["Scheduled"] * 9]
            assert store.get("leases.coordination.k8s.io", "kube-scheduler", "kube-system")

    asyncio.run(main())
