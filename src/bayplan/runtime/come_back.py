"""What becomes of a pod whose attempt, or whose binding, came to nothing: it is told why, and tried again later.

Called by the loop and by bindings. What the watch shows by now goes first: a pod that is gone, or has a node, or is
another one of the same name, is not put back (upstream: handleSchedulingFailure).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayplan.errors import PluginError
from bayplan.framework.status import Code, Rejected
from bayplan.queueing.entry import Rejection
from bayplan.telemetry import events
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.clock import Clock
    from bayplan.cluster.nominations import Nominations
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.errors import BayplanError
    from bayplan.queueing.entry import Queued
    from bayplan.queueing.scheduling import SchedulingQueue
    from bayplan.runtime.chronicle import Chronicle
    from bayplan.runtime.reporting.reporter import Reporter
    from bayplan.telemetry.metrics import Metrics

_log: Final = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Setback:
    """Why a pod has no node yet."""

    #: The whole text, for the pod's condition.
    message: str
    #: What the queue goes by.
    rejection: Rejection
    #: The node promised to it now; empty: none any more; None: as before.
    nominated: str | None = ""

    @classmethod
    def by_error(cls, error: BayplanError | str) -> Setback:
        """Something broke: the pod is tried again after its backoff."""
        broken = error.plugin if isinstance(error, PluginError) else ""
        return cls(str(error), Rejection(is_error=True, broken=broken))

    @classmethod
    def by_mistake(cls, error: Exception) -> Setback:
        """Something of ours broke."""
        return cls.by_error(f"internal error: {type(error).__name__}: {error}")

    @classmethod
    def by_plugin(cls, rejected: Rejected) -> Setback:
        """A plugin has turned the pod down after a node was chosen: that node is all there is to say something about."""
        plugins = frozenset((rejected.plugin,)) if rejected.plugin else frozenset[str]()
        pending = rejected.code is Code.PENDING
        rejection = Rejection(pending_plugins=plugins) if pending else Rejection(plugins)
        return cls(_one_node(rejected.reasons), rejection)


class ComeBack:
    """Puts pods back into the queue."""

    def __init__(  # noqa: PLR0913 - everything that hears of a pod's bad luck
        self,
        queue: SchedulingQueue,
        pending: Mapping[str, PodInfo],
        nominations: Nominations,
        reporter: Reporter,
        metrics: Metrics,
        clock: Clock,
        chronicle: Chronicle,
    ) -> None:
        self._queue = queue
        #: Our pods without a node, as the watch shows them, by key.
        self._pending = pending
        self._nominations = nominations
        self._reporter = reporter
        self._metrics = metrics
        self._clock = clock
        self._chronicle = chronicle

    def later(self, queued: Queued, setback: Setback, started: float) -> None:
        """Try the pod again when that makes sense; ``started``: when the attempt began."""
        pod = queued.pod
        profile = queued.profile
        broke = setback.rejection.is_error
        now = self._clock.monotonic()
        self._metrics.attempt(profile, "error" if broke else "unschedulable", now - started)
        self._chronicle.came_to_nothing(queued, setback.message, setback.rejection, started)
        current = self._pending.get(pod.key)
        if current is None or current.uid != pod.uid:
            self._queue.done(pod.uid)
            if debug := _log.v(2):
                debug.info(
                    "Pod is gone, or has a node, or is another one; not retried", pod=pod.key
                )
            return
        if broke:
            _log.error("Error scheduling pod; retrying", setback.message, pod=pod.key)
        elif debug := _log.v(2):
            debug.info("Unable to schedule pod; no fit; waiting", pod=pod.key, err=setback.message)
        queued.pod = current
        self._queue.requeue(queued, now, setback.rejection)
        if setback.nominated is not None:
            self._promise(current, setback.nominated)
        reason = events.SCHEDULER_ERROR if broke else events.UNSCHEDULABLE
        self._reporter.unscheduled(current, reason, setback.message, setback.nominated)

    def _promise(self, pod: PodInfo, node: str) -> None:
        if node:
            self._nominations.put(pod, node)
        else:
            self._nominations.remove(pod.key)


def _one_node(reasons: tuple[str, ...]) -> str:
    return f"0/1 nodes are available: {', '.join(sorted(f'1 {reason}' for reason in reasons))}."
