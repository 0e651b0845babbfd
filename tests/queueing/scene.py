"""A queue to play with: plugins that say what a test wants, pods by name, and a clock that is put forward by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bayplan import (
    Action,
    FilterPlugin,
    Hint,
    PodInfo,
    PreEnqueuePlugin,
    QueueSortPlugin,
    Rejected,
    Resource,
    WakeOn,
)
from bayplan.cluster.cluster import Cluster
from bayplan.framework.events import ClusterEvent
from bayplan.framework.plugin import Plugin
from bayplan.framework.profile import Profile
from bayplan.plugins.priority_sort import PrioritySort
from bayplan.plugins.scheduling_gates import SchedulingGates
from bayplan.queueing.entry import Place, Queued, QueueSettings, Rejection
from bayplan.queueing.scheduling import SchedulingQueue
from bayplan.telemetry.catalog import QUEUE_INCOMING
from bayplan.telemetry.instruments import CounterVec
from bayplan.telemetry.metrics import Metrics
from bayplan.testing import PodBuilder, make_pod

Says = Callable[[PodInfo, Any, Any], Hint]

NODE_ADD = ClusterEvent.of(Resource.NODE, Action.ADD, None, "a node")
POD_DELETE = ClusterEvent.of(
    Resource.ASSIGNED_POD, Action.DELETE, make_pod("gone").on("n").build(), None
)


def queue_it(pod: PodInfo, old: Any, new: Any) -> Hint:
    return Hint.QUEUE


def skip_it(pod: PodInfo, old: Any, new: Any) -> Hint:
    return Hint.SKIP


def listener(name: str, *wakes: WakeOn) -> Plugin:
    """A plugin that turns pods down and wants to hear of these things."""

    class Listener(FilterPlugin):
        def wakes_on(self) -> Sequence[WakeOn]:
            return wakes

    Listener.name = name
    return Listener()


class Gate(PreEnqueuePlugin):
    """Keeps out the pods whose names are in ``shut``."""

    def __init__(self, *wakes: WakeOn) -> None:
        super().__init__()
        self.shut: set[str] = set()
        self.asked: list[str] = []
        self.wakes = wakes

    def pre_enqueue(self, pod: PodInfo) -> Rejected | None:
        self.asked.append(pod.name)
        return Rejected("shut") if pod.name in self.shut else None

    def wakes_on(self) -> Sequence[WakeOn]:
        return self.wakes


def make_profile(
    *plugins: Plugin, name: str = "default-scheduler", sort: QueueSortPlugin | None = None
) -> Profile:
    everyone = [sort or PrioritySort(), SchedulingGates(), *plugins]
    return Profile(
        name=name,
        percentage_of_nodes_to_score=0,
        plugins=list(everyone),
        pre_enqueue=tuple(p for p in everyone if isinstance(p, PreEnqueuePlugin)),
        queue_sort=tuple(p for p in everyone if isinstance(p, QueueSortPlugin)),
        prefilter=(),
        filter=tuple(p for p in everyone if isinstance(p, FilterPlugin)),
        postfilter=(),
        prescore=(),
        score=(),
        weights={},
        reserve=(),
        permit=(),
        prebind=(),
        bind=(),
        postbind=(),
    )


class Scene:
    """A queue, its clock, and the pods that went in."""

    def __init__(
        self,
        *plugins: Plugin,
        settings: QueueSettings | None = None,
        sort: QueueSortPlugin | None = None,
    ) -> None:
        self.metrics = Metrics()
        profile = make_profile(*plugins, sort=sort)
        self.queue = SchedulingQueue({profile.name: profile}, settings, metrics=self.metrics)
        self.cluster = Cluster()
        self.now = 100.0

    def info(self, pod: str | PodBuilder) -> PodInfo:
        builder = make_pod(pod) if isinstance(pod, str) else pod
        built = builder.build()
        return self.cluster.info(built if built.uid else builder.uid(builder.name).build())

    def add(self, *pods: str | PodBuilder) -> None:
        for pod in pods:
            self.queue.add(self.info(pod), self.now)

    def pop(self) -> Queued:
        queued = self.queue.pop(self.now)
        assert queued is not None, "nothing to pop"
        return queued

    def drain(self) -> list[str]:
        """Names in the order in which they are popped; all are bound."""
        names = []
        while (queued := self.queue.pop(self.now)) is not None:
            names.append(queued.pod.name)
            self.queue.done(queued.pod.uid)
        return names

    def turn_down(self, queued: Queued, *plugins: str, pending: Sequence[str] = ()) -> None:
        self.queue.requeue(queued, self.now, Rejection(frozenset(plugins), frozenset(pending)))

    def break_down(self, queued: Queued) -> None:
        self.queue.requeue(queued, self.now, Rejection(is_error=True))

    def park(self, pod: str | PodBuilder, *plugins: str, pending: Sequence[str] = ()) -> Queued:
        """A pod that was tried once and turned down; its backoff is over."""
        self.add(pod)
        queued = self.pop()
        self.turn_down(queued, *plugins, pending=pending)
        self.now += 11
        return queued

    def event(self, event: ClusterEvent, **only: Any) -> None:
        self.queue.on_event(event, self.now, **only)

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.queue.flush(self.now)

    def where(self, name: str) -> Place:
        queued = self.queue.get(f"default/{name}")
        return queued.place if queued is not None else Place.OUT

    def incoming(self) -> dict[tuple[str, ...], float]:
        """How many pods came into which queue, and by which event."""
        return incoming(self.metrics)


def incoming(metrics: Metrics) -> dict[tuple[str, ...], float]:
    for instrument in metrics.instruments:
        if isinstance(instrument, CounterVec) and instrument.spec is QUEUE_INCOMING:
            return dict(instrument.values)
    raise LookupError("the metric of incoming pods is gone")
