"""Pods, as the watch tells of them: placed ones go into the columns, pending ones of ours into the queue, others are counted.

::

                    no node, a profile of ours         a node
    (first seen) ──────────────────────────▶ PENDING ─────────▶ PLACED
          │                                     │ deleted         │ deleted, finished
          ├── a node ──▶ PLACED                 ▼                 ▼
          └── no node, nobody's profile here, or another one's turn: counted, not queued

Fed by the informer of pods. The pending pods kept here are what an attempt that failed is compared with: is the pod still
there, is it the same one, has it got a node meanwhile? (upstream: eventhandlers.go)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from bayplan.framework.events import UNSCHEDULED_POD_ADD, Action, ClusterEvent, Resource
from bayplan.framework.pod_news import changes, pod_of
from bayplan.model import requests
from bayplan.runtime.ingest.remembered import resized_pod_of
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.clock import Clock
    from bayplan.cluster.cluster import Cluster
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.model.pod import Pod
    from bayplan.queueing.scheduling import SchedulingQueue
    from bayplan.runtime.ingest.turns import Turns
    from bayplan.runtime.ingest.waking import Waker
    from bayplan.runtime.waiting import WaitingPods

_log: Final = get_logger(__name__)

_ADD: Final = (3, "Add event for unscheduled pod")
_UPDATE: Final = (4, "Update event for unscheduled pod")


class Pods:
    """Handler of pods (``client.informer.Handler``)."""

    def __init__(
        self,
        cluster: Cluster,
        queue: SchedulingQueue,
        waiting: WaitingPods,
        waker: Waker,
        turns: Turns,
        clock: Clock,
    ) -> None:
        self._cluster = cluster
        self._queue = queue
        self._waiting = waiting
        self._waker = waker
        self._clock = clock
        self.turns = turns
        #: Told the node on which another scheduler has placed a pod.
        self.on_foreign: list[Callable[[str], None]] = []
        #: Our pods without a node, by key: those in the queue, in an attempt and those being bound.
        self.pending: dict[str, PodInfo] = {}
        #: Keys of pods without a node that are some other scheduler's.
        self.foreign: set[str] = set()
        #: Told the uid of a pod that is gone, or will be after its time of grace.
        self.on_leaving: list[Callable[[str], None]] = []
        #: Told of a pending pod whose status the API server shows: conditions may have changed.
        self.on_status: list[Callable[[Pod], None]] = []
        #: Told the uid of a pod that was pending and is so no longer: it has a node, or is gone.
        self.on_settled: list[Callable[[str], None]] = []

    # --- what the watch says -------------------------------------------------------------------------------------------

    def on_put(self, pod: Pod) -> None:
        """A pod was added or changed."""
        self.turns.note(pod)
        if pod.is_finished:
            self.on_gone(pod.namespace, pod.name, pod.uid, pod)
            return
        if pod.is_terminating and _lingers(pod):
            self._leaving(pod.uid)
        if pod.spec.node_name:
            self._assigned(pod)
        elif self.turns.is_ours(pod.spec.scheduler_name):
            self._pending(pod)
        else:
            self.foreign.add(pod.key)
        self._changed()

    def on_gone(self, namespace: str, name: str, uid: str, last: Pod | None) -> None:
        """A pod was deleted, or has ended."""
        key = f"{namespace}/{name}"
        self.foreign.discard(key)
        self.turns.gone(key, uid)
        if uid:
            # First of all: whoever waits for this end has to be free when the event wakes him.
            self._leaving(uid)
        waits = self.pending.get(key)
        if waits is not None and (not uid or waits.uid == uid):
            self._pending_gone(waits)
        else:
            self._assigned_gone(namespace, name, uid)
        self._changed()

    def on_listed(self) -> None:
        """Nothing waits for a complete list here."""

    # --- pods with a node ----------------------------------------------------------------------------------------------

    def _assigned(self, pod: Pod) -> None:
        info = self._cluster.info(pod)
        key = info.key
        self.foreign.discard(key)
        was_pending = self.pending.get(key)
        if was_pending is not None and was_pending.uid != info.uid:
            self._pending_gone(was_pending)
            was_pending = None
        before = self._placed(key)
        if was_pending is not None:
            self._settled(was_pending)
            self._note_other_node(info, before)
            self._put(info)
            self._queue.remove(key, info.uid, self._clock.monotonic())
            _tell(3, "Add event for scheduled pod", key)
            self._wake(Action.ADD, None, pod)
        elif before is None or before.uid != info.uid:
            self._put(info)
            _tell(3, "Add event for scheduled pod", key)
            for told in self.on_foreign:
                told(info.node_name)
            self._wake(Action.ADD, None, pod)
        elif before.resource_version != info.resource_version:
            _tell(4, "Update event for scheduled pod", key)
            self._cluster.put_pod(info)
            self._updated(before, info, pod)

    def _updated(self, before: PodInfo, info: PodInfo, pod: Pod) -> None:
        """A placed pod changed: one event per aspect."""
        actions = changes(before, info)
        old = pod_of(before)
        if requests.for_placed(old).requests != dict(before.shape.placed.requests):
            old = resized_pod_of(before)
        for action in actions:
            self._wake(action, old, pod)

    def _note_other_node(self, info: PodInfo, assumed: PodInfo | None) -> None:
        """Say so where somebody else has bound a pod that we had a node for; the truth is adopted."""
        if assumed is not None and assumed.node_name != info.node_name:
            _log.warning(
                "Pod was bound to another node than the one chosen for it",
                pod=info.key,
                node=info.node_name,
                chosen=assumed.node_name,
            )

    def _assigned_gone(self, namespace: str, name: str, uid: str) -> None:
        before = self._placed(f"{namespace}/{name}")
        self._cluster.remove_pod(namespace, name, uid)
        if before is not None and (not uid or before.uid == uid):
            _tell(3, "Delete event for scheduled pod", before.key)
            self._wake(Action.DELETE, pod_of(before), None)

    def _placed(self, key: str) -> PodInfo | None:
        """The pod of that name that holds room on a node."""
        pods = self._cluster.pods
        row = pods.row_of.get(key)
        if row is None:
            return None
        return pods.info(row, self._cluster.nodes.names[int(pods.node_row.data[row])])

    # --- pods of ours without a node -----------------------------------------------------------------------------------

    def _pending(self, pod: Pod) -> None:
        info = self._cluster.info(pod)
        key = info.key
        known = self.pending.get(key)
        if known is not None and known.uid != info.uid:
            self._pending_gone(known)
            known = None
        if known is None:
            placed = self._placed(key)
            if placed is not None and placed.uid != info.uid:
                self._assigned_gone(info.namespace, info.name, placed.uid)
        elif known.resource_version == info.resource_version and info.resource_version:
            return
        self.pending[key] = info
        self.foreign.discard(key)
        for told in self.on_status:
            told(pod)
        now = self._clock.monotonic()
        _tell(*(_ADD if known is None else _UPDATE), key)
        if known is None:
            self._put(info)
            group = info.group
            half = group is not None and self._cluster.gangs.is_broken(group)
            self._queue.add(info, now, goes_first=half)
        elif self.is_assumed(info):
            if info.terminating and not known.terminating:
                self._assumed_leaving(info)
        else:
            self._keep_promise(known, info)
            self._queue.update(info, now)
            if known.nominated_node and known.nominated_node != info.nominated_node:
                self._promise_ended(known)

    def _keep_promise(self, known: PodInfo, info: PodInfo) -> None:
        """Bring a promise up to date; one that the API server has not heard of yet outlasts other news of the pod."""
        nominations = self._cluster.nominations
        promised = nominations.node_of(info.key)
        self._put(info)
        if promised and not known.nominated_node and not info.nominated_node:
            nominations.put(info, promised)

    def _pending_gone(self, info: PodInfo) -> None:
        _tell(3, "Delete event for unscheduled pod", info.key)
        self._settled(info)
        self._queue.remove(info.key, info.uid, self._clock.monotonic())
        assumed = self._placed(info.key)
        promised = self._cluster.nominations.node_of(info.key)
        if assumed is not None and assumed.uid == info.uid:
            self._waiting.reject(info.uid)
            self._cluster.remove_pod(info.namespace, info.name, info.uid)
            self._wake(Action.DELETE, pod_of(assumed), None)
            return
        self._cluster.remove_pod(info.namespace, info.name, info.uid)
        if promised or info.nominated_node:
            self._promise_ended(info)

    def _assumed_leaving(self, info: PodInfo) -> None:
        """The deletion of a pod that is being bound has begun: its room is free at once."""
        assumed = self._placed(info.key)
        if assumed is None:
            return
        if not self._waiting.reject(info.uid):
            self._cluster.forget(info)
        self._wake(Action.DELETE, pod_of(assumed), None)

    def _promise_ended(self, info: PodInfo) -> None:
        """A promised node is free for others of no higher priority, as if the pod had run there and were gone."""
        event = ClusterEvent.of(Resource.ASSIGNED_POD, Action.DELETE, pod_of(info), None)
        self._queue.on_event(event, self._clock.monotonic(), up_to_priority=info.priority)

    def _settled(self, info: PodInfo) -> None:
        del self.pending[info.key]
        for told in self.on_settled:
            told(info.uid)

    def go_by_policies_of_now(self) -> list[PodInfo]:
        """Scheduling policies have changed: bring the pending pods that this concerns up to date, and say which they are."""
        now, concerned = self._clock.monotonic(), []
        for key, known in list(self.pending.items()):
            info = self._cluster.info_again(known)
            if info is known:
                continue
            self.pending[key] = info
            if not self.is_assumed(info):
                self._queue.update(info, now)
                concerned.append(info)
        return concerned

    def seen_on(self, info: PodInfo) -> str | None:
        """The node on which the watch shows exactly this pod; empty: it is gone; None: it has no node yet."""
        known = self.pending.get(info.key)
        if known is not None and known.uid == info.uid:
            return None
        placed = self._placed(info.key)
        return placed.node_name if placed is not None and placed.uid == info.uid else ""

    def is_assumed(self, info: PodInfo) -> bool:
        """Whether exactly this pod is counted on a node before the API server shows it there."""
        pods = self._cluster.pods
        row = pods.row_of.get(info.key)
        return row is not None and pods.uids[row] == info.uid and pods.is_assumed(row)

    def _put(self, info: PodInfo) -> None:
        """Into the columns; the member that a group was short of lets its siblings in."""
        group, gangs = info.group, self._cluster.gangs
        was_ready = group is None or gangs.is_ready(group)
        self._cluster.put_pod(info)
        if group is not None and not was_ready and gangs.is_ready(group):
            self._queue.on_group(group, self._clock.monotonic(), UNSCHEDULED_POD_ADD)

    # --- profiles that are served by turns -----------------------------------------------------------------------------

    def take_up(self, profile: str) -> None:
        """The pods of a profile are ours from now on."""
        self.turns.away.discard(profile)
        if not self.turns.is_ours(profile):
            return  # the configuration has it no more
        for pod in self.turns.pods(profile):
            self.foreign.discard(pod.key)
            self._pending(pod)
        self._changed()

    def under_way(self, profile: str) -> int:
        """How many pods of a profile are on their way to a node."""
        waiting = (info for info in self.pending.values() if info.spec.scheduler_name == profile)
        return sum(map(self.is_assumed, waiting))

    def lay_down(self, profile: str) -> None:
        """The pods of a profile are another scheduler's from now on."""
        self.turns.away.add(profile)
        for info in [i for i in self.pending.values() if i.spec.scheduler_name == profile]:
            self._pending_gone(info)
            self.foreign.add(info.key)
        self._changed()

    # --- telling others ------------------------------------------------------------------------------------------------

    def _wake(self, action: Action, old: Pod | None, new: Pod | None) -> None:
        self._waker.wake(ClusterEvent.of(Resource.ASSIGNED_POD, action, old, new))

    def _leaving(self, uid: str) -> None:
        for told in self.on_leaving:
            told(uid)

    def _changed(self) -> None:
        for changed in self._waker.on_change:
            changed()


def _lingers(pod: Pod) -> bool:
    """Whether a pod that is being deleted stays for a while; without a time of grace its end is the next news of it."""
    meta = pod.metadata
    return bool(meta.finalizers) or meta.deletion_grace_period_seconds != 0


def _tell(level: int, message: str, pod: str) -> None:
    """As kube-scheduler's event handlers do."""
    if debug := _log.v(level):
        debug.info(message, pod=pod)
