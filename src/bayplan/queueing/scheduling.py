"""The scheduling queue: which pod next, and when does one that failed get another chance.

::

                    add                pop
    (watch) ───────────────▶ ACTIVE ─────────▶ out: decided, held, bound ──▶ done
               │             ▲  ▲ ▲                     │ requeue
      PreEnqueue says no     │  │ └── backoff over ── BACKOFF ◀── an error; an event came meanwhile
               ▼             │  │                       ▲
             GATED ── event ─┘  └── event, waited ── UNSCHEDULABLE ◀── turned down by plugins
                                                        └── event, still backing off ──▶ BACKOFF

Fed by ``runtime.ingest`` (pods, events), the loop (pop, requeue, done) and plugins (activate). Nothing here looks at a clock:
``now`` is monotonic seconds. The rules are kube-scheduler's (backend/queue/scheduling_queue.go, v1.36.4); promises of nodes are
kept in ``cluster.nominations``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from bayplan.framework import events
from bayplan.framework.events import ClusterEvent
from bayplan.queueing.course import changed_course
from bayplan.queueing.entry import NOBODY, Place, Queued, QueueSettings, Rejection, asked_for
from bayplan.queueing.gates import find_gate, perhaps_let_in
from bayplan.queueing.hints import Listener, Listeners, Strategy, Timing
from bayplan.queueing.in_flight import InFlight
from bayplan.queueing.own_update import own_update_events
from bayplan.queueing.places import Places
from bayplan.queueing.woken import woken_by
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.framework.profile import Profile
    from bayplan.model.pod_group import GroupKey
    from bayplan.queueing.in_flight import Flight
    from bayplan.telemetry.metrics import Metrics

__all__ = ["QueueSettings", "Queued", "Rejection", "SchedulingQueue"]

_log: Final = get_logger(__name__)

#: How often the pods are looked through that nothing has woken for long.
SWEEP_S: Final = 30.0


class SchedulingQueue:
    """All pending pods of our profiles."""

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        settings: QueueSettings | None = None,
        *,
        metrics: Metrics | None = None,
        timer: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """``timer`` measures for the metrics how long plugins take; nothing is decided by it."""
        self._profiles = profiles
        self._settings = settings or QueueSettings()
        self._metrics = metrics
        self._timer = timer
        self._listeners = self._listeners_of(profiles)
        #: Which profile decides a pod.
        self._route: Callable[[PodInfo], str] = asked_for
        # The configuration sees to it that all profiles sort alike.
        self._places = Places(next(iter(profiles.values())).queue_sort[0], self._settings)
        self._in_flight = InFlight()
        self._swept_at: float | None = None

    def _listeners_of(self, profiles: Mapping[str, Profile]) -> Listeners:
        timing = Timing(self._metrics, self._timer) if self._metrics is not None else None
        return Listeners(profiles, timing, extended=self._settings.extended)

    def use(
        self,
        profiles: Mapping[str, Profile],
        now: float,
        route: Callable[[PodInfo], str] = asked_for,
    ) -> None:
        """Other profiles decide from now on, each pod that to which ``route`` takes it.

        The order of the queue stays that of the QueueSort plugin which the queue began with.
        """
        former, self._profiles = self._profiles, profiles
        self._listeners, self._route = self._listeners_of(profiles), route
        for queued in changed_course(self._places, former, profiles, route):
            self._return(queued, Strategy.AFTER_BACKOFF, events.PROFILE_RELOAD, now)
        self._in_flight.note(ClusterEvent.reloaded())

    # --- pods come, change and go --------------------------------------------------------------------------------------

    def add(self, pod: PodInfo, now: float, *, goes_first: bool = False) -> None:
        """A pod without a node was created, or one is seen for the first time; ``goes_first``: its group is half on nodes."""
        if pod.key in self._places.by_key or self._in_flight.get(pod.uid) is not None:
            self.update(pod, now)
        else:
            self._enter(pod, events.UNSCHEDULED_POD_ADD, now, goes_first=goes_first)

    def update(self, pod: PodInfo, now: float) -> None:
        """A pod that is not assumed on a node was changed."""
        flight = self._in_flight.get(pod.uid)
        if flight is not None:
            for event in own_update_events(flight.latest, pod):
                self._in_flight.note(event)
            flight.latest, flight.gone = pod, False
            return
        queued = self._places.by_key.get(pod.key)
        if queued is not None and queued.pod.uid != pod.uid:
            self._places.exit(queued)
            queued = None
        if queued is None:
            self._enter(pod, events.UNSCHEDULED_POD_UPDATE, now)
            return
        if self._route(pod) != queued.profile:
            self._places.reassign(queued, pod, self._route(pod))
            self._to_active(queued, events.UNSCHEDULED_POD_UPDATE, now)
            return
        before = queued.pod
        self._places.replace(queued, pod)
        if queued.is_parked:
            self._wake_by_own_news(queued, before, now)

    def _enter(self, pod: PodInfo, label: str, now: float, *, goes_first: bool = False) -> None:
        queued = Queued(pod, now, self._route(pod))
        queued.goes_first = goes_first
        self._places.enter(queued)
        self._to_active(queued, label, now)

    def _wake_by_own_news(self, queued: Queued, before: PodInfo, now: float) -> None:
        for event in own_update_events(before, queued.pod):
            strategy = self._listeners.judge(queued, event)
            if strategy is not Strategy.SKIP and self._return(queued, strategy, event.label, now):
                return

    def remove(self, key: str, uid: str, now: float) -> None:
        """A pod was deleted, or has got a node. One that is out is dropped when it comes back."""
        del now
        queued = self._places.by_key.get(key)
        if queued is not None and (not uid or queued.pod.uid == uid):
            self._places.exit(queued)
        flight = self._in_flight.get(uid)
        if flight is not None:
            flight.gone = True

    # --- attempts ------------------------------------------------------------------------------------------------------

    def pop(self, now: float) -> Queued | None:
        """The next pod to try; where none is ready, the one whose backoff ends first."""
        queued = self._places.active.peek()
        if queued is None:
            queued = self._places.backoff.first()
            if queued is None:
                return None
            self._moved(queued, "active", events.POP_FROM_BACKOFF, now)
        self._take_out(queued, now)
        return queued

    def pop_group(self, first: Queued, now: float) -> list[Queued]:
        """The siblings of a pod that was just popped, wherever they wait, in QueueSort's order; gated ones stay."""
        group = first.pod.group
        siblings = self._places.by_group.get(group, ()) if group is not None else ()
        ready = [queued for queued in siblings if queued.place is not Place.GATED]
        found = self._places.in_order(ready)
        for queued in found:
            if queued.place is not Place.ACTIVE:
                self._moved(queued, "active", events.WITH_ITS_GROUP, now)
            self._take_out(queued, now)
        return found

    def _take_out(self, queued: Queued, now: float) -> None:
        self._places.exit(queued)
        queued.attempts += 1
        queued.last_try_at = now
        if queued.initial_attempt_at is None:
            queued.initial_attempt_at = now
        self._in_flight.begin(queued.pod)

    def requeue(self, queued: Queued, now: float, rejection: Rejection) -> None:
        """An attempt or a binding came to nothing: the pod waits again, for what depends on what it has missed."""
        uid = queued.pod.uid
        flight = self._in_flight.get(uid)
        # One that was deleted and created again under its name is in already.
        dropped = queued.pod.key in self._places.by_key or (flight is not None and flight.gone)
        if not dropped:
            if flight is not None:
                queued.pod = flight.latest
            queued.profile = self._route(queued.pod)
            self._note_failure(queued, now, rejection)
            self._places.enter(queued)
            strategy = self._replay(queued, flight)
            if strategy is Strategy.SKIP:
                self._places.park(queued)
                self._moved(queued, "unschedulable", events.SCHEDULE_ATTEMPT_FAILURE, now)
            else:
                self._return(queued, strategy, events.SCHEDULE_ATTEMPT_FAILURE, now)
        self._in_flight.end(uid)

    def _note_failure(self, queued: Queued, now: float, rejection: Rejection) -> None:
        broken = rejection.is_error
        queued.unschedulable_plugins = NOBODY if broken else rejection.unschedulable_plugins
        queued.pending_plugins = NOBODY if broken else rejection.pending_plugins
        queued.gating_plugin = ""
        if queued.rejectors:
            queued.unschedulable_count += 1
            queued.error_count = 0
        else:
            queued.error_count += 1
        queued.queued_at = now
        self._places.backoff.set_end(queued)
        queued.was_flushed = False
        queued.flushed_at = None

    def _replay(self, queued: Queued, flight: Flight | None) -> Strategy:
        """What the events that a pod missed while it was out mean for it now."""
        if flight is None or not queued.rejectors:
            return Strategy.AFTER_BACKOFF
        best = Strategy.SKIP
        for event in self._in_flight.missed(flight):
            best = max(best, self._listeners.judge(queued, event))
            if best is Strategy.IMMEDIATELY or (best and not queued.pending_plugins):
                break
        return best

    def done(self, uid: str) -> None:
        """A pod that was popped is bound, or gone."""
        self._in_flight.end(uid)

    # --- waking --------------------------------------------------------------------------------------------------------

    def on_event(
        self,
        event: ClusterEvent,
        now: float,
        *,
        up_to_priority: int | None = None,
        besides: str | None = None,
    ) -> None:
        """Something happened in the cluster: wake those whom it may cure.

        ``up_to_priority`` spares pods of higher priority, ``besides`` the pod of that uid.
        """
        if event.is_wildcard:
            judged = {q: self._listeners.judge(q, event) for q in self._places.parked}
            woken = {q: strategy for q, strategy in judged.items() if strategy}
        else:
            listeners = self._listeners.of(event)
            if not listeners:
                return
            woken = self._woken(event, listeners) if len(self._places.parked) else {}
        for queued, strategy in woken.items():
            if up_to_priority is not None and queued.pod.priority > up_to_priority:
                continue
            if queued.is_parked and queued.pod.uid != besides:
                self._places.leave(queued)
                self._return(queued, strategy, event.label, now)
        self._in_flight.note(event)

    def _woken(
        self, event: ClusterEvent, listeners: tuple[Listener, ...]
    ) -> dict[Queued, Strategy]:
        return woken_by(
            event,
            listeners,
            self._places.parked,
            lambda pods, gate, profile: perhaps_let_in(pods, gate, self._profiles.get(profile)),
            self._listeners.judge,
        )

    def on_group(self, key: GroupKey, now: float, label: str) -> None:
        """A group was changed, or has members enough now: let those in that it has kept waiting."""
        for queued in self.members(key):
            if queued.is_parked:
                self._return(queued, Strategy.AFTER_BACKOFF, label, now)

    def activate(self, pods: Iterable[PodInfo], now: float) -> None:
        """Try these pods at once, whatever they wait for; one that is out comes back the sooner for it."""
        for pod in pods:
            queued = self._places.by_key.get(pod.key)
            if queued is None or queued.place is Place.ACTIVE:
                if self._in_flight.get(pod.uid) is not None:
                    self._in_flight.note(ClusterEvent.force_activate(pod))
            elif queued.place is Place.BACKOFF:
                self._let_in(queued, events.FORCE_ACTIVATE, now)
            else:
                self._to_active(queued, events.FORCE_ACTIVATE, now)

    # --- time passes ---------------------------------------------------------------------------------------------------

    def flush(self, now: float) -> None:
        """Bring back pods whose backoff is over, and those that nothing has woken for too long."""
        for queued in self._places.backoff.over(now):
            self._let_in(queued, events.BACKOFF_COMPLETE, now)
        if self._swept_at is None:
            self._swept_at = now
        elif now - self._swept_at >= SWEEP_S:
            self._swept_at = now
            self._sweep(now)

    def _sweep(self, now: float) -> None:
        limit_s = self._settings.unschedulable_flush_s
        late = [
            queued
            for queued in self._places.parked
            if now - max(queued.queued_at, queued.flushed_at or queued.queued_at) > limit_s
        ]
        event = ClusterEvent.unschedulable_timeout()
        for queued in late:
            queued.was_flushed, queued.flushed_at = True, now
            self._places.leave(queued)
            self._return(queued, Strategy.AFTER_BACKOFF, event.label, now)
        if late:
            self._in_flight.note(event)

    def next_deadline(self) -> float | None:
        """When ``flush`` may have something to do; None: not before something else happens."""
        backoff = self._places.backoff.next_end()
        if not len(self._places.parked):
            return backoff
        sweep = SWEEP_S + (self._swept_at or 0.0)
        return sweep if backoff is None else min(backoff, sweep)

    # --- ways back -----------------------------------------------------------------------------------------------------

    def _return(self, queued: Queued, strategy: Strategy, label: str, now: float) -> bool:
        """A pod is worth another attempt; False where a gate keeps it out."""
        waits = strategy is Strategy.AFTER_BACKOFF and not self._places.backoff.is_over(queued, now)
        if not waits:
            return self._to_active(queued, label, now)
        # The gates are asked now and not when the backoff is over: the pod may be popped any time.
        if self._is_gated(queued, label, now):
            return False
        self._places.put_backoff(queued)
        self._moved(queued, "backoff", label, now)
        return True

    def _to_active(self, queued: Queued, label: str, now: float) -> bool:
        if self._is_gated(queued, label, now):
            return False
        self._let_in(queued, label, now)
        return True

    def _is_gated(self, queued: Queued, label: str, now: float) -> bool:
        """Run PreEnqueue. The pod is parked where a plugin keeps it out, and else in no place."""
        was_parked = queued.is_parked
        self._places.leave(queued)
        gate = self._find_gate(queued)
        queued.gating_plugin = ""
        if gate:
            self._places.gate(queued, gate)
            if not was_parked:
                self._moved(queued, "gated", label, now)
        return bool(gate)

    def _find_gate(self, queued: Queued) -> str:
        began = self._timer()
        gate, code = find_gate(queued, self._profiles.get(queued.profile))
        if self._metrics is not None:
            seconds = self._timer() - began
            self._metrics.extension_point(queued.profile, "PreEnqueue", code.label, seconds)
        return gate

    def _let_in(self, queued: Queued, label: str, now: float) -> None:
        """To the ready pods; the gates were passed before."""
        if queued.initial_attempt_at is None:
            queued.initial_attempt_at = now
        self._places.leave(queued)
        self._places.put_active(queued)
        self._moved(queued, "active", label, now)

    def _moved(self, queued: Queued, place: str, label: str, now: float) -> None:
        queued.history.moved(now, place, label)
        if self._metrics is not None:
            # Upstream's metric counts gated pods among the unschedulable ones.
            queue = "unschedulable" if place == "gated" else place
            self._metrics.queue_incoming(queue, label)
        if debug := _log.v(5):
            debug.info(
                "Pod moved to an internal scheduling queue",
                pod=queued.pod.key,
                event=label,
                queue=place,
            )

    # --- looking in ----------------------------------------------------------------------------------------------------

    def pending(self) -> dict[str, int]:
        """How many pods wait, by queue."""
        return self._places.counts()

    def longest_waits(self, now: float) -> dict[str, float]:
        """How long the pod has waited that waits longest, by queue, in seconds; 0 where none waits."""
        return self._places.longest_waits(now)

    def unschedulable_by_plugin(self) -> dict[tuple[str, str], int]:
        """How many waiting pods were turned down, by (plugin, profile)."""
        return {key: count for key, count in self._places.turned_down.items() if count}

    def in_flight_events(self) -> dict[str, int]:
        """Events kept for pods that are out, by label; under ``PodPopped`` the pods themselves."""
        return self._in_flight.counts()

    def pods(self) -> Iterator[Queued]:
        """All pods that wait."""
        return iter(self._places.by_key.values())

    def groups(self) -> Iterator[GroupKey]:
        """The groups that waiting pods are in."""
        return iter(self._places.by_group)

    def members(self, key: GroupKey) -> list[Queued]:
        """The waiting pods of a group."""
        return list(self._places.by_group.get(key, ()))

    def get(self, key: str) -> Queued | None:
        """The waiting pod of that key."""
        return self._places.by_key.get(key)

    def audit(self) -> list[str]:
        """What is wrong with the queue's books; empty where all is well."""
        found = list(self._places.audit())
        if not len(self._in_flight) and len(self.in_flight_events()) > 1:
            found.append("events are kept for nobody")
        return found
