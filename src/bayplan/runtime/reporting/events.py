"""Kubernetes events, written off the decision path and given up rather than waited for.

Fed by whoever acts on an outcome, and by plugins through the handle. An event that repeats becomes a series, as with
client-go's broadcaster: the second sighting writes a count of two, later ones are only counted here; the count is
written again every half hour, and for the last time once a series has been quiet for six minutes. Only warnings
repeat: a pod is bound once, and half a million ``Scheduled`` events are not worth remembering.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayplan.client import resources
from bayplan.client.lanes import Lane
from bayplan.client.resources import EventNote, ObjectRef
from bayplan.errors import ApiError, NotFound
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.client.api import Sender
    from bayplan.clock import Clock
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.telemetry.events import EventText
    from bayplan.telemetry.metrics import Metrics

_log: Final = get_logger(__name__)

#: Events that may wait to be written; one more is dropped.
LIMIT: Final = 5000
_WRITERS: Final = 16
#: A series without a sighting for so long is over.
FINISH_S: Final = 6 * 60.0
#: So many looks at all series make a refresh.
_LOOKS_PER_REFRESH: Final = 5

_Key = tuple[str, str, str, str, ObjectRef, ObjectRef | None]


@dataclass(slots=True)
class _Sighting:
    """An event and how often it was seen."""

    controller: str
    note: EventNote
    #: When it was first seen: part of its name.
    at: float
    serial: int
    last: float
    count: int = 1
    #: The API server has it.
    created: bool = False
    #: The count the API server knows.
    written: int = 1

    @property
    def key(self) -> _Key:
        note = self.note
        return (
            self.controller,
            note.type,
            note.action,
            note.reason,
            note.regarding,
            note.related,
        )


class Recorder:
    """Writes events in the background."""

    def __init__(
        self, api: Sender, clock: Clock, metrics: Metrics, hostname: str, *, limit: int = LIMIT
    ) -> None:
        self._api = api
        self._clock = clock
        self._metrics = metrics
        self._hostname = hostname
        self._serial = 0
        self._waiting: asyncio.Queue[_Sighting] = asyncio.Queue(limit)
        self._repeating: dict[_Key, _Sighting] = {}

    def record(
        self, controller: str, pod: PodInfo, text: EventText, related: PodInfo | None = None
    ) -> None:
        """Say something about a pod, in the name of a profile."""
        other = reference(related) if related is not None else None
        note = EventNote(reference(pod), text.reason, text.action, text.note, text.type, other)
        self.record_note(controller, note)

    def record_note(self, controller: str, note: EventNote) -> None:
        """Say something about any object."""
        now = self._clock.now()
        self._serial += 1
        sighting = _Sighting(controller, note, now, self._serial, now)
        if note.type == "Warning":
            known = self._repeating.setdefault(sighting.key, sighting)
            if known is not sighting:
                self._seen_again(known, now)
                return
        self._enqueue(sighting)

    def _seen_again(self, known: _Sighting, now: float) -> None:
        known.count += 1
        known.last = now
        if known.created and known.count == 2:
            self._enqueue(known)

    def _enqueue(self, sighting: _Sighting) -> None:
        try:
            self._waiting.put_nowait(sighting)
        except asyncio.QueueFull:
            self._metrics.event_dropped("full")
            self._repeating.pop(sighting.key, None)

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(_WRITERS):
                tasks.create_task(self._write_all())
            tasks.create_task(self._tend_series())

    async def drain(self) -> None:
        """Wait until all that was recorded is written or given up."""
        await self._waiting.join()

    async def _write_all(self) -> None:
        while True:
            sighting = await self._waiting.get()
            try:
                await self._write(sighting)
            except ApiError as error:
                self._give_up(sighting, "rejected", error)
            except Exception as error:  # noqa: BLE001 - a text that cannot be sent costs one event, not the writer
                self._give_up(sighting, "error", error)
            finally:
                self._waiting.task_done()

    def _give_up(self, sighting: _Sighting, cause: str, error: Exception) -> None:
        self._metrics.event_dropped(cause)
        self._repeating.pop(sighting.key, None)
        if debug := _log.v(2):
            debug.info("Event was not written", reason=sighting.note.reason, err=error)

    async def _write(self, sighting: _Sighting) -> None:
        if not sighting.created:
            await self._create(sighting)
        if sighting.count > sighting.written:
            await self._count(sighting)

    async def _create(self, sighting: _Sighting) -> None:
        controller = sighting.controller
        request = resources.event(
            sighting.note,
            now=sighting.at,
            controller=controller,
            instance=f"{controller}-{self._hostname}",
            serial=sighting.serial,
        )
        await self._api.send(request, Lane.EVENT)
        sighting.created = True

    async def _count(self, sighting: _Sighting) -> None:
        count, regarding = sighting.count, sighting.note.regarding
        name = resources.event_name(regarding.name, sighting.at, sighting.serial)
        request = resources.event_series(
            regarding.namespace or "default", name, count=count, now=sighting.last
        )
        try:
            await self._api.send(request, Lane.EVENT)
        except NotFound:  # it has expired: a new one takes its place
            await self._create(sighting)
        sighting.written = count

    async def _tend_series(self) -> None:
        looks = 0
        while True:
            await asyncio.sleep(FINISH_S)
            looks += 1
            self.tend(refresh=looks % _LOOKS_PER_REFRESH == 0)

    def tend(self, *, refresh: bool) -> None:
        """End the series that have been quiet; with ``refresh``, write the counts of the others too."""
        over = self._clock.now() - FINISH_S
        for key, sighting in list(self._repeating.items()):
            ends = sighting.last < over
            if ends:
                del self._repeating[key]
            if sighting.count > sighting.written and (ends or refresh):
                self._enqueue(sighting)


def reference(pod: PodInfo) -> ObjectRef:
    """A pod as an event names it; its version tells one state of it from the next."""
    return ObjectRef("Pod", pod.namespace, pod.name, pod.uid, resource_version=pod.resource_version)
