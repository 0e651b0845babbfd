"""What the status of a pending pod says: why it has no node, and which one is promised to it.

Fed by whoever acts on an outcome, and by ``runtime.ingest`` with what the API server shows already. Patches are written
in the background, one at a time per pod: while one is under way only the latest wish for that pod is kept, and what the
API server has anyway is not written again. So ten thousand unschedulable pods cost bindings nothing but a lane.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayplan.client import resources
from bayplan.client.lanes import Lane
from bayplan.client.resources import ConditionChange
from bayplan.errors import Conflict, NotFound
from bayplan.telemetry.events import POD_SCHEDULED
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.client.api import Sender
    from bayplan.clock import Clock
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.model.pod import Pod

_log: Final = get_logger(__name__)

_WRITERS: Final = 16
#: A binding waits no longer for a patch that is under way.
_HUSH_S: Final = 5.0


@dataclass(slots=True)
class _Shown:
    """The part of a pod's status that is written here, as the API server has it."""

    status: str = ""
    reason: str = ""
    message: str = ""
    nominated: str = ""
    generation: int = 0


@dataclass(slots=True)
class _Wish:
    """What a pod's status should say."""

    namespace: str
    name: str
    #: Reason and message of the condition; None: it may stay as it is.
    unscheduled: tuple[str, str] | None = None
    #: None: it may stay as it is; empty: none.
    nominated: str | None = None


class Conditions:
    """Writes ``PodScheduled`` conditions and nominated nodes."""

    def __init__(self, api: Sender, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        #: By uid: pending pods as the API server shows them, and as they should be.
        self._shown: dict[str, _Shown] = {}
        self._wishes: dict[str, _Wish] = {}
        self._order: deque[str] = deque()
        #: Pods whose status is being written, and who waits for that.
        self._busy: dict[str, asyncio.Event] = {}
        self._work = asyncio.Semaphore(0)

    # --- what the API server shows -------------------------------------------------------------------------------------

    def seen(self, pod: Pod) -> None:
        """A pending pod, as the watch shows it."""
        if pod.uid in self._busy:
            return  # older than what is just being written
        shown = _Shown(nominated=pod.status.nominated_node_name, generation=pod.metadata.generation)
        for condition in pod.status.conditions:
            if condition.type == POD_SCHEDULED:
                shown.status, shown.reason = condition.status, condition.reason
                shown.message = condition.message
        self._shown[pod.uid] = shown

    def forget(self, uid: str) -> None:
        """The pod has a node, or is gone: nothing is left to say about it."""
        self._shown.pop(uid, None)
        self._wishes.pop(uid, None)

    # --- what it should show -------------------------------------------------------------------------------------------

    def unscheduled(self, pod: PodInfo, reason: str, message: str, nominated: str | None) -> None:
        """The pod has no node, for this reason; ``nominated`` as in a patch: None leaves it, empty clears it."""
        self._wish(pod, (reason, message), nominated)

    def nominate(self, pod: PodInfo, node: str) -> None:
        """A node is promised to the pod, or none any more."""
        self._wish(pod, None, node)

    def _wish(
        self, pod: PodInfo, unscheduled: tuple[str, str] | None, nominated: str | None
    ) -> None:
        wish = self._wishes.get(pod.uid)
        if wish is None:
            wish = self._wishes[pod.uid] = _Wish(pod.namespace, pod.name)
            if pod.uid not in self._busy:
                self._order.append(pod.uid)
                self._work.release()
        if unscheduled is not None:
            wish.unscheduled = unscheduled
        if nominated is not None:
            wish.nominated = nominated

    # --- writing -------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(_WRITERS):
                tasks.create_task(self._write_all())

    async def _write_all(self) -> None:
        while True:
            await self._work.acquire()
            uid = self._order.popleft()
            written = self._busy[uid] = asyncio.Event()
            try:
                while (wish := self._wishes.pop(uid, None)) is not None:
                    await self._write(uid, wish)
            finally:
                del self._busy[uid]
                written.set()

    async def hush(self, uid: str) -> None:
        """Say nothing more about a pod for now, and let what is being said come to its end.

        For a pod that is about to be bound: that it has no node must not be written after it has one.
        """
        self._wishes.pop(uid, None)
        written = self._busy.get(uid)
        if written is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_HUSH_S):
                    await written.wait()

    async def write_nomination(self, pod: PodInfo, node: str) -> None:
        """Promise a node and wait until it is written; a failure is only noted."""
        await self.hush(pod.uid)
        await self._write(pod.uid, _Wish(pod.namespace, pod.name, nominated=node))

    async def _write(self, uid: str, wish: _Wish) -> None:
        shown = self._shown.get(uid) or _Shown()
        conditions = self._condition(shown, wish)
        nominated = wish.nominated
        if nominated == shown.nominated:
            nominated = None
        if not conditions and nominated is None:
            return
        try:
            request = resources.patch_status(
                wish.namespace,
                wish.name,
                uid,
                conditions=conditions,
                nominated_node_name=nominated,
            )
            await self._api.send(request, Lane.STATUS)
        except (NotFound, Conflict) as error:  # it is gone, or another one by now
            if debug := _log.v(3):
                debug.info("Pod whose status was to be written is gone", pod=wish.name, err=error)
            return
        except Exception as error:  # noqa: BLE001 - a text that cannot be sent costs one condition, not the writer
            pod = f"{wish.namespace}/{wish.name}"
            _log.error("Error updating pod", error, pod=pod)
            return
        if uid in self._shown:
            self._note(shown, wish)

    def _condition(self, shown: _Shown, wish: _Wish) -> tuple[ConditionChange, ...]:
        if wish.unscheduled is None:
            return ()
        if (shown.status, shown.reason, shown.message) == ("False", *wish.unscheduled):
            return ()
        reason, message = wish.unscheduled
        # The moment is that of the last change of the status, not of its reason.
        moment = None if shown.status == "False" else self._clock.now()
        return (ConditionChange(POD_SCHEDULED, "False", reason, message, moment, shown.generation),)

    def _note(self, shown: _Shown, wish: _Wish) -> None:
        if wish.unscheduled is not None:
            shown.status = "False"
            shown.reason, shown.message = wish.unscheduled
        if wish.nominated is not None:
            shown.nominated = wish.nominated
