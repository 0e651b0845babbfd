"""A whole ``bayplan run`` against an embedded API server, over real sockets, in virtual time.

Waiting takes no time, so a test may let an hour pass. At the end everything is recounted: columns, queue, and who is where.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import yaml

from bayplan import testing
from bayplan.app import Options, Serving
from bayplan.app.process import Process, opened
from bayplan.cluster.audit import audit
from bayplan.embedded import binding
from bayplan.embedded.deleting import DeleteOptions
from bayplan.embedded.faults import Fault
from bayplan.embedded.server import EmbeddedApi, EmbeddedOptions
from bayplan.testing.builders import NodeBuilder, PodBuilder
from bayplan.testing.virtual_time import VirtualClock, run, settle

Obj = dict[str, Any]

#: Priority classes.
LOW, HIGH = "low", "high"


@dataclass
class Rig:
    """One API server and the schedulers that a test has started."""

    api: EmbeddedApi
    clock: VirtualClock
    folder: Path
    #: What schedulers present; None: whatever the API server's own kubeconfig says.
    token_file: Path | None = None

    def __post_init__(self) -> None:
        #: Every node that a pod ever had, by uid.
        self.nodes_of: dict[str, list[str]] = {}
        self.api.store.watch("pods", self._note)

    def _note(self, _kind: Any, pod: Obj) -> None:
        node, seen = (
            pod["spec"].get("nodeName"),
            self.nodes_of.setdefault(pod["metadata"]["uid"], []),
        )
        if node and node not in seen:
            seen.append(node)

    # --- the cluster ---------------------------------------------------------------------------------------------------

    def add(self, *things: NodeBuilder | PodBuilder) -> None:
        """Create nodes and pods."""
        for thing in things:
            kind = "nodes" if isinstance(thing, NodeBuilder) else "pods"
            self.api.store.create(kind, thing.manifest)

    def delete(self, kind: str, name: str) -> None:
        """Delete an object, at once."""
        namespace = "default" if kind == "pods" else ""
        self.api.store.delete(kind, name, namespace, DeleteOptions(grace_s=0))

    def bind(self, name: str, node: str) -> None:
        """Bind a pod, as another scheduler would."""
        wanted = {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}}
        binding.bind(self.api.store, "default", name, wanted)

    def change(self, kind: str, name: str, change: Callable[[Obj], object]) -> None:
        """Change an object; nothing is checked."""
        namespace = "default" if kind == "pods" else ""
        self.api.store.mutate(kind, name, change, namespace)

    def count(self, verb: str, resource: str) -> Fault:
        """Count requests of a kind, which are answered as ever: a fault that does nothing."""
        return self.api.faults.add(Fault(verb, resource))

    def pod(self, name: str) -> Obj:
        return dict(self.api.store.get("pods", name, "default"))

    def node_of(self, name: str) -> str:
        """Where a pod runs; empty where it does not."""
        node: str = self.pod(name)["spec"].get("nodeName", "")
        return node

    def condition(self, name: str) -> Obj:
        """Why a pod waits; empty where nobody has said."""
        conditions = self.pod(name)["status"].get("conditions", [])
        return next((c for c in conditions if c["type"] == "PodScheduled"), {})

    def notes(self, reason: str) -> list[str]:
        """What the events of a reason say."""
        events = self.api.store.list("events.events.k8s.io", "default")
        return [event["note"] for event in events if event["reason"] == reason]

    def failures(self, name: str) -> list[str]:
        """What the FailedScheduling events about a pod say."""
        events = self.api.store.list("events.events.k8s.io", "default")
        return [
            event["note"]
            for event in events
            if event["reason"] == "FailedScheduling" and event["regarding"]["name"] == name
        ]

    def leaving(self) -> list[str]:
        """Pods whose deletion has begun; there is nobody here who would end them."""
        pods = self.api.store.list("pods", "default")
        return [p["metadata"]["name"] for p in pods if p["metadata"].get("deletionTimestamp")]

    # --- time ----------------------------------------------------------------------------------------------------------

    async def until(self, holds: Callable[[], object], within_s: float = 120.0) -> None:
        """Let time pass until something holds."""
        end = self.clock.monotonic() + within_s
        while not holds():
            if self.clock.monotonic() > end:
                raise AssertionError(f"does not come about within {within_s:g} s")
            await asyncio.sleep(0.05)

    async def pass_s(self, seconds: float) -> None:
        """Let so much time pass."""
        await asyncio.sleep(seconds)

    async def until_bound(self, *names: str, within_s: float = 120.0) -> None:
        await self.until(lambda: all(self.node_of(name) for name in names), within_s)

    # --- schedulers ----------------------------------------------------------------------------------------------------

    def _options(self, config: Obj | None, serving: Serving, *, dry_run: bool) -> Options:
        """``config``: what differs from the defaults; ``own`` in it goes into a BayplanConfiguration."""
        document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            **(config or {}),
        }
        own = {"apiVersion": "bayplan.io/v1alpha1", "kind": "BayplanConfiguration"}
        own.update(document.pop("own", {}))
        file = self.folder / "config.yaml"
        file.write_text(yaml.safe_dump_all([document, own]), encoding="utf-8")
        kubeconfig = self.folder / "kubeconfig"
        access = self.api.kubeconfig()
        if self.token_file is not None:
            access["users"][0]["user"] = {"tokenFile": str(self.token_file)}
        kubeconfig.write_text(yaml.safe_dump(access), encoding="utf-8")
        return Options(
            config=file,
            kubeconfig=str(kubeconfig),
            serving=serving,
            take_over=True,
            dry_run=dry_run,
        )

    @asynccontextmanager
    async def scheduler(
        self,
        *,
        config: Obj | None = None,
        ends: int | None = None,
        dry_run: bool = False,
        serving: Serving = Serving(secure_port=0),  # noqa: B008 - frozen
    ) -> AsyncIterator[Process]:
        """A scheduler that runs for as long as the block does; audited at its end.

        ``ends``: the exit status, where it is to end by itself.
        """
        options = self._options(config, serving, dry_run=dry_run)
        async with opened(options, self.clock) as process:
            running = asyncio.create_task(process.run())
            try:
                yield process
                if not dry_run:
                    await self.settled(process)
                assert running.done() == (ends is not None)
            finally:
                process.stop()
                status = await running
            assert status == (ends or 0)

    @asynccontextmanager
    async def doomed(self, config: Obj | None = None) -> AsyncIterator[Process]:
        """A scheduler that is gone at the end of the block, with whatever it was about, as after SIGKILL."""
        options = self._options(config, Serving(secure_port=0), dry_run=False)
        async with opened(options, self.clock) as process:
            running = asyncio.create_task(process.run())
            try:
                yield process
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
                await process.scheduler.binder.finish(0)

    async def settled(self, process: Process) -> None:
        """Wait until nothing is under way, and recount."""
        pods = process.scheduler.board.cluster.pods
        await self.until(
            lambda: (
                not process.scheduler.binder.running
                and not any(pods.is_assumed(row) for row in pods.row_of.values())
            )
        )
        assert process.scheduler.audit() == []
        assert audit(process.scheduler.board.cluster) == []

    def check(self) -> None:
        """No pod was ever on two nodes, and none was said to be scheduled twice."""
        twice = {uid: nodes for uid, nodes in self.nodes_of.items() if len(nodes) > 1}
        assert twice == {}
        events = self.api.store.list("events.events.k8s.io", "default")
        told = [e["regarding"]["uid"] for e in events if e["reason"] == "Scheduled"]
        assert len(told) == len(set(told))


def counted_on(process: Process, name: str) -> str:
    """The node on which the scheduler counts a pod; empty where it has no room."""
    cluster = process.scheduler.board.cluster
    row = cluster.pods.row_of.get(f"default/{name}")
    return "" if row is None else cluster.nodes.names[int(cluster.pods.node_row.data[row])]


def make_pod(name: str, priority_class: str = "") -> PodBuilder:
    """A pod as the API server takes it."""
    pod = testing.make_pod(name).image("app:1")
    if priority_class:
        pod.manifest["spec"]["priorityClassName"] = priority_class
    return pod


def on_rig(
    scenario: Callable[[Rig], Awaitable[None]], folder: Path, users: dict[str, str] | None = None
) -> None:
    """Run a scenario in virtual time; only ``users`` may call, by token, where there are any."""
    clock = VirtualClock()

    async def main() -> None:
        options = EmbeddedOptions(clock=clock, rng=Random(1), users=users or {})
        async with EmbeddedApi(options) as api:
            for name, value in ((LOW, 1), (HIGH, 100)):
                api.store.create(
                    "priorityclasses.scheduling.k8s.io",
                    {"metadata": {"name": name}, "value": value},
                )
            rig = Rig(api, clock, folder)
            await scenario(rig)
            rig.check()
        await settle()  # connections take a turn to close

    run(main(), clock)
