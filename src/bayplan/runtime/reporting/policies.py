"""Telling people what is wrong with a scheduling policy, at the object itself.

A SchedulingPolicy gets the condition ``Accepted``; it, or the ConfigMap, gets a Warning event for what is wrong. Written off
the decision path and only while this instance leads: what is to be said is kept until then.

Fed by ``runtime.ingest.scheduling_policies``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from bayplan.client import resources
from bayplan.client.lanes import Lane
from bayplan.client.resources import EventNote, ObjectRef
from bayplan.errors import BayplanError, NotFound
from bayplan.model.meta import format_time
from bayplan.model.scheduling_policy import ConfigMap, SchedulingPolicy
from bayplan.telemetry import events
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.client.api import Sender
    from bayplan.clock import Clock
    from bayplan.errors import Problem
    from bayplan.runtime.reporting.events import Recorder

_log: Final = get_logger(__name__)

ACCEPTED: Final = "Accepted"
#: Who says so: policies belong to no profile.
_CONTROLLER: Final = "bayplan"
#: What could not be written is tried again after so long.
_AGAIN_S: Final = 10.0


class PolicyReports:
    """Writes conditions and events about policies."""

    def __init__(
        self,
        api: Sender,
        clock: Clock,
        recorder: Recorder,
        may_write: Callable[[], bool],
    ) -> None:
        self._api = api
        self._clock = clock
        self._recorder = recorder
        self._may_write = may_write
        self._wake = asyncio.Event()
        #: What was last found wrong, by object: said once, however often the object is listed.
        self._found: dict[str, str] = {}
        self._to_tell: dict[str, EventNote] = {}
        self._to_write: dict[str, list[dict[str, Any]]] = {}

    def judged(self, obj: SchedulingPolicy | ConfigMap, problems: Sequence[Problem]) -> None:
        """An object was read; ``problems``: what is wrong with it."""
        key = f"{obj.kind} {obj.key}"
        text = "; ".join(map(str, problems))
        if self._found.get(key, "") != text:
            self._found[key] = text
            if text:
                _log.warning("Scheduling policy cannot be used", object=key, err=text)
                self._to_tell[key] = self._note(obj, text)
        if isinstance(obj, SchedulingPolicy):
            wanted = self._condition(obj, text)
            if wanted is None:
                self._to_write.pop(obj.name, None)
            else:
                self._to_write[obj.name] = [wanted]
        if self._to_tell or self._to_write:
            self._wake.set()

    def gone(self, obj: SchedulingPolicy | ConfigMap) -> None:
        """An object was deleted."""
        key = f"{obj.kind} {obj.key}"
        self._found.pop(key, None)
        self._to_tell.pop(key, None)
        if isinstance(obj, SchedulingPolicy):
            self._to_write.pop(obj.name, None)

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            if self._may_write():
                self._tell()
                await self._write()
            if self._to_tell or self._to_write:
                await asyncio.sleep(_AGAIN_S)
                self._wake.set()

    def _tell(self) -> None:
        for note in self._to_tell.values():
            self._recorder.record_note(_CONTROLLER, note)
        self._to_tell.clear()

    async def _write(self) -> None:
        for name, conditions in list(self._to_write.items()):
            try:
                await self._api.send(resources.policy_status(name, conditions), Lane.STATUS)
            except NotFound:
                pass  # gone, or a definition of the kind without a status
            except BayplanError as error:
                _log.warning(
                    "Status of a scheduling policy was not written", policy=name, err=error
                )
                continue
            if self._to_write.get(name) is conditions:
                del self._to_write[name]

    def _condition(self, obj: SchedulingPolicy, text: str) -> dict[str, Any] | None:
        """The condition as it has to be; None where it is so already."""
        status, reason = ("False", "Invalid") if text else ("True", "Valid")
        for condition in obj.status.conditions:
            if condition.type != ACCEPTED:
                continue
            there = (condition.status, condition.message, condition.observed_generation)
            if there == (status, text, obj.metadata.generation):
                return None
        return {
            "type": ACCEPTED,
            "status": status,
            "reason": reason,
            "message": text,
            "observedGeneration": obj.metadata.generation,
            "lastTransitionTime": format_time(datetime.fromtimestamp(self._clock.now(), UTC)),
        }

    def _note(self, obj: SchedulingPolicy | ConfigMap, text: str) -> EventNote:
        version = type(obj).api_versions[0]
        regarding = ObjectRef(obj.kind, obj.namespace, obj.name, obj.uid, version)
        said = events.invalid_policy(text)
        return EventNote(regarding, said.reason, said.action, said.note, said.type)
