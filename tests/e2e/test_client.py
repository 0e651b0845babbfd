"""The client against two API servers, the embedded one and the real one: the same scenes, and the same comes of them.

The embedded one's are not marked e2e: they run with every ``make test``.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest

from bayplan.client.api import Api
from bayplan.client.config import load
from bayplan.client.informer import Informer, InformerSettings
from bayplan.client.lanes import Lane
from bayplan.client.leases import ElectionSettings, Elector
from bayplan.client.request import Request
from bayplan.client.resources import (
    COSCHEDULING_POD_GROUPS,
    NODES,
    PODS,
    ConditionChange,
    EventNote,
    ObjectRef,
    bind,
    delete_pod,
    event,
    event_series,
    patch_status,
)
from bayplan.clock import SystemClock
from bayplan.embedded.server import EmbeddedApi
from bayplan.errors import AlreadyExists, ApiError, Conflict, Invalid, NotFound
from bayplan.model import KubeObject, Pod
from bayplan.runtime.scheduler import POD_FIELDS
from bayplan.testing.control_plane import ControlPlane, find_binaries
from bayplan.testing.control_plane.users import ADMINISTRATORS
from tests.e2e.stage import node, pod

CLOCK = SystemClock()
#: Nothing takes nearly as long; a test that hangs ends.
LIMIT_S = 60


class World(Protocol):
    """An API server and what can happen to it."""

    kubeconfig: Path

    async def stop(self) -> None:
        """It goes away."""

    async def start(self) -> None:
        """It comes back."""

    async def forget(self) -> None:
        """Whatever is known of the past by now cannot be gone on from; called while it is away."""


@dataclass
class Embedded:
    api: EmbeddedApi
    kubeconfig: Path

    async def stop(self) -> None:
        await self.api.stop_listening()

    async def start(self) -> None:
        await self.api.listen()

    async def forget(self) -> None:
        self.api.faults.expire()


@dataclass
class Real:
    plane: ControlPlane
    kubeconfig: Path

    async def stop(self) -> None:
        await asyncio.to_thread(self.plane.stop_api)

    async def start(self) -> None:
        await asyncio.to_thread(self.plane.start_api)

    async def forget(self) -> None:
        # The watch cache of an API server that starts begins with the present, whatever etcd remembers.
        await asyncio.to_thread(self.plane.etcd.compact)


@asynccontextmanager
async def embedded(folder: Path) -> AsyncIterator[World]:
    async with EmbeddedApi() as api:
        yield Embedded(api, api.write_kubeconfig(folder / "kubeconfig"))


@asynccontextmanager
async def real(folder: Path) -> AsyncIterator[World]:
    with ControlPlane(folder, find_binaries()) as plane:
        yield Real(plane, plane.user("client", [ADMINISTRATORS]).kubeconfig)


class Heard:
    """A handler whose knowledge can be waited for."""

    def __init__(self) -> None:
        self.objects: dict[str, KubeObject] = {}
        self.gone: list[str] = []
        self.changed = asyncio.Event()

    def on_put(self, obj: KubeObject) -> None:
        self.objects[obj.name] = obj
        self.changed.set()

    def on_gone(self, namespace: str, name: str, uid: str, last: KubeObject | None) -> None:
        self.gone.append(name)
        del self.objects[name]
        self.changed.set()

    def on_listed(self) -> None:
        self.changed.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            self.changed.clear()
            await self.changed.wait()

    def pod(self, name: str) -> Pod:
        found = self.objects[name]
        assert isinstance(found, Pod)
        return found


@dataclass
class Stage:
    world: World
    api: Api
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def create(self, *objects: Any) -> None:
        """Nodes and pods, by our own client."""
        for made in objects:
            manifest = made.manifest
            resource = PODS if manifest["kind"] == "Pod" else NODES
            path = resource.path(namespace="default")
            body = json.dumps(manifest).encode()
            await self.api.send(Request("POST", path, body, guarded=True), Lane.READ)

    def watch(self, resource: Any, **more: Any) -> tuple[Heard, Informer[Any]]:
        heard = Heard()
        informer = Informer(self.api, resource, heard, clock=CLOCK, rng=random.Random(3), **more)
        self.tasks.append(asyncio.create_task(informer.run()))
        return heard, informer


Scene = Callable[[Stage], Awaitable[None]]


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.e2e)])
def played(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Scene], None]:
    """Plays a scene against one of the two."""
    if request.param == "real":
        request.getfixturevalue("binaries")
    make = real if request.param == "real" else embedded

    async def whole(scene: Scene) -> None:
        async with make(tmp_path) as world, asyncio.timeout(LIMIT_S):
            api = Api.open(load(world.kubeconfig), CLOCK, random.Random(1))
            stage = Stage(world, api)
            try:
                await scene(stage)
                assert not any(task.done() for task in stage.tasks)
            finally:
                for task in stage.tasks:
                    task.cancel()
                await asyncio.gather(*stage.tasks, return_exceptions=True)
                await api.close()

    return lambda scene: asyncio.run(whole(scene))


def test_pods_come_are_bound_and_go(played: Callable[[Scene], None]) -> None:
    async def scene(stage: Stage) -> None:
        send = stage.api.send
        await stage.create(node("n1"), node("n2"), *(pod(f"p{i}") for i in range(7)))
        pods, informer = stage.watch(
            PODS, field_selector=POD_FIELDS, settings=InformerSettings(page_size=3)
        )
        nodes, _ = stage.watch(NODES)
        await pods.until(lambda: informer.synced)
        await nodes.until(lambda: set(nodes.objects) == {"n1", "n2"})
        assert set(pods.objects) == {f"p{i}" for i in range(7)}

        uid = pods.pod("p0").uid
        await send(bind("default", "p0", uid, "n1", {"bayplan.io/why": "room"}), Lane.BIND)
        await pods.until(lambda: pods.pod("p0").spec.node_name == "n1")
        assert pods.pod("p0").annotations["bayplan.io/why"] == "room"
        with pytest.raises(Conflict, match='already assigned to node "n1"'):
            await send(bind("default", "p0", uid, "n2"), Lane.BIND)
        with pytest.raises(Conflict):
            await send(bind("default", "p1", "another-uid", "n2"), Lane.BIND)
        with pytest.raises(NotFound):
            await send(bind("default", "nobody", uid, "n2"), Lane.BIND)

        with pytest.raises(Conflict):
            await send(delete_pod("default", "p1", "another-uid"), Lane.EVICTION)
        gone = delete_pod("default", "p1", pods.pod("p1").uid, grace_period_seconds=0)
        await send(gone, Lane.EVICTION)
        await pods.until(lambda: "p1" in pods.gone)

        # One that has finished leaves the selection, and that arrives as a deletion.
        body = b'{"status":{"phase":"Succeeded"}}'
        path = PODS.path("p2", "default", "status")
        await send(Request("PATCH", path, body, "application/merge-patch+json"), Lane.STATUS)
        await pods.until(lambda: "p2" in pods.gone)

    played(scene)


def test_status_and_events_as_they_are_written(played: Callable[[Scene], None]) -> None:
    async def scene(stage: Stage) -> None:
        send = stage.api.send
        await stage.create(pod("web"))
        pods, _ = stage.watch(PODS)
        await pods.until(lambda: "web" in pods.objects)
        uid = pods.pod("web").uid
        change = ConditionChange("PodScheduled", "False", "Unschedulable", "0/0", CLOCK.now())
        await send(
            patch_status("default", "web", uid, conditions=(change,), nominated_node_name="n1"),
            Lane.STATUS,
        )
        await pods.until(lambda: pods.pod("web").status.nominated_node_name == "n1")
        assert [c.reason for c in pods.pod("web").status.conditions] == ["Unschedulable"]
        with pytest.raises(Conflict):
            await send(patch_status("default", "web", "other", conditions=(change,)), Lane.STATUS)
        await send(patch_status("default", "web", uid, nominated_node_name=""), Lane.STATUS)
        await pods.until(lambda: not pods.pod("web").status.nominated_node_name)
        assert [c.reason for c in pods.pod("web").status.conditions] == ["Unschedulable"]

        note = EventNote(ObjectRef("Pod", "default", "web", uid), "Scheduled", "Binding", "done")
        made = event(note, now=CLOCK.now(), controller="bayplan", instance="me")
        name = json.loads(made.body)["metadata"]["name"]
        await send(made, Lane.EVENT)
        with pytest.raises(AlreadyExists):
            await send(made, Lane.EVENT)
        await send(event_series("default", name, count=2, now=CLOCK.now()), Lane.EVENT)
        path = f"/api/v1/namespaces/default/events/{name}"
        told = json.loads(await send(Request("GET", path), Lane.READ))
        assert (told["reason"], told["message"], told["series"]["count"]) == (
            "Scheduled",
            "done",
            2,
        )

    played(scene)


def test_refusals_are_errors_of_their_kind(played: Callable[[Scene], None]) -> None:
    async def scene(stage: Stage) -> None:
        async def refused(method: str, path: str, body: bytes = b"") -> ApiError:
            with pytest.raises(ApiError) as caught:
                await stage.api.send(Request(method, path, body), Lane.READ)
            return caught.value

        web = json.dumps(pod("web").manifest).encode()
        await stage.create(pod("web"))
        pods = "/api/v1/namespaces/default/pods"
        assert type(await refused("GET", f"{pods}/nobody")) is NotFound
        assert type(await refused("GET", "/apis/no.such.group/v1/things")) is NotFound
        assert type(await refused("POST", pods, web)) is AlreadyExists
        assert type(await refused("POST", pods, b"{")) is Invalid
        assert type(await refused("POST", pods, b'{"metadata":{"name":"No Name!"}}')) is Invalid
        stale = json.loads(web)
        stale["metadata"]["resourceVersion"] = "1"
        assert type(await refused("PUT", f"{pods}/web", json.dumps(stale).encode())) is Conflict

    played(scene)


def test_a_server_that_goes_away_and_comes_back(played: Callable[[Scene], None]) -> None:
    async def scene(stage: Stage) -> None:
        await stage.create(*(node(f"n{i}") for i in range(3)))
        nodes, informer = stage.watch(NODES)
        groups, absent = stage.watch(
            COSCHEDULING_POD_GROUPS, settings=InformerSettings(), optional=True
        )
        await nodes.until(lambda: len(nodes.objects) == 3)
        await groups.until(lambda: absent.synced)
        assert groups.objects == {}

        async def away(number: int, *, forgetting: bool) -> None:
            await stage.world.stop()
            if forgetting:
                await stage.world.forget()
            await stage.world.start()
            await stage.api.send(Request("DELETE", NODES.path(f"n{number}")), Lane.READ)
            await stage.create(node(f"new{number}"))
            await nodes.until(lambda: f"new{number}" in nodes.objects)
            await nodes.until(lambda: f"n{number}" in nodes.gone)

        await away(0, forgetting=False)
        await away(1, forgetting=True)
        assert set(nodes.objects) == {"n2", "new0", "new1"}
        assert informer.synced

    played(scene)


def test_one_leads_and_hands_over(played: Callable[[Scene], None]) -> None:
    async def scene(stage: Stage) -> None:
        settings = ElectionSettings("it", "kube-system", 3.0, 2.0, 0.5)
        first = Elector(stage.api, settings, "first", CLOCK, random.Random(1))
        second = Elector(stage.api, settings, "second", CLOCK, random.Random(2))
        leads = [asyncio.Event(), asyncio.Event()]

        async def candidate(elector: Elector, leading: asyncio.Event) -> None:
            await elector.run(leading.set, leading.clear)

        one = asyncio.create_task(candidate(first, leads[0]))
        await leads[0].wait()
        stage.tasks.append(asyncio.create_task(candidate(second, leads[1])))
        # A server that is away for less than the lease lasts costs the leader nothing.
        await stage.api.send(Request("GET", "/version"), Lane.READ)
        assert first.may_write()
        assert not second.may_write()
        one.cancel()
        await asyncio.wait([one])
        assert await first.release()
        await leads[1].wait()
        assert second.may_write()
        assert not first.may_write()

    played(scene)
