"""Taking a profile's pods in, and letting them go, while everything else goes on.

Called by ``standing_in``. Between the last attempt and the last binding the profile is *closing*: the loop passes its pods
over, pods that Permit holds back are called off, and what is with the API server comes to its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.clock import Clock
    from bayplan.runtime.ingest.pods import Pods
    from bayplan.runtime.waiting import WaitingPods

_log: Final = get_logger(__name__)

_LOOK_S: Final = 0.02
#: What is under way has so long to come to its end, as when a process ends.
_GRACE_S: Final = 15.0


class ProfileShift:
    """Of one process (``standing_in.Shift``)."""

    def __init__(
        self, pods: Pods, waiting: WaitingPods, clock: Clock, wake: Callable[[], None]
    ) -> None:
        self._pods = pods
        self._waiting = waiting
        self._clock = clock
        #: Tells the loop that there is something to do.
        self._wake = wake

    def take_up(self, profile: str) -> None:
        """Its pods come into the queue."""
        self._pods.take_up(profile)
        self._wake()

    async def lay_down(self, profile: str) -> None:
        """Its pods are another scheduler's again once this returns."""
        closing = self._pods.turns.closing
        closing.add(profile)
        for waiting in self._waiting:
            if waiting.pod.spec.scheduler_name == profile:
                waiting.preempt("", f"another scheduler serves {profile} again")
        end = self._clock.monotonic() + _GRACE_S
        while under_way := self._pods.under_way(profile):
            if self._clock.monotonic() > end:
                _log.warning("Bindings took too long", profile=profile, bindings=under_way)
                break
            await asyncio.sleep(_LOOK_S)
        self._pods.lay_down(profile)
        closing.discard(profile)
