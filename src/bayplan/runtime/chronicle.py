"""What has become of every attempt: which are under way, and how the last ones ended.

Told by the loop (decided), by bindings (on the way, bound) and by ``come_back`` (came to nothing). Read by the debug pages;
observers (the decision log, spans) hear of each attempt as it is decided and as it ends. It costs an attempt about a
microsecond; what it keeps is bounded like the ring of decisions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextvars import Context
from typing import TYPE_CHECKING, Protocol

from bayplan.cycle.outcome import Failed, Outcome, Placed, Unplaced
from bayplan.queueing.entry import NOBODY
from bayplan.queueing.history import Attempts

if TYPE_CHECKING:
    from bayplan.clock import Clock
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cycle.record import Decision
    from bayplan.queueing.entry import Queued, Rejection
    from bayplan.queueing.history import History

DECIDING, WAITING, PREPARING, BINDING = "deciding", "waiting", "preparing", "binding"
SCHEDULED, UNSCHEDULABLE, ERROR, DRY_RUN = "scheduled", "unschedulable", "error", "dry-run"


class Try:
    """One attempt for one pod, from taking it off the queue to its end."""

    __slots__ = (
        "began",
        "broken",
        "decided_at",
        "decision",
        "ended_at",
        "message",
        "node",
        "notes",
        "number",
        "plugins",
        "pod",
        "points",
        "profile",
        "queued",
        "result",
        "stage",
    )

    def __init__(self, queued: Queued, began: float) -> None:
        self.queued = queued
        self.pod: PodInfo = queued.pod
        self.profile = queued.profile
        #: The how-manieth for this pod.
        self.number = queued.attempts
        #: Monotonic, like all times here.
        self.began = began
        self.decided_at = 0.0
        self.ended_at = 0.0
        self.stage = DECIDING
        #: Empty until it has ended.
        self.result = ""
        self.message = ""
        self.node = ""
        #: Those who turned the pod down.
        self.plugins: frozenset[str] = NOBODY
        #: The plugin that broke the attempt; empty where none did.
        self.broken = ""
        self.decision: Decision | None = None
        #: Extension point to seconds, as far as anybody listens.
        self.points: dict[str, float] = {}
        #: An observer's own.
        self.notes: dict[str, object] = {}

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.ended_at - self.began

    @property
    def history(self) -> History:
        """Of its pod."""
        return self.queued.history


class Observer(Protocol):
    """Hears of attempts while they are made: whatever it does holds up the next one."""

    def decided(self, attempt: Try) -> None:
        """The cycle has come to an outcome."""

    def ended(self, attempt: Try) -> None:
        """The pod is bound, or back in the queue."""

    def context(self, attempt: Try) -> Context | None:
        """What the binding's task is to run in; None: whatever is at hand."""


class Chronicle:
    """All attempts, as far back as it goes."""

    def __init__(self, clock: Clock, size: int = 1000) -> None:
        self._clock = clock
        self._size = size
        self._ended: deque[Try] = deque()
        self._by_key: dict[str, list[Try]] = {}
        #: By uid.
        self._under_way: dict[str, Try] = {}
        self.observers: list[Observer] = []

    # --- told ----------------------------------------------------------------------------------------------------------

    def decided(
        self, queued: Queued, outcome: Outcome, began: float, spent: dict[str, float]
    ) -> None:
        """The cycle has come to an outcome; ``spent``: where its time went."""
        attempt = Try(queued, began)
        attempt.decided_at = self._clock.monotonic()
        match outcome:
            case Placed():
                attempt.decision, attempt.node = outcome.decision, outcome.node
            case Unplaced():
                attempt.decision = outcome.decision
            case Failed():
                pass
        self._under_way[attempt.pod.uid] = attempt
        if self.observers:
            attempt.points = dict(spent)
            for observer in self.observers:
                observer.decided(attempt)

    def sent(self, queued: Queued, node: str, decision: Decision, began: float) -> None:
        """The pod is off to its node; of a gang's member this is the first that is heard."""
        if queued.pod.uid in self._under_way:
            return
        attempt = Try(queued, began)
        attempt.decided_at = self._clock.monotonic()
        attempt.decision, attempt.node = decision, node
        self._under_way[attempt.pod.uid] = attempt
        for observer in self.observers:
            observer.decided(attempt)

    def reached(self, uid: str, stage: str) -> None:
        """A placed pod has come so far."""
        attempt = self._under_way.get(uid)
        if attempt is not None:
            attempt.stage = stage

    def bound(self, uid: str, *, dry_run: bool = False) -> None:
        """The pod is bound; or would be, in a dry run."""
        attempt = self._under_way.pop(uid, None)
        if attempt is not None:
            self._end(attempt, DRY_RUN if dry_run else SCHEDULED, attempt.node)

    def came_to_nothing(
        self, queued: Queued, message: str, rejection: Rejection, began: float
    ) -> None:
        """The pod goes back into the queue."""
        attempt = self._under_way.pop(queued.pod.uid, None)
        if attempt is None:
            attempt = Try(queued, began)
            attempt.decided_at = self._clock.monotonic()
        attempt.plugins = rejection.unschedulable_plugins | rejection.pending_plugins
        attempt.broken = rejection.broken
        self._end(attempt, ERROR if rejection.is_error else UNSCHEDULABLE, message)

    def dropped(self, uid: str) -> None:
        """Nothing more will be heard of this attempt: its pod is gone, or this process ends."""
        self._under_way.pop(uid, None)

    def _end(self, attempt: Try, result: str, message: str) -> None:
        attempt.result, attempt.message = result, message
        attempt.stage = ""
        attempt.ended_at = self._clock.monotonic()
        attempt.history.tried(_summary(attempt))
        self._ended.append(attempt)
        self._by_key.setdefault(attempt.pod.key, []).append(attempt)
        if len(self._ended) > self._size:
            self._forget(self._ended.popleft())
        for observer in self.observers:
            observer.ended(attempt)

    def _forget(self, attempt: Try) -> None:
        key = attempt.pod.key
        of_pod = self._by_key[key]
        of_pod.remove(attempt)
        if not of_pod:
            del self._by_key[key]

    # --- asked ---------------------------------------------------------------------------------------------------------

    def context(self, uid: str) -> Context | None:
        """What the binding of this pod is to run in."""
        attempt = self._under_way.get(uid) if self.observers else None
        if attempt is not None:
            for observer in self.observers:
                found = observer.context(attempt)
                if found is not None:
                    return found
        return None

    def of(self, key: str) -> list[Try]:
        """The attempts that are kept for a pod of that name, oldest first, the one under way last."""
        under_way = [a for a in self._under_way.values() if a.pod.key == key]
        return [*self._by_key.get(key, ()), *under_way]

    def under_way(self) -> list[Try]:
        """Attempts that have not ended, oldest first."""
        return list(self._under_way.values())

    def latest(self, most: int) -> Iterator[Try]:
        """The last ones to end, latest first."""
        for number, attempt in enumerate(reversed(self._ended)):
            if number >= most:
                return
            yield attempt

    def __len__(self) -> int:
        return len(self._ended)


def _summary(attempt: Try) -> Attempts:
    return Attempts(
        attempt.result,
        attempt.message,
        attempt.plugins,
        attempt.number,
        attempt.number,
        attempt.began,
        attempt.began,
        attempt.seconds,
    )
