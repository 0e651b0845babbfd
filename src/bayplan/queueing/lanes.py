"""The ready pods in several lanes: QueueSort says which lane a pod is in, and from which lane the next one is taken.

Within a lane it is QueueSort's key that counts, as with a single queue. Which lane is next may depend on what is allocated
now, so it is asked at every pop: a key could not say it, for keys do not change while a pod waits.

Made by ``places`` where QueueSort has lanes at all; all others keep their one heap.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from bayplan.errors import PluginError
from bayplan.framework.plugin import QueueSortPlugin
from bayplan.framework.runner import call
from bayplan.queueing.ordered import Ordered
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.queueing.entry import Queued

_log: Final = get_logger(__name__)

#: Where the pods are of which QueueSort failed to say where they belong.
_ASTRAY: Final = ""


def ready_pods(sort: QueueSortPlugin) -> Ordered | Lanes:
    """What holds the ready pods."""
    return Ordered() if type(sort).lane is QueueSortPlugin.lane else Lanes(sort)


class Lanes:
    """Pods by lane, and by key within; to its user it is like ``Ordered``."""

    def __init__(self, sort: QueueSortPlugin) -> None:
        self._sort = sort
        #: Lanes in which somebody waits.
        self._lanes: dict[str, Ordered] = {}
        self._lane_of: dict[Queued, str] = {}
        #: Pods that go before all others, whatever lane they would be in.
        self._first = Ordered()

    def push(self, queued: Queued, key: Any) -> None:
        """Put a pod in. Keys that begin with a number below 0 go before all others."""
        if key[0] < 0:
            self._first.push(queued, key)
            return
        lane = self._lane(queued)
        self._lane_of[queued] = lane
        self._lanes.setdefault(lane, Ordered()).push(queued, key)

    def _lane(self, queued: Queued) -> str:
        try:
            found: object = call(self._sort, "QueueSort", self._sort.lane, queued.pod)
            if not isinstance(found, str):
                text = f"wants the name of a lane, got {found!r}"
                raise PluginError(self._sort.name, "QueueSort", text)  # noqa: TRY301
        except PluginError as error:
            _log.error("Pod waits in a lane of its own kind", error, pod=queued.pod.key)
            return _ASTRAY
        return found

    def remove(self, queued: Queued) -> None:
        """Take a pod out, wherever it stands."""
        lane = self._lane_of.pop(queued, None)
        if lane is None:
            self._first.remove(queued)
            return
        self._lanes[lane].remove(queued)
        if not len(self._lanes[lane]):
            del self._lanes[lane]

    def is_astray(self, queued: Queued) -> bool:
        """Whether the pod belongs into another lane by now: its labels have changed."""
        return queued in self._lane_of and self._lane(queued) != self._lane_of[queued]

    def peek(self) -> Queued | None:
        """The pod to take next; to be called once for each that is taken, since QueueSort may count turns."""
        first = self._first.peek()
        if first is not None or not self._lanes:
            return first
        return self._lanes[self._pick()].peek()

    def _pick(self) -> str:
        waiting = tuple(self._lanes)
        try:
            found = call(self._sort, "QueueSort", self._sort.next_lane, waiting)
            if found not in waiting:
                text = f"wants one of {list(waiting)}, got {found!r}"
                raise PluginError(self._sort.name, "QueueSort", text)  # noqa: TRY301
        except PluginError as error:
            _log.error("Lanes are taken in the order in which they came", error)
            return waiting[0]
        return found

    def __len__(self) -> int:
        return len(self._lane_of) + len(self._first)

    def __iter__(self) -> Iterator[Queued]:
        """All pods, in no particular order."""
        yield from self._first
        yield from self._lane_of

    def __contains__(self, queued: Queued) -> bool:
        return queued in self._lane_of or queued in self._first
