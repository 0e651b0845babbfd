"""A pod in the queue and its history: what the queue keeps, the loop pops and hands back, and the metrics count.

Made by ``queueing.scheduling``; read by the runtime, the decision record and the tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from bayplan.queueing.history import History

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo

NOBODY: Final[frozenset[str]] = frozenset()

#: Served where a pod names no scheduler, as the API server fills it in.
DEFAULT_SCHEDULER: Final = "default-scheduler"


class Place(Enum):
    """Where a pod is. GATED pods are those of the unschedulable ones that a PreEnqueue plugin keeps out."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    #: Popped: being decided, waiting at Permit or being bound; or known to the queue no more.
    OUT = "out"


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """The numbers of a configuration that the queue goes by."""

    #: What a pod waits after its first failure; doubles with each further one.
    initial_backoff_s: float = 1.0
    #: The longest wait; 0 turns waiting off.
    max_backoff_s: float = 10.0
    #: After so long without an event that wakes it a pod is tried again regardless.
    unschedulable_flush_s: float = 300.0
    #: Foreign extenders may turn pods down.
    extended: bool = False


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why an attempt or a binding came to nothing."""

    unschedulable_plugins: frozenset[str] = NOBODY
    #: Plugins that said Pending: an event of theirs lets the pod skip its backoff.
    pending_plugins: frozenset[str] = NOBODY
    #: Something broke. No event can cure that: the pod backs off and is tried again.
    is_error: bool = False
    #: The plugin that broke it; empty where it was something else.
    broken: str = ""


def asked_for(pod: PodInfo) -> str:
    """The scheduler name that a pod asks for."""
    return pod.spec.scheduler_name or DEFAULT_SCHEDULER


class Queued:
    """One pod and what has become of it so far."""

    __slots__ = (
        "attempts",
        "backoff_until",
        "error_count",
        "flushed_at",
        "gating_plugin",
        "goes_first",
        "history",
        "initial_attempt_at",
        "last_try_at",
        "pending_plugins",
        "place",
        "pod",
        "profile",
        "queued_at",
        "ticket",
        "unschedulable_count",
        "unschedulable_plugins",
        "was_flushed",
    )

    def __init__(self, pod: PodInfo, now: float, profile: str = "") -> None:
        self.pod = pod
        #: The profile that decides it: the one that it asks for, unless that one hands a share of its pods to another.
        self.profile = profile or asked_for(pod)
        self.place = Place.OUT
        #: When the pod last came (back) into the queue: what QueueSort sees. Monotonic seconds, like all times here.
        self.queued_at = now
        #: How often it was popped.
        self.attempts = 0
        #: When it was first let in past all gates; what the SLI is measured from.
        self.initial_attempt_at: float | None = None
        #: When it was last popped.
        self.last_try_at: float | None = None
        self.unschedulable_plugins: frozenset[str] = NOBODY
        self.pending_plugins: frozenset[str] = NOBODY
        #: The PreEnqueue plugin that keeps the pod out; empty where none does.
        self.gating_plugin = ""
        #: Tried before all others, whatever QueueSort says: its group is half on nodes already.
        self.goes_first = False
        #: Attempts that ended in a rejection; attempts in a row that ended in an error.
        self.unschedulable_count = 0
        self.error_count = 0
        #: The whole second in which the backoff ends; None where the pod has not failed yet.
        self.backoff_until: float | None = None
        #: Brought back by nothing but the timed flush, and when that last happened.
        self.was_flushed = False
        self.flushed_at: float | None = None
        self.history = History()
        #: Its number in the heap that holds it; the heap's own.
        self.ticket = -1

    @property
    def gated(self) -> bool:
        """Whether a PreEnqueue plugin keeps the pod out."""
        return bool(self.gating_plugin)

    @property
    def is_parked(self) -> bool:
        """Whether the pod waits for something to happen."""
        return self.place in (Place.UNSCHEDULABLE, Place.GATED)

    @property
    def rejectors(self) -> frozenset[str]:
        """The plugins whose events may wake the pod."""
        return self.unschedulable_plugins | self.pending_plugins

    def __repr__(self) -> str:
        return f"Queued({self.pod.key}, {self.place.value}, attempts={self.attempts})"
