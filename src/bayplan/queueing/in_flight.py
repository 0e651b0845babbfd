"""Pods that are being tried, and what happened meanwhile.

An event that comes while a pod is being decided, held at Permit or bound would be lost on it: it is not parked yet, and the
decision may have been taken on the cluster as it was before. So events are kept as long as a pod is out that was popped
before them, and a pod that comes back is judged by those that came after it left. (upstream: active_queue.go, inFlightEvents)
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.framework.events import ClusterEvent

#: What the gauge of in-flight events calls the pods themselves.
POD_POPPED: Final = "PodPopped"


class Flight:
    """One pod that is out."""

    __slots__ = ("gone", "latest", "since")

    def __init__(self, pod: PodInfo, since: int) -> None:
        #: The number of the first event that it has missed.
        self.since = since
        #: The pod as the API server last showed it.
        self.latest = pod
        #: It was deleted, or has got a node: it will not come back.
        self.gone = False


class InFlight:
    """All pods that are out, by uid, and the events that one of them may still ask for."""

    def __init__(self) -> None:
        #: In the order of their departure.
        self._flights: OrderedDict[str, Flight] = OrderedDict()
        self._events: deque[ClusterEvent] = deque()
        #: The number of the first event kept; they are numbered as they come.
        self._first = 0

    def begin(self, pod: PodInfo) -> None:
        """A pod was popped."""
        since = self._first + len(self._events)
        self._flights[pod.uid] = Flight(pod, since)

    def get(self, uid: str) -> Flight | None:
        """The pod of that uid, if it is out."""
        return self._flights.get(uid)

    def note(self, event: ClusterEvent) -> None:
        """Something happened."""
        if self._flights:
            self._events.append(event)

    def missed(self, flight: Flight) -> list[ClusterEvent]:
        """What happened while the pod was out."""
        return list(islice(self._events, flight.since - self._first, None))

    def end(self, uid: str) -> None:
        """A pod is back, bound or gone; events that no other pod can ask for are dropped."""
        if self._flights.pop(uid, None) is None:
            return
        oldest = next(iter(self._flights.values()), None)
        if oldest is None:
            self._first += len(self._events)
            self._events.clear()
            return
        while self._first < oldest.since:
            self._events.popleft()
            self._first += 1

    def counts(self) -> dict[str, int]:
        """For the gauge: events kept, by label, and the pods that are out."""
        counts = Counter(event.label for event in self._events)
        counts[POD_POPPED] = len(self._flights)
        return dict(counts)

    def __len__(self) -> int:
        return len(self._flights)
