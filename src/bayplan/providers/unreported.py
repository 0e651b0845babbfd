"""Pods that were placed on a node since it was last reported what its NUMA nodes have left.

A report is some time old when it is read, and a pod that was decided a moment ago is not in it. Which NUMA node kubelet
will give it nobody knows before it has: so what it asks for counts as gone on *every* one of them (as the caches of
scheduler-plugins "over-reserve") until a report has changed and one more has been read, or until reports are too old.
Told by the cluster of every pod that comes or goes, by ``numa_topology`` of every reading; writes ``numa.unreported.*``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo

#: Before the name of the resource.
METRIC: Final = "numa.unreported."
#: No reading yet: what is there by then is in the first one.
_NOT_YET: Final = -1


class _Placed(NamedTuple):
    node: str
    #: The first reading after it was placed.
    reading: int
    requests: dict[str, int]


class Unreported:
    """Which pods, and what they ask for together on each node."""

    def __init__(self, write: Callable[[str, str, float], object], keep_readings: int) -> None:
        """Nothing yet.

        Args:
            write: sets node, metric and value in the columns.
            keep_readings: a pod is forgotten after so many readings whatever they say.
        """
        self._write = write
        self._keep = keep_readings
        self._next = _NOT_YET
        self._placed: dict[str, _Placed] = {}
        #: Pods that were taken away and had been reported: what-ifs bring them back, and then they are not new.
        self._reported_before: set[str] = set()
        self._changed_at: dict[str, int] = {}
        self._sums: dict[tuple[str, str], int] = {}

    def on_count(self, pod: PodInfo, node: str, sign: int) -> None:
        """A pod is counted on a node (+1), or no longer (-1)."""
        if not pod.is_guaranteed or self._next == _NOT_YET:
            return
        if sign < 0:
            if pod.uid not in self._placed:
                self._reported_before.add(pod.uid)
                return
            self._drop(pod.uid)
        elif pod.uid not in self._reported_before:
            self._placed[pod.uid] = _Placed(node, self._next, dict(pod.requests))
            self._add(self._placed[pod.uid], +1)
        else:
            return
        for resource in pod.requests:
            self._write(node, METRIC + resource, float(self._sums.get((node, resource), 0)))

    def read(self, changed: Collection[str]) -> dict[str, dict[str, float]]:
        """Reports were read; those of the nodes in ``changed`` are others than at the last reading.

        Returns what is left, and a 0 where it has come to nothing: written by the poller, it wakes pods that wait for room.
        """
        before = set(self._sums)
        now = 0 if self._next == _NOT_YET else self._next
        self._changed_at.update(dict.fromkeys(changed, now))
        self._reported_before.clear()
        for uid, placed in list(self._placed.items()):
            settled = self._changed_at.get(placed.node, _NOT_YET) >= placed.reading < now
            if settled or now - placed.reading >= self._keep:
                self._drop(uid)
        self._next = now + 1
        left: dict[str, dict[str, float]] = {}
        for node, resource in sorted(before | set(self._sums)):
            left.setdefault(METRIC + resource, {})[node] = float(
                self._sums.get((node, resource), 0)
            )
        return left

    def _drop(self, uid: str) -> None:
        self._add(self._placed.pop(uid), -1)

    def _add(self, placed: _Placed, sign: int) -> None:
        for resource, amount in placed.requests.items():
            key = (placed.node, resource)
            self._sums[key] = self._sums.get(key, 0) + sign * amount
            if not self._sums[key]:
                del self._sums[key]
