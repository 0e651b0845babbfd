"""A scheduler on a small API in memory: pods and nodes are put there, and what the scheduler writes comes back by watch.

``Small`` keeps pods as the API server would: bindings are refused for the API server's reasons, deletions and patches show
up at the scheduler's handlers, in the next turn of the loop. What a test wants to go wrong it says with ``refuse``.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from bayplan.app import Surroundings, assemble
from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.errors import BayplanError, Conflict, NotFound
from bayplan.framework.config import load_config_objects
from bayplan.framework.plugin import Plugin
from bayplan.framework.registry import Registry
from bayplan.model.decode import decode_as
from bayplan.model.pod import Pod
from bayplan.plugins import default_plugins
from bayplan.runtime.scheduler import Scheduler
from bayplan.telemetry.metrics import Metrics
from bayplan.testing.builders import NodeBuilder, PodBuilder
from bayplan.testing.virtual_time import VirtualClock, run, settle

POD = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/?]+)(?:/(\w+))?")

#: Says of a request, before or after it is carried out, what goes wrong with it.
Trouble = Callable[[Request], BayplanError | None]


class Small:
    """An API server for pods and events, as far as a scheduler writes them."""

    def __init__(self) -> None:
        self.pods: dict[str, dict[str, Any]] = {}
        self.requests: list[Request] = []
        #: Bodies of events, oldest first.
        self.events: list[dict[str, Any]] = []
        #: Of a request that is refused, and of one that is carried out but whose answer is lost.
        self.refuse: Trouble = lambda _request: None
        self.lose: Trouble = lambda _request: None
        #: Whoever is told of changes; None: nobody.
        self.watcher: Any = None
        #: Set where the watch is to lag: changes pile up until ``catch_up``.
        self.lagging = False
        self._unseen: list[Callable[[], None]] = []
        self._version = 100

    # --- what a user does ----------------------------------------------------------------------------------------------

    def create(self, pod: PodBuilder) -> None:
        """Create a pod."""
        manifest = json.loads(json.dumps(pod.manifest))
        manifest["metadata"].setdefault("uid", f"uid-{pod.name}-{self._version}")
        manifest["spec"].setdefault("schedulerName", "default-scheduler")
        self._changed(manifest)

    def delete(self, key: str, uid: str = "") -> None:
        """Delete a pod, at once."""
        manifest = self.pods.get(key)
        if manifest is None:
            raise NotFound(404, "NotFound", f'pods "{key}" not found')
        if uid and manifest["metadata"]["uid"] != uid:
            raise Conflict(409, "Conflict", "the UID in the precondition does not match")
        del self.pods[key]
        pod = decode_as(Pod, manifest)
        self._show(lambda: self.watcher.on_gone(pod.namespace, pod.name, pod.uid, pod))

    def bind(self, key: str, node: str, uid: str = "") -> None:
        """Bind a pod, as another scheduler might."""
        manifest = self.pods.get(key)
        if manifest is None:
            raise NotFound(404, "NotFound", f'pods "{key}" not found')
        if uid and manifest["metadata"]["uid"] != uid:
            raise Conflict(409, "Conflict", "the UID in the precondition does not match")
        if manifest["spec"].get("nodeName"):
            raise Conflict(409, "Conflict", f"pod {key} is already assigned to node")
        if manifest["metadata"].get("deletionTimestamp"):
            raise Conflict(409, "Conflict", f"pod {key} is being deleted, cannot be assigned")
        manifest["spec"]["nodeName"] = node
        self._changed(manifest)

    def catch_up(self) -> None:
        """Let the watch tell what it has not told yet."""
        self.lagging = False
        unseen, self._unseen = self._unseen, []
        for tell in unseen:
            tell()

    def node_of(self, key: str) -> str:
        """Where a pod runs; empty where it does not."""
        node: str = self.pods[key]["spec"].get("nodeName", "")
        return node

    def condition(self, key: str, kind: str = "PodScheduled") -> dict[str, Any]:
        """A condition of a pod; empty where there is none."""
        conditions = self.pods[key]["status"].get("conditions", [])
        return next((c for c in conditions if c["type"] == kind), {})

    def notes(self, reason: str) -> list[str]:
        """What the events of this reason say."""
        return [event["note"] for event in self.events if event["reason"] == reason]

    def sent(self, method: str, end: str = "") -> int:
        """How many requests of this method and this end of the path there were."""
        return sum(r.method == method and r.path.endswith(end) for r in self.requests)

    # --- client.api.Api ------------------------------------------------------------------------------------------------

    async def send(self, request: Request, lane: Lane, *, timeout_s: float | None = None) -> bytes:
        del lane, timeout_s
        await asyncio.sleep(0)
        self.requests.append(request)
        problem = self.refuse(request)
        if problem is not None:
            raise problem
        answer = json.dumps(self._carry_out(request)).encode()
        problem = self.lose(request)
        if problem is not None:
            raise problem
        return answer

    def _carry_out(self, request: Request) -> dict[str, Any]:
        body = json.loads(request.body) if request.body else {}
        if request.path.endswith("/events"):
            self.events.append(body)
            return body
        found = POD.match(request.path)
        assert found is not None, request
        key = f"{found[1]}/{found[2]}"
        if found[3] == "binding":
            self.bind(key, body["target"]["name"], body["metadata"]["uid"])
            return {}
        if request.method == "DELETE":
            self.delete(key, body["preconditions"]["uid"])
            return {}
        if key not in self.pods:
            raise NotFound(404, "NotFound", f'pods "{key}" not found')
        if found[3] == "status":
            self._patch_status(self.pods[key], body)
        return self.pods[key]

    def _patch_status(self, manifest: dict[str, Any], patch: dict[str, Any]) -> None:
        if patch["metadata"]["uid"] != manifest["metadata"]["uid"]:
            raise Conflict(409, "Conflict", "the UID in the precondition does not match")
        status = manifest["status"]
        for change in patch["status"].get("conditions", ()):
            others = [c for c in status.get("conditions", []) if c["type"] != change["type"]]
            status["conditions"] = [*others, change]
        if "nominatedNodeName" in patch["status"]:
            status["nominatedNodeName"] = patch["status"]["nominatedNodeName"] or ""
        self._changed(manifest)

    def _changed(self, manifest: dict[str, Any]) -> None:
        meta = manifest["metadata"]
        self._version += 1
        meta["resourceVersion"] = str(self._version)
        self.pods[f"{meta['namespace']}/{meta['name']}"] = manifest
        pod = decode_as(Pod, json.loads(json.dumps(manifest)))
        self._show(lambda: self.watcher.on_put(pod))

    def _show(self, tell: Callable[[], None]) -> None:
        if self.lagging:
            self._unseen.append(tell)
        else:
            asyncio.get_running_loop().call_soon(tell)


class Bench:
    """A scheduler at work on a ``Small`` API."""

    def __init__(self, api: Small, scheduler: Scheduler, clock: VirtualClock) -> None:
        self.api = api
        self.scheduler = scheduler
        self.clock = clock
        self.leading = True

    def add_nodes(self, *nodes: NodeBuilder) -> None:
        """Nodes appear."""
        for node in nodes:
            self.feed("nodes").on_put(node.build())

    def feed(self, name: str) -> Any:
        """The handler of a kind."""
        return next(f.handler for f in self.scheduler.feeds if f.resource.plural == name)

    async def until_idle(self) -> None:
        """Let everything run that needs no time to pass."""
        await settle()

    async def until_bound(self, *keys: str) -> None:
        """Let things take their course until these pods have nodes, and the scheduler has seen it."""
        await settle(lambda: all(self.api.node_of(key) for key in keys))
        await settle(lambda: not any(key in self.scheduler.pods.pending for key in keys))

    def check(self) -> None:
        """Columns and queue agree with a recount, and no pod is assumed without end."""
        assert self.scheduler.audit() == []
        assert self.scheduler.board.metrics.cache_size.pull()[("assumed_pods",)] == 0


def on_bench(
    scenario: Callable[[Bench], Awaitable[None]],
    *plugins: type[Plugin],
    profiles: tuple[str, ...] = ("default-scheduler",),
    dry_run: bool = False,
    extenders: tuple[dict[str, Any], ...] = (),
) -> None:
    """Run a scenario in virtual time."""
    clock = VirtualClock()

    async def main() -> None:
        async with scheduling(
            *plugins, clock=clock, profiles=profiles, dry_run=dry_run, extenders=extenders
        ) as bench:
            await scenario(bench)

    run(main(), clock)


@asynccontextmanager
async def scheduling(
    *plugins: type[Plugin],
    clock: VirtualClock,
    profiles: tuple[str, ...] = ("default-scheduler",),
    dry_run: bool = False,
    extenders: tuple[dict[str, Any], ...] = (),
) -> AsyncIterator[Bench]:
    """A scheduler that runs, with the default plugins and these."""
    registry = Registry([*default_plugins(), *plugins])
    enabled = [{"name": plugin.name} for plugin in plugins]
    config = load_config_objects(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [
                {"schedulerName": name, "plugins": {"multiPoint": {"enabled": enabled}}}
                for name in profiles
            ],
            "extenders": list(extenders),
        },
        registry,
    )
    api = Small()
    bench: Bench
    around = Surroundings(
        api=api,
        clock=clock,
        metrics=Metrics(),
        hostname="here",
        seed=1,
        may_write=lambda: bench.leading,
        dry_run=dry_run,
    )
    scheduler = assemble(config, registry, around)
    bench = Bench(api, scheduler, clock)
    api.watcher = scheduler.pods
    tasks = [
        asyncio.create_task(scheduler.loop.run()),
        asyncio.create_task(scheduler.write_reports()),
    ]
    try:
        yield bench
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await scheduler.close()
