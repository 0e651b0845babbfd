"""Handlers on a real cluster, and a queue that writes down what it is told."""

from __future__ import annotations

from typing import Any, cast

from bayplan.cluster.audit import check
from bayplan.cluster.cluster import Cluster
from bayplan.cluster.podinfo import PodInfo
from bayplan.framework.events import ClusterEvent
from bayplan.runtime.ingest.nodes import Nodes
from bayplan.runtime.ingest.pods import Pods
from bayplan.runtime.ingest.turns import Turns
from bayplan.runtime.ingest.waking import Waker
from bayplan.runtime.waiting import WaitingPods
from bayplan.telemetry.metrics import Metrics
from bayplan.testing.builders import PodBuilder
from bayplan.testing.virtual_time import VirtualClock


class Queue:
    """What the queue was told, oldest first."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.events: list[ClusterEvent] = []

    def add(self, pod: PodInfo, now: float, *, goes_first: bool = False) -> None:
        self.told.append(f"add {pod.name}")

    def update(self, pod: PodInfo, now: float) -> None:
        self.told.append(f"update {pod.name}")

    def remove(self, key: str, uid: str, now: float) -> None:
        self.told.append(f"remove {key.partition('/')[2]}")

    def on_event(
        self,
        event: ClusterEvent,
        now: float,
        *,
        up_to_priority: int | None = None,
        besides: str = "",
    ) -> None:
        limit = "" if up_to_priority is None else f" up to {up_to_priority}"
        self.told.append(event.label + limit)
        self.events.append(event)

    def take(self) -> list[str]:
        told, self.told = self.told, []
        return told


class Scene:
    """A cluster that is told things."""

    def __init__(self, turns: Turns | None = None) -> None:
        self.cluster = Cluster()
        self.queue = cast("Any", Queue())
        self.waiting = WaitingPods()
        self.clock = VirtualClock()
        self.waker = Waker(self.queue, Metrics(), self.clock)
        self.nodes = Nodes(self.cluster, self.waker)
        self.pods = Pods(
            self.cluster,
            self.queue,
            self.waiting,
            self.waker,
            turns or Turns({"default-scheduler"}),
            self.clock,
        )
        self.version = 10

    def put(self, pod: PodBuilder, uid: str = "u1") -> None:
        """The watch shows a pod, in a newer version each time."""
        self.version += 1
        pod.manifest["spec"].setdefault("schedulerName", "default-scheduler")
        self.pods.on_put(pod.uid(uid).version(str(self.version)).build())

    def gone(self, name: str, uid: str = "u1") -> None:
        """The watch says that a pod is gone."""
        self.pods.on_gone("default", name, uid, None)

    def assume(self, name: str, node: str) -> None:
        """A pod was decided."""
        self.cluster.assume(self.pods.pending[f"default/{name}"], node)

    def take(self) -> list[str]:
        """What the queue was told since; the columns are recounted."""
        check(self.cluster)
        told: list[str] = self.queue.take()
        return told
