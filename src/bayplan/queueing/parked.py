"""Pods that wait for something to happen: turned down by plugins, or held at a gate.

A cluster that is full has thousands of them, and an event comes for every pod that is bound. So they are kept by what can
wake them: by (profile, plugin), and within that by class, because hints answer alike for alike pods. An event then costs one
question per class that it concerns, not one per pod. Gated pods are kept apart, by the plugin that gates them: they are in
nobody's way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bayplan.queueing.entry import Place

if TYPE_CHECKING:
    from bayplan.queueing.entry import Queued

#: (profile, plugin)
Waker = tuple[str, str]
#: Class of alike pods to its members; the members' order is that of their coming.
Classes = dict[Any, dict["Queued", None]]


class Parked:
    """The unschedulable pods, with what may wake them."""

    def __init__(self) -> None:
        self._ungated: dict[Queued, None] = {}
        self._gated: dict[Queued, None] = {}
        self._unschedulable: dict[Waker, Classes] = {}
        self._pending: dict[Waker, Classes] = {}
        self._by_gate: dict[Waker, dict[Queued, None]] = {}

    def add(self, queued: Queued) -> None:
        """Park a pod; ``queued.place`` says from now on where it is."""
        if queued.gated:
            queued.place = Place.GATED
            self._gated[queued] = None
            self._by_gate.setdefault((queued.profile, queued.gating_plugin), {})[queued] = None
            return
        queued.place = Place.UNSCHEDULABLE
        self._ungated[queued] = None
        for index, plugins in self._indexes(queued):
            for plugin in plugins:
                classes = index.setdefault((queued.profile, plugin), {})
                classes.setdefault(queued.pod.alike, {})[queued] = None

    def remove(self, queued: Queued) -> None:
        """Take a pod out. Its plugins, gate and pod must be those with which it was added."""
        if queued.place is Place.GATED:
            del self._gated[queued]
            _drop(self._by_gate, (queued.profile, queued.gating_plugin), queued)
            return
        del self._ungated[queued]
        for index, plugins in self._indexes(queued):
            for plugin in plugins:
                waker = (queued.profile, plugin)
                _drop(index[waker], queued.pod.alike, queued)
                if not index[waker]:
                    del index[waker]

    def _indexes(self, queued: Queued) -> tuple[tuple[dict[Waker, Classes], frozenset[str]], ...]:
        return (
            (self._unschedulable, queued.unschedulable_plugins),
            (self._pending, queued.pending_plugins),
        )

    def unschedulable(self, profile: str, plugin: str) -> list[dict[Queued, None]]:
        """Ungated pods that this plugin turned down, class by class."""
        return list(self._unschedulable.get((profile, plugin), {}).values())

    def pending(self, profile: str, plugin: str) -> list[dict[Queued, None]]:
        """Ungated pods of which this plugin said Pending, class by class."""
        return list(self._pending.get((profile, plugin), {}).values())

    def gated_by(self, profile: str, plugin: str) -> list[Queued]:
        """Pods that this plugin gates."""
        return list(self._by_gate.get((profile, plugin), ()))

    @property
    def ungated_count(self) -> int:
        """How many pods wait without being gated."""
        return len(self._ungated)

    @property
    def gated_count(self) -> int:
        """How many pods are gated."""
        return len(self._gated)

    def __iter__(self) -> Iterator[Queued]:
        yield from self._ungated
        yield from self._gated

    def __len__(self) -> int:
        return len(self._ungated) + len(self._gated)

    def __contains__(self, queued: Queued) -> bool:
        return queued in self._ungated or queued in self._gated

    def audit(self) -> Iterator[str]:
        """What is wrong with the indexes."""
        again = Parked()
        for queued in self:
            place = queued.place
            again.add(queued)
            if queued.place is not place:
                yield f"{queued!r} belongs to {queued.place.value}"
                queued.place = place
        for name in ("_ungated", "_gated", "_unschedulable", "_pending", "_by_gate"):
            if getattr(self, name) != getattr(again, name):
                yield f"parked{name} differs from a recount"


def _drop(groups: dict[Any, dict[Queued, None]], key: Any, queued: Queued) -> None:
    del groups[key][queued]
    if not groups[key]:
        del groups[key]
