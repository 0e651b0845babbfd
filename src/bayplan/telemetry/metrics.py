"""Metrics: one cheap method per thing that happens.

Called by the runtime, the client and the queue's owner as things happen; read by ``exposition``. Gauges are not kept up to date
but asked for: the composition root sets ``metrics.pending_pods.pull`` and its like to functions that count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from bayplan.telemetry import catalog
from bayplan.telemetry.instruments import (
    CounterVec,
    GaugeVec,
    HistogramVec,
    Instrument,
    Labels,
    Spec,
)

#: From here on the number of attempts is one label value.
_MANY_ATTEMPTS: Final = 15

_I = TypeVar("_I", CounterVec, HistogramVec, GaugeVec)


class Metrics:
    """All metrics of one process. Recording takes a fraction of a microsecond and never fails."""

    def __init__(self) -> None:
        #: In the order in which they are written out.
        self.instruments: list[Instrument] = []
        self._overflows = CounterVec(catalog.SERIES_OVERFLOWS, lambda _metric: None)
        self._add_attempts()
        self._add_plugins()
        self._add_queue()
        self._add_surroundings()
        self._keep(self._overflows)

    def _keep(self, instrument: _I) -> _I:
        self.instruments.append(instrument)
        return instrument

    def _counter(self, spec: Spec) -> CounterVec:
        return self._keep(CounterVec(spec, self._overflowed))

    def _histogram(self, spec: Spec) -> HistogramVec:
        return self._keep(HistogramVec(spec, self._overflowed))

    def _gauge(self, spec: Spec) -> GaugeVec:
        return self._keep(GaugeVec(spec))

    def _overflowed(self, metric: str) -> None:
        self._overflows.inc((metric,))

    def _add_attempts(self) -> None:
        self._attempts = self._counter(catalog.SCHEDULE_ATTEMPTS)
        self._attempt_duration = self._histogram(catalog.ATTEMPT_DURATION)
        self._algorithm = self._histogram(catalog.ALGORITHM_DURATION)
        self._gang_attempts = self._counter(catalog.GANG_ATTEMPTS)
        self._gang_duration = self._histogram(catalog.GANG_ATTEMPT_DURATION)
        self._pod_attempts = self._histogram(catalog.POD_ATTEMPTS)
        self._sli = self._histogram(catalog.POD_SLI)
        self._after_flush = self._counter(catalog.SCHEDULED_AFTER_FLUSH)
        self._preemption_attempts = self._counter(catalog.PREEMPTION_ATTEMPTS)
        self._victims = self._histogram(catalog.PREEMPTION_VICTIMS)
        self._preemption_tasks = self._counter(catalog.PREEMPTION_TASKS)
        self._preemption_task_duration = self._histogram(catalog.PREEMPTION_TASK_DURATION)

    def _add_plugins(self) -> None:
        self._points = self._histogram(catalog.EXTENSION_POINT_DURATION)
        self._plugins = self._histogram(catalog.PLUGIN_DURATION)
        self._evaluations = self._counter(catalog.PLUGIN_EVALUATIONS)
        self._permit_wait = self._histogram(catalog.PERMIT_WAIT)
        self._volume_cache = self._counter(catalog.VOLUME_CACHE_REQUESTS)
        self._volume_errors = self._counter(catalog.VOLUME_STAGE_ERRORS)
        self._interrupts = self._counter(catalog.PLUGIN_INTERRUPTS)

    def _add_queue(self) -> None:
        #: Pulls ``{("active",): 3, ("backoff",): 0, ("unschedulable",): 1, ("gated",): 0}``.
        self.pending_pods = self._gauge(catalog.PENDING_PODS)
        #: Pulls ``{("active",): seconds, …}``.
        self.oldest_pending = self._gauge(catalog.OLDEST_PENDING)
        #: Pulls ``{(plugin, profile): pods}``.
        self.unschedulable_pods = self._gauge(catalog.UNSCHEDULABLE_PODS)
        #: Pulls ``{("nodes",): 5, ("pods",): 9, ("assumed_pods",): 1}``.
        self.cache_size = self._gauge(catalog.CACHE_SIZE)
        #: Pulls ``{(event,): events}``.
        self.inflight_events = self._gauge(catalog.INFLIGHT_EVENTS)
        #: Pulls ``{("binding",): tasks}``.
        self.goroutines = self._gauge(catalog.GOROUTINES)
        self._incoming = self._counter(catalog.QUEUE_INCOMING)
        self._hints = self._histogram(catalog.HINT_DURATION)
        self._event_handling = self._histogram(catalog.EVENT_HANDLING_DURATION)

    def _add_surroundings(self) -> None:
        #: Pulls ``{(lease,): 1}`` while leading, ``{(lease,): 0}`` while standing by.
        self.leader = self._gauge(catalog.LEADER)
        #: Pulls ``{(version, python_version, kubernetes_version): 1}``.
        self.build_info = self._gauge(catalog.BUILD_INFO)
        #: Pulls ``{(profile,): 1}`` while standing in for its own scheduler, ``{(profile,): 0}`` while that one lives.
        self.standing_in = self._gauge(catalog.STANDING_IN)
        #: Pulls ``{(column,): seconds}``.
        self.data_age = self._gauge(catalog.DATA_AGE)
        #: By namespace, resource, and which amount: used, min, max, borrowed.
        self.elastic_quota = self._gauge(catalog.ELASTIC_QUOTA)
        self._requests = self._counter(catalog.REST_REQUESTS)
        self._request_duration = self._histogram(catalog.REST_DURATION)
        self._request_retries = self._counter(catalog.REST_RETRIES)
        self._bind_conflicts = self._counter(catalog.BIND_CONFLICTS)
        self._extender_calls = self._histogram(catalog.EXTENDER_CALLS)
        self._extender_requests = self._histogram(catalog.EXTENDER_REQUESTS)
        self._stalls = self._histogram(catalog.LOOP_STALL)
        self._class_lookups = self._counter(catalog.CLASS_LOOKUPS)
        self._watch_restarts = self._counter(catalog.WATCH_RESTARTS)
        self._objects_skipped = self._counter(catalog.OBJECTS_SKIPPED)
        self._events_dropped = self._counter(catalog.EVENTS_DROPPED)
        self._decisions_lost = self._counter(catalog.DECISIONS_LOST)
        self._differences = self._counter(catalog.COLUMN_DIFFERENCES)
        self._reloads = self._counter(catalog.RELOADS)
        #: Pulls ``{(): generation}``.
        self.generation = self._gauge(catalog.GENERATION)
        self._shadows = self._counter(catalog.SHADOW_DECISIONS)

    # Attempts ----------------------------------------------------------------------------------------------------------

    def attempt(self, profile: str, result: str, seconds: float) -> None:
        """An attempt is over: ``scheduled`` (after binding), ``unschedulable`` or ``error``."""
        key = (result, profile)
        self._attempts.inc(key)
        self._attempt_duration.observe(key, seconds)

    def gang_attempt(self, profile: str, result: str, seconds: float) -> None:
        """A group was decided: ``scheduled``, ``unschedulable``, ``waiting_on_preemption`` or ``error``."""
        key = (result, profile)
        self._gang_attempts.inc(key)
        self._gang_duration.observe(key, seconds)

    def attempts_by_result(self) -> dict[str, int]:
        """Attempts so far, all profiles together."""
        counts: dict[str, int] = {}
        for (result, _profile), times in self._attempts.values.items():
            counts[result] = counts.get(result, 0) + int(times)
        return counts

    def algorithm(self, seconds: float) -> None:
        """A node was chosen."""
        self._algorithm.observe((), seconds)

    def scheduled(self, profile: str, attempts: int, sli_seconds: float | None) -> None:
        """A pod was bound at its ``attempts``-th attempt.

        ``sli_seconds`` is the time since it first could be scheduled; None where that is not known. Upstream divides
        neither of the two metrics by profile.
        """
        del profile
        self._pod_attempts.observe((), attempts)
        if sli_seconds is not None:
            self._sli.observe((_attempts_label(attempts),), sli_seconds)

    def scheduled_after_flush(self) -> None:
        """A pod was bound that only the timed flush had brought back."""
        self._after_flush.inc()

    def preemption_attempt(self) -> None:
        """DefaultPreemption was asked, whatever came of it."""
        self._preemption_attempts.inc()

    def preemption(self, victims: int) -> None:
        """So many pods are about to be evicted for one."""
        self._victims.observe((), victims)

    def preemption_executed(self, result: str, seconds: float) -> None:
        """The victims of a preemption have been dealt with: ``success`` or ``error``."""
        key = (result,)
        self._preemption_tasks.inc(key)
        self._preemption_task_duration.observe(key, seconds)

    def bind_conflict(self, kind: str) -> None:
        """A binding came to nothing: ``assigned``, ``deleting``, ``gated``, ``uid``, ``gone``, ``forbidden``, ``room``."""
        self._bind_conflicts.inc((kind,))

    def class_lookups(self, hits: int, misses: int) -> None:
        """So many attempts found, or did not find, what was known of alike pods."""
        self._class_lookups.inc(("hit",), hits)
        self._class_lookups.inc(("miss",), misses)

    # Plugins -----------------------------------------------------------------------------------------------------------

    def extension_point(self, profile: str, point: str, status: str, seconds: float) -> None:
        """All plugins of a point have run; ``status`` is a ``Code.label``."""
        self._points.observe((point, status, profile), seconds)

    def plugin_execution(self, plugin: str, point: str, status: str, seconds: float) -> None:
        """One plugin has run."""
        self._plugins.observe((plugin, point, status), seconds)

    def plugin_evaluation(self, profile: str, plugin: str, point: str, times: int = 1) -> None:
        """A plugin had a say in an attempt."""
        self._evaluations.inc((plugin, point, profile), times)

    def permit_wait(self, result: str, seconds: float) -> None:
        """A pod that Permit held back was let go or given up; ``result`` is a ``Code.label``."""
        self._permit_wait.observe((result,), seconds)

    def plugin_interrupted(self, plugin: str) -> None:
        """The watchdog stopped a plugin that did not return."""
        self._interrupts.inc((plugin,))

    def volume_cache(self, operation: str) -> None:
        """The record of volumes being bound was written: ``add`` or ``delete``."""
        self._volume_cache.inc((operation,))

    def volume_error(self, operation: str) -> None:
        """Volumes could not be chosen, reserved or bound: ``predicate``, ``assume`` or ``bind``."""
        self._volume_errors.inc((operation,))

    # Queue and ingestion -----------------------------------------------------------------------------------------------

    def queue_incoming(self, queue: str, event: str) -> None:
        """A pod came into a queue."""
        self._incoming.inc((queue, event))

    def hint(self, plugin: str, event: str, hint: str, seconds: float) -> None:
        """A plugin said ``Queue`` or ``QueueSkip`` to an event, or failed to: ``Error``."""
        self._hints.observe((plugin, event, hint), seconds)

    def event_handling(self, event: str, seconds: float) -> None:
        """A change of the cluster has been taken in."""
        self._event_handling.observe((event,), seconds)

    def watch_restart(self, resource: str, cause: str) -> None:
        """A watch of ``pods`` ended: ``closed``, ``expired``, ``silent``, ``error``."""
        self._watch_restarts.inc((resource, cause))

    def object_skipped(self, resource: str) -> None:
        """An object could not be read."""
        self._objects_skipped.inc((resource,))

    def column_differences(self, kind: str, count: int) -> None:
        """A comparison with the API server found something."""
        self._differences.inc((kind,), count)

    # Reloading ---------------------------------------------------------------------------------------------------------

    def reload(self, outcome: str) -> None:
        """The configuration was read again: ``applied``, ``refused`` or ``rolled_back``."""
        self._reloads.inc((outcome,))

    def shadow(self, profile: str, shadow: str, verdict: str) -> None:
        """Another profile has decided a pod for comparison."""
        self._shadows.inc((profile, shadow, verdict))

    # API client and event loop -----------------------------------------------------------------------------------------

    def api_request(self, method: str, code: str, host: str, seconds: float) -> None:
        """The API server answered; ``code`` is ``<error>`` where it did not."""
        self._requests.inc((code, method, host))
        self._request_duration.observe((method, host), seconds)

    def api_retry(self, method: str, code: str, host: str) -> None:
        """A request is sent again."""
        self._request_retries.inc((code, method, host))

    def decisions_lost(self, records: int) -> None:
        """The log of decisions could not be written."""
        self._decisions_lost.inc((), records)

    def event_dropped(self, cause: str) -> None:
        """A Kubernetes event was not written: ``full``, ``error``, ``rejected``."""
        self._events_dropped.inc((cause,))

    def extender_call(self, extender: str, verb: str, result: str, seconds: float) -> None:
        """A foreign extender was asked: ``ok``, ``error``."""
        self._extender_calls.observe((extender, verb, result), seconds)

    def extender_request(self, verb: str, result: str, seconds: float) -> None:
        """Our own extender was asked: ``ok``, ``late``, ``error``, ``refused``."""
        self._extender_requests.observe((verb, result), seconds)

    def loop_stall(self, seconds: float) -> None:
        """The event loop was busy with one thing for so long."""
        self._stalls.observe((), seconds)


def single(pull: Callable[[], Mapping[str, float]]) -> Callable[[], Mapping[Labels, float]]:
    """Counts by name as a gauge with one label wants them."""
    return lambda: {(name,): value for name, value in pull().items()}


def _attempts_label(attempts: int) -> str:
    return f"{_MANY_ATTEMPTS}+" if attempts >= _MANY_ATTEMPTS else str(attempts)
