"""A store with everything that lives in a cluster and no server, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any

from bayplan.embedded.agents.pods import Pace
from bayplan.embedded.binding import bind
from bayplan.embedded.cluster import living_parts
from bayplan.embedded.nodes.making import make_nodes
from bayplan.embedded.nodes.shape import Shape, of_count
from bayplan.embedded.objects import Object
from bayplan.embedded.store import Store
from bayplan.testing.virtual_time import VirtualClock, run


class World:
    """What a test sees of it."""

    def __init__(self, store: Store, parts: Sequence[object] = ()) -> None:
        self.store = store
        #: Everything that lives in it.
        self.parts = parts

    async def settle(self, seconds: float = 0.2) -> None:
        """Let controllers do what they do within so much time."""
        await asyncio.sleep(seconds)

    def pods(self, labels: str = "") -> list[Object]:
        return list(self.store.list("pods", "default", labels=labels))

    def phases(self) -> dict[str, str]:
        return {pod["metadata"]["name"]: pod["status"]["phase"] for pod in self.pods()}

    def create(self, resource: str, name: str, **rest: Any) -> Object:
        kind = self.store.kind(resource)
        meta = {"name": name, **rest.pop("metadata", {})}
        obj = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, **rest}
        return self.store.create(resource, obj, "default" if kind.namespaced else "")

    def pod(self, name: str, **meta: Any) -> Object:
        return self.create("pods", name, metadata=meta, spec=POD_SPEC)

    def get(self, resource: str, name: str) -> Object:
        kind = self.store.kind(resource)
        return self.store.get(resource, name, "default" if kind.namespaced else "")

    def gone(self, resource: str, name: str) -> bool:
        kind = self.store.kind(resource)
        return self.store.find(resource, name, "default" if kind.namespaced else "") is None

    def gone_lease(self, node: str) -> bool:
        return self.store.find("leases.coordination.k8s.io", node, "kube-node-lease") is None

    def bind(self, pod: str, node: str = "node-1") -> None:
        bind(self.store, "default", pod, {"target": {"kind": "Node", "name": node}})

    def bind_all(self) -> None:
        for pod in self.pods():
            if not pod["spec"].get("nodeName"):
                self.bind(pod["metadata"]["name"])

    def scale(self, resource: str, name: str, **spec: Any) -> None:
        def change(current: Object | None) -> Object:
            assert current is not None
            current["spec"].update(spec)
            return current

        self.store.patch(resource, name, change, "default")


POD_SPEC: Object = {"containers": [{"name": "main", "image": "app"}]}
TEMPLATE: Object = {"metadata": {"labels": {"app": "web"}}, "spec": POD_SPEC}
SELECTOR: Object = {"matchLabels": {"app": "web"}}


def lives(
    test: Callable[[World], Awaitable[None]], shape: Shape | None = None, pace: Pace | None = None
) -> None:
    """Run a test in a world with one node, or with more."""
    clock = VirtualClock()

    async def main() -> None:
        store = Store(clock, rng=Random(1))
        store.seed()
        for node in make_nodes(shape or of_count(1), clock.now()):
            store.create("nodes", node)
        parts = living_parts(store, pace or Pace())
        for part in parts:
            part.start()
        try:
            await test(World(store, parts))
        finally:
            for part in reversed(parts):
                part.stop()

    run(main(), clock)
