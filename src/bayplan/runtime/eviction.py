"""Making the room that a preemption has found: victims are deleted off the decision path.

Started by the loop when an attempt nominates a node. A victim that is bound gets the DisruptionTarget condition, is
deleted, and an event says for whom; one that is still waiting in Permit or PreBind is called off in memory and goes back
to the queue. All victims but one go at once, the last one alone: until it is seen to leave, PreEnqueue keeps the preemptor
out of the queue (KEP-4832). If any deletion fails the last victim is spared, and the preemptor is tried again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayplan.client import resources
from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.client.resources import ConditionChange
from bayplan.errors import BayplanError, Conflict, NotFound
from bayplan.framework.preemption import (
    DISRUPTION_TARGET,
    PREEMPTION_BY_SCHEDULER,
    Nominated,
    disruption_message,
    preempted_by_group_note,
    preempted_note,
)
from bayplan.telemetry import events
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.client.api import Sender
    from bayplan.clock import Clock
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.framework.victims.evictions import Evictions
    from bayplan.runtime.reporting.events import Recorder
    from bayplan.runtime.waiting import WaitingPods
    from bayplan.telemetry.metrics import Metrics

_log: Final = get_logger(__name__)

#: Who calls a victim off that waits in Permit or PreBind, as its message says.
_PLUGIN: Final = "DefaultPreemption"

#: A victim's end is seen so soon after the API server has been asked for it; usually it takes milliseconds.
_SEEN_WITHIN_S: Final = 5.0
#: Between two tries of evictions that fail.
_LONGEST_WAIT_S: Final = 10.0


class _NotLeadingError(BayplanError):
    """Somebody else leads by now and decides who has to go."""


@dataclass(frozen=True, slots=True)
class Gang:
    """Pods that preempt as one."""

    #: Of their group.
    uid: str
    #: All that were decided together, the preemptor among them.
    members: Sequence[PodInfo]


@dataclass(frozen=True, slots=True)
class Preemption:
    """A pod, the node it is to get, and who has to go for it."""

    preemptor: PodInfo
    nominated: Nominated
    victims: Sequence[PodInfo]
    #: Whom PreEnqueue asks; None where nothing in the profile preempts.
    evictions: Evictions | None
    #: The gang that preempts as one; None for a pod that does so alone.
    gang: Gang | None = None

    @property
    def preemptors(self) -> Sequence[PodInfo]:
        """Who waits for the victims to go."""
        return (self.preemptor,) if self.gang is None else self.gang.members


class Evictor:
    """Carries preemptions out."""

    def __init__(
        self,
        api: Sender,
        clock: Clock,
        metrics: Metrics,
        recorder: Recorder,
        waiting: WaitingPods,
        may_write: Callable[[], bool],
    ) -> None:
        self._api = api
        self._clock = clock
        self._metrics = metrics
        self._recorder = recorder
        self._waiting = waiting
        self._may_write = may_write
        #: Lets a preemptor be tried again at once; set by whoever owns the queue.
        self.activate: Callable[[Iterable[PodInfo]], None] = lambda _pods: None
        self._tasks: set[asyncio.Task[None]] = set()
        #: How often in a row a preemptor's evictions have failed, by uid.
        self._failures: dict[str, int] = {}

    def start(
        self,
        preemptor: PodInfo,
        nominated: Nominated,
        evictions: Evictions | None,
        gang: Gang | None = None,
    ) -> None:
        """Begin to evict. Preemptors stay out of the queue from now on, until all victims are told to go."""
        victims = nominated.to_delete
        if not victims:
            return  # all of them are on their way out already
        self._metrics.preemption(len(nominated.victims))
        preemption = Preemption(preemptor, nominated, victims, evictions, gang)
        if evictions is not None:
            for each in preemption.preemptors:
                evictions.begin(each.uid, victims[-1].uid)
        task = asyncio.get_running_loop().create_task(self._carry_out(preemption))
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.exception("A preemption broke off", error)

    @property
    def running(self) -> int:
        """Preemptions under way."""
        return len(self._tasks)

    async def finish(self) -> None:
        """Wait for what is under way."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _carry_out(self, preemption: Preemption) -> None:
        started = self._clock.monotonic()
        withdrawn = await self._withdraw_promises(preemption.nominated.outbid)
        evicted = False
        try:
            evicted = await self._evict_all(preemption)
        finally:
            self._end(preemption, evicted=evicted)
        done = withdrawn and evicted
        if done:
            self.forget(preemption.preemptor.uid)
        else:
            self._try_again(preemption.preemptor)
        result = "success" if done else "error"
        self._metrics.preemption_executed(result, self._clock.monotonic() - started)
        if debug := _log.v(2):
            debug.info(
                "Preemption is carried out",
                pod=preemption.preemptor.key,
                node=preemption.nominated.node,
                victims=len(preemption.victims),
                result=result,
            )

    def _end(self, preemption: Preemption, *, evicted: bool) -> None:
        """Let the preemptor in again: when the last victim is seen to leave, or as soon as it is clear that it stays."""
        evictions = preemption.evictions
        if evictions is None:
            return
        last, waits = preemption.victims[-1].uid, False
        for preemptor in preemption.preemptors:
            if evicted and evictions.waits_for(preemptor.uid, last):
                waits = True
            else:
                evictions.end(preemptor.uid)
        if waits:
            # An attempt before that would be in vain. Should the watch be interrupted, it is made nevertheless.
            asyncio.get_running_loop().call_later(_SEEN_WITHIN_S, self._stop_waiting, preemption)

    def _stop_waiting(self, preemption: Preemption) -> None:
        evictions, last = preemption.evictions, preemption.victims[-1].uid
        for preemptor in preemption.preemptors if evictions is not None else ():
            if evictions is not None and evictions.waits_for(preemptor.uid, last):
                evictions.end(preemptor.uid)
                self.activate([preemptor])

    def forget(self, uid: str) -> None:
        """A preemptor has what it wants, or is gone."""
        self._failures.pop(uid, None)

    def _try_again(self, preemptor: PodInfo) -> None:
        """It could be stuck, as nothing more may happen that would wake it: at once the first time, then more slowly.

        Upstream never slows down; what holds its retries back is the rate limit of its client.
        """
        failed = self._failures[preemptor.uid] = self._failures.get(preemptor.uid, 0) + 1
        if failed == 1:
            self.activate([preemptor])
            return
        wait_s = min(2.0 ** (failed - 2), _LONGEST_WAIT_S)
        asyncio.get_running_loop().call_later(wait_s, self.activate, [preemptor])

    async def _withdraw_promises(self, outbid: Sequence[PodInfo]) -> bool:
        """Pods of lower priority have lost this node; they look for another one sooner when they hear of it now."""
        told = True
        for pod in outbid:
            if not pod.nominated_node:
                continue  # the API server has never heard of that promise
            request = resources.patch_status(
                pod.namespace, pod.name, pod.uid, nominated_node_name=""
            )
            try:
                await self._send(request, Lane.STATUS)
            except (NotFound, Conflict):
                continue
            except BayplanError as error:
                _log.error("Cannot withdraw a promised node", error, pod=pod.key)
                told = False
        return told

    async def _evict_all(self, preemption: Preemption) -> bool:
        """Whether every victim has been told to go."""
        *first, last = preemption.victims
        if first and not all(
            await asyncio.gather(*(self._evict(victim, preemption) for victim in first))
        ):
            return False
        evictions = preemption.evictions
        if evictions is not None:
            preemptors = preemption.preemptors
            overtaken = [each for each in preemptors if not evictions.only_last_left(each.uid)]
            if overtaken:
                # Its end was seen while the preemptor had to wait for the others: nothing else would wake it now.
                self.activate(overtaken)
                return True
        return await self._evict(last, preemption)

    async def _evict(self, victim: PodInfo, preemption: Preemption) -> bool:
        preemptor, node = preemption.preemptor, preemption.nominated.node
        in_memory = self._waiting.call_off(victim.uid, _PLUGIN)
        if in_memory:
            if preemption.evictions is not None:
                preemption.evictions.deleted(victim.uid)  # nothing else will be seen of it
        else:
            try:
                await self._delete(victim, preemptor.spec.scheduler_name)
            except (NotFound, Conflict):
                return True  # it is gone already, or another pod has its name
            except BayplanError as error:
                _log.error("Cannot evict pod", error, pod=victim.key, preemptor=preemptor.key)
                return False
        if preemption.gang is None:
            note = preempted_note(preemptor, node, in_memory=in_memory)
        else:
            note = preempted_by_group_note(preemption.gang.uid, in_memory=in_memory)
        text = events.preempted(note)
        self._recorder.record(preemptor.spec.scheduler_name, victim, text, related=preemptor)
        return True

    async def _delete(self, victim: PodInfo, scheduler_name: str) -> None:
        if not victim.disrupted:
            condition = ConditionChange(
                DISRUPTION_TARGET,
                "True",
                PREEMPTION_BY_SCHEDULER,
                disruption_message(scheduler_name),
                self._clock.now(),
            )
            request = resources.patch_status(
                victim.namespace, victim.name, victim.uid, conditions=(condition,)
            )
            await self._send(request, Lane.EVICTION)
        request = resources.delete_pod(victim.namespace, victim.name, victim.uid)
        await self._send(request, Lane.EVICTION)

    async def _send(self, request: Request, lane: Lane) -> None:
        if not self._may_write():
            raise _NotLeadingError("this instance does not lead any more")
        await self._api.send(request, lane)
