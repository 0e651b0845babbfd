"""One process from its start to its exit status, and what keeps it from starting."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from bayplan.app import Options, Serving, serve_scheduler
from bayplan.embedded.server import EmbeddedApi
from bayplan.errors import Unreachable
from bayplan.runtime.leadership import AlreadyServedError
from bayplan.testing import make_node
from bayplan.testing.virtual_time import VirtualClock, run
from tests.integration.rig import Obj, Rig, make_pod, on_rig

LEASES = "leases.coordination.k8s.io"
ELECTION = {"leaderElect": True, "resourceName": "mine"}


def test_without_a_cluster_it_says_so_and_what_to_do(tmp_path: Path) -> None:
    async def main() -> None:
        api = EmbeddedApi()
        async with api:
            kubeconfig = api.write_kubeconfig(tmp_path / "kubeconfig")
        await serve_scheduler(Options(kubeconfig=str(kubeconfig)), clock)

    clock = VirtualClock()
    with pytest.raises(Unreachable, match="cannot reach the API server at http") as refused:
        run(main(), clock)
    assert "bayplan demo" in str(refused.value)


def test_a_kube_scheduler_at_work_keeps_it_from_starting(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        lease = {
            "metadata": {"name": "kube-scheduler", "namespace": "kube-system"},
            "spec": {
                "holderIdentity": "stock",
                "leaseDurationSeconds": 15,
                "renewTime": "2026-01-01T00:00:00.000000Z",
            },
        }
        rig.api.store.create(LEASES, lease, "kube-system")
        kubeconfig = rig.api.write_kubeconfig(tmp_path / "kubeconfig")
        await serve_scheduler(Options(kubeconfig=str(kubeconfig)), rig.clock)

    with pytest.raises(AlreadyServedError, match="stock"):
        on_rig(scenario, tmp_path)


def test_sigterm_ends_what_was_begun_and_gives_the_lease_up(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        kubeconfig = rig.api.write_kubeconfig(tmp_path / "kubeconfig")
        options = Options(kubeconfig=str(kubeconfig), serving=Serving(secure_port=0))
        running = asyncio.create_task(serve_scheduler(options, rig.clock))
        rig.add(make_pod("web"))
        await rig.until_bound("web")
        os.kill(os.getpid(), signal.SIGTERM)
        assert await running == 0
        lease = rig.api.store.get(LEASES, "bayplan-default-scheduler", "kube-system")
        assert not lease["spec"].get("holderIdentity")

    on_rig(scenario, tmp_path)


def test_two_instances_and_the_first_one_ends(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"))
        async with rig.scheduler(config={"leaderElection": ELECTION}, ends=0) as first:
            rig.add(make_pod("one"))
            await rig.until_bound("one")
            async with rig.scheduler(config={"leaderElection": ELECTION}) as second:
                await rig.until(lambda: second.synced)
                assert not second.around.may_write()
                first.stop()
                await rig.until(second.around.may_write)
                rig.add(make_pod("two"))
                await rig.until_bound("two")

    on_rig(scenario, tmp_path)


def test_the_lease_is_said_to_be_taken_and_given_up(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        async with rig.scheduler(config={"leaderElection": ELECTION}) as process:
            await rig.until(process.around.may_write)
            identity = process.elector.identity if process.elector is not None else ""

        def notes() -> list[str]:
            events: list[Obj] = list(rig.api.store.list("events.events.k8s.io", "kube-system"))
            return [event["note"] for event in events]

        assert notes() == [f"{identity} became leader", f"{identity} stopped leading"]

    on_rig(scenario, tmp_path)


def test_informers_that_wait_for_the_lease_where_the_file_says_so(tmp_path: Path) -> None:
    async def scenario(rig: Rig) -> None:
        rig.add(make_node("a"), make_pod("web"))
        config = {"leaderElection": ELECTION, "delayCacheUntilActive": True}
        async with rig.scheduler(config=config) as process:
            assert not process.synced
            await rig.until_bound("web")

    on_rig(scenario, tmp_path)
