"""``bayplan demo``: a cluster, a workload with every kind of constraint, and bayplan at work on it, in one process.

The same scheduler as ``bayplan run`` talks to the same API as ``bayplan cluster``; what it runs is in examples/demo. In
three acts: the workload is placed, something urgent takes what it needs, and a pod that fits nowhere is explained.
"""

from __future__ import annotations

import asyncio
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO

import click
import yaml

from bayplan.app import Options, Serving, serve_scheduler
from bayplan.cli.demo_screen import Screen, Tally
from bayplan.cli.explanation_table import print_explanation
from bayplan.clock import Clock, SystemClock
from bayplan.embedded.cluster import ClusterOptions, EmbeddedCluster
from bayplan.embedded.nodes import shape
from bayplan.embedded.objects import Object, as_list, at, encode, number_at, text_at
from bayplan.embedded.server import EmbeddedOptions
from bayplan.embedded.store import Store
from bayplan.errors import BayplanError
from bayplan.framework.config import load_config
from bayplan.plugins import default_registry
from bayplan.sim import explanation as explaining
from bayplan.sim.dump import read_dump
from bayplan.sim.situation import Situation
from bayplan.telemetry import log

NAMESPACE: Final = "default"
#: The pod that fits nowhere, by its label.
_EXPLAINED: Final = "app=giant"
#: Nothing moves for so long: the act is over.
_STILL_S: Final = 1.0
_LOOK_S: Final = 0.1
#: No act takes longer.
_PATIENCE_S: Final = 20.0
#: What explain reads of a cluster.
_DUMPED: Final = (
    "nodes",
    "pods",
    "namespaces",
    "persistentvolumes",
    "persistentvolumeclaims",
    "storageclasses.storage.k8s.io",
    "poddisruptionbudgets.policy",
    "priorityclasses.scheduling.k8s.io",
)


@click.command("demo")
@click.option("--serve", is_flag=True, help="Stay when the show is over, for kubectl.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where the API listens.")
def demo(*, serve: bool, port: int) -> None:
    """Show bayplan at work on a cluster of its own; takes less than a minute.

    Thirty simulated nodes in three zones, some with GPUs, a custom plugin, and a workload with every kind of constraint.
    """
    files = demo_files()
    with (
        tempfile.TemporaryDirectory(prefix="bayplan-demo-") as folder,
        _log_to(Path(folder)) as stream,
    ):
        show = Show(files, Path(folder), Screen(), SystemClock())
        try:
            finished = asyncio.run(show.run(port=port, serve=serve))
        except (BayplanError, OSError) as error:
            raise click.ClickException(f"the demo cannot go on: {error}") from error
        stream.flush()
    if not finished:
        raise click.exceptions.Exit(1)


def demo_files() -> Path:
    """The folder of what the demo runs: beside the package if it is installed, else in the checkout."""
    installed = Path(__file__).parents[1] / "examples" / "demo"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "examples" / "demo"


@contextmanager
def _log_to(folder: Path) -> Iterator[TextIO]:
    """The scheduler's log goes to a file: the terminal is the show's."""
    with (folder / "scheduler.log").open("w", encoding="utf-8") as stream:
        log.setup(2, "text", stream)
        yield stream


@dataclass(slots=True)
class Show:
    """One run of the demo."""

    files: Path
    folder: Path
    screen: Screen
    clock: Clock

    async def run(self, *, port: int, serve: bool) -> bool:
        """All of it; False if something did not go as it should."""
        options = ClusterOptions(
            shape=shape.read(self.files / "cluster.yaml"),
            api=EmbeddedOptions(port=port, clock=self.clock),
        )
        async with EmbeddedCluster(options) as cluster:
            kubeconfig = cluster.api.write_kubeconfig(self.folder / "kubeconfig")
            scheduler = asyncio.create_task(
                serve_scheduler(
                    Options(
                        config=self.files / "scheduler.yaml",
                        kubeconfig=str(kubeconfig),
                        serving=Serving(secure_port=0),
                    ),
                    self.clock,
                )
            )
            acts = asyncio.create_task(self._acts(cluster.store))
            await asyncio.wait((scheduler, acts), return_when=asyncio.FIRST_COMPLETED)
            if scheduler.done():
                acts.cancel()
                # Its error, if it has one; else somebody has pressed Ctrl-C.
                scheduler.result()
                return False
            finished = acts.result()
            if serve:
                self.screen.say_served(kubeconfig, self.files / "scheduler.yaml")
            else:
                # The scheduler takes it as an order to end what it began and then itself.
                signal.raise_signal(signal.SIGTERM)
            await scheduler
        return finished

    async def _acts(self, store: Store) -> bool:
        workload, urgent = (_read(self.files / f"{name}.yaml") for name in ("workload", "urgent"))
        self.screen.say_cluster(store.list("nodes"))
        placed = await self._act("placing the workload", store, workload)
        placed &= await self._act("something urgent comes in", store, urgent)
        self.screen.show_workloads([*workload, *urgent], store)
        self._explain(store)
        if not placed:
            self.screen.say_trouble(self.folder / "scheduler.log")
        return placed

    async def _act(self, title: str, store: Store, objects: list[Object]) -> bool:
        """Create objects and watch until every pod is placed or turned down; False if that takes too long."""
        for obj in objects:
            kind = store.kinds.of(obj["apiVersion"], obj["kind"])
            if kind is None:
                raise BayplanError(
                    f"{obj['kind']} in {obj['apiVersion']} is no kind of this cluster"
                )
            store.create(kind, obj, NAMESPACE if kind.namespaced else "")
        expected = len(store.list("pods", NAMESPACE)) + sum(map(_pods_of, objects))
        still, before = 0.0, None
        with self.screen.progress(title, expected) as update:
            for _ in range(int(_PATIENCE_S / _LOOK_S)):
                await asyncio.sleep(_LOOK_S)
                now = tally(store)
                update(now)
                still = still + _LOOK_S if now == before else 0.0
                before = now
                if still >= _STILL_S and not now.undecided and now.pods >= expected:
                    return True
        return False

    def _explain(self, store: Store) -> None:
        """What would make the pod fit that fits nowhere, from a dump as anybody could make it."""
        (pending,) = store.list("pods", NAMESPACE, labels=_EXPLAINED)
        path = self.folder / "dump.json"
        items = [
            {"apiVersion": store.kind(one).api_version, "kind": store.kind(one).kind} | obj
            for one in _DUMPED
            for obj in store.list(one)
        ]
        path.write_bytes(encode({"kind": "List", "apiVersion": "v1", "items": items}))
        dump = read_dump(path)
        pod: Any = dump.pods()[f"{NAMESPACE}/{text_at(pending, 'metadata', 'name')}"]
        registry = default_registry()
        config = load_config(self.files / "scheduler.yaml", registry)
        situation = Situation(pod, dump.everything(), config.profiles[0], registry)
        self.screen.say_explained()
        print_explanation(explaining.explain(situation))


def tally(store: Store) -> Tally:
    """How far the scheduler has come."""
    bound = refused = gated = 0
    pods = store.list("pods", NAMESPACE)
    for pod in pods:
        if text_at(pod, "spec", "nodeName"):
            bound += 1
        elif at(pod, "spec", "schedulingGates"):
            gated += 1
        elif not text_at(pod, "status", "nominatedNodeName"):
            conditions = as_list(at(pod, "status", "conditions"))
            refused += any(one.get("reason") == "Unschedulable" for one in conditions)
    return Tally(len(pods), bound, refused, gated)


def _read(path: Path) -> list[Object]:
    return [obj for obj in yaml.safe_load_all(path.read_text(encoding="utf-8")) if obj]


def _pods_of(workload: Object) -> int:
    if workload["kind"] == "Job":
        return number_at(workload, "spec", "parallelism") or 1
    return number_at(workload, "spec", "replicas") if workload["kind"] != "PriorityClass" else 0
