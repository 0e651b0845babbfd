"""Every example of a gang, applied to the cluster that it is meant for, with `bayplan run` beside it, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from bayplan.app import Options, Serving
from bayplan.app.process import Process, opened
from bayplan.cluster.audit import audit
from bayplan.embedded.cluster import ClusterOptions, EmbeddedCluster
from bayplan.embedded.nodes.shape import read
from bayplan.embedded.server import EmbeddedOptions
from bayplan.testing.virtual_time import VirtualClock, run, settle

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "gangs"
GROUPS = "podgroups.scheduling.x-k8s.io"
Obj = dict[str, Any]


class Stage:
    """The cluster, with the scheduler at work in it."""

    def __init__(self, cluster: EmbeddedCluster, process: Process, clock: VirtualClock) -> None:
        self.store = cluster.store
        self.process = process
        self.clock = clock

    def apply(self, name: str) -> None:
        """``kubectl apply``."""
        for document in yaml.safe_load_all((EXAMPLES / name).read_text(encoding="utf-8")):
            kind = self.store.kinds.of(document["apiVersion"], document["kind"])
            assert kind is not None, document
            namespace = document["metadata"].get("namespace", "default") if kind.namespaced else ""
            self.store.create(kind, document, namespace)

    def nodes(self, prefix: str, namespace: str = "default") -> list[str]:
        """The nodes of the pods whose names begin so; empty for those that have none."""
        return sorted(
            pod["spec"].get("nodeName", "")
            for pod in self.store.list("pods", namespace)
            if pod["metadata"]["name"].startswith(prefix)
        )

    async def until(self, holds: Callable[[], bool], within_s: float = 60.0) -> None:
        end = self.clock.monotonic() + within_s
        while not holds():
            assert self.clock.monotonic() < end, f"does not come about within {within_s:g} s"
            await asyncio.sleep(0.05)

    async def until_placed(self, prefix: str, count: int, namespace: str = "default") -> list[str]:
        """Wait until so many have a node, and all of them are there."""
        await self.until(lambda: sum(map(bool, self.nodes(prefix, namespace))) == count)
        return [node for node in self.nodes(prefix, namespace) if node]


def on_stage(folder: Path, scenario: Callable[[Stage], Awaitable[None]], config: str = "") -> None:
    clock = VirtualClock()

    async def main() -> None:
        options = ClusterOptions(
            read(EXAMPLES / "cluster.yaml"), EmbeddedOptions(clock=clock, rng=Random(1))
        )
        async with EmbeddedCluster(options) as cluster:
            kubeconfig = cluster.api.write_kubeconfig(folder / "kubeconfig")
            file = EXAMPLES / config if config else folder / "config.yaml"
            if not config:
                document = {
                    "apiVersion": "kubescheduler.config.k8s.io/v1",
                    "kind": "KubeSchedulerConfiguration",
                    "leaderElection": {"leaderElect": False},
                }
                file.write_text(yaml.safe_dump(document), encoding="utf-8")
            wanted = Options(
                config=file,
                kubeconfig=str(kubeconfig),
                serving=Serving(secure_port=0),
                take_over=True,
            )
            async with opened(wanted, clock) as process:
                running = asyncio.create_task(process.run())
                await scenario(Stage(cluster, process, clock))
                assert audit(process.scheduler.board.cluster) == []
                process.stop()
                assert await running == 0
        await settle()

    run(main(), clock)


def test_a_training_job_is_in_one_rack(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.apply("training.yaml")
        nodes = await stage.until_placed("train-7-", 5)
        # Four workers of six GPUs each need four nodes with eight, which one rack has.
        assert {node.rpartition("-")[0] for node in nodes} == {"rack3"}

    on_stage(tmp_path, scenario)


def test_a_training_job_by_the_native_api(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.apply("training-native.yaml")
        nodes = await stage.until_placed("train-8-", 2)
        assert len({node.rpartition("-")[0] for node in nodes}) == 1

        def scheduled() -> bool:
            group = stage.store.get("podgroups.scheduling.k8s.io", "train-8", "default")
            conditions = group.get("status", {}).get("conditions", [])
            return [(one["type"], one["status"]) for one in conditions] == [
                ("PodGroupScheduled", "True")
            ]

        await stage.until(scheduled)

    on_stage(tmp_path, scenario)


def test_a_spot_pool(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.apply("spot.yaml")
        # Four spot nodes take a worker each: more than are needed, fewer than there are.
        workers = await stage.until_placed("render-worker-", 4)
        assert {node.rpartition("-")[0] for node in workers} == {"spot"}
        (coordinator,) = await stage.until_placed("render-coordinator", 1)
        assert not coordinator.startswith("spot")
        assert len(stage.nodes("render-worker-")) == 6

    on_stage(tmp_path, scenario)


def test_two_teams(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.apply("teams.yaml")
        # 24 GPUs: 16 of its own, 8 borrowed.
        await stage.until_placed("segment-", 3, "vision")
        for number in range(2):
            stage.store.create("pods", language(number), "language")
        # The other team takes what it is sure of: the one worker that the gang can do without gives back what was borrowed.
        await stage.until_placed("translate-", 2, "language")
        assert len([node for node in stage.nodes("segment-", "vision") if node]) >= 2

    pytest.importorskip("ortools")
    on_stage(tmp_path, scenario, "teams-scheduler.yaml")


def language(number: int) -> Obj:
    requests = {"cpu": "8", "nvidia.com/gpu": "8"}
    container = {"name": "c", "image": "t:1", "resources": {"requests": requests}}
    return {"metadata": {"name": f"translate-{number}"}, "spec": {"containers": [container]}}


def test_every_example_is_applied_here() -> None:
    manifests = {path.name for path in EXAMPLES.glob("*.yaml")}
    assert manifests == {
        "cluster.yaml",
        "spot.yaml",
        "teams-scheduler.yaml",
        "teams.yaml",
        "training-native.yaml",
        "training.yaml",
    }
