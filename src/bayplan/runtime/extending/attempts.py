"""Attempts for pods that foreign extenders want to be asked about: a task each, so that a slow one holds up its pod alone.

The loop hands such pods over and goes on. When the answers are in, the attempt is made as for any other pod, on the cluster as
it is by then, and the loop acts on what it comes to::

    popped ─▶ prospects ─▶ filter, prioritize … wait … ─▶ attempt ─▶ Placed ─▶ the loop
                                                             └▶ Unplaced, room could be made ─▶ preempt … wait … ─▶ attempt

Made by ``app``; the loop starts attempts here, bindings ask ``bind``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import msgspec

from bayplan.client import resources
from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.client.retry import IDEMPOTENT
from bayplan.cycle.advice import Advice
from bayplan.cycle.attempt import attempt, prospects
from bayplan.cycle.outcome import Failed, Outcome, Unplaced
from bayplan.errors import BayplanError, ExtenderError, NotFound, PluginError
from bayplan.runtime.extending.consulting import Room, advise, narrowed
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.client.api import Sender
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cycle.desk import Desk
    from bayplan.queueing.entry import Queued
    from bayplan.runtime.extending.extender import ForeignExtender
    from bayplan.runtime.ingest.pods import Pods

_log: Final = get_logger(__name__)

#: Extenders are asked about so many pods at a time for each unit of the configuration's ``parallelism``; others that
#: concern them wait their turn, and nobody else does.
AT_ONCE_PER_UNIT: Final = 4
#: How often it is looked whether deciding can go on.
_HELD_S: Final = 0.1


class Extending:
    """Asks extenders and makes the attempts that depend on them."""

    def __init__(
        self, extenders: Sequence[ForeignExtender], api: Sender, pods: Pods, parallelism: int
    ) -> None:
        # Those that may be passed over come last (upstream: buildExtenders).
        self.extenders = sorted(extenders, key=lambda extender: extender.ignorable)
        self._concerns_all = any(
            extender.is_asked_first and not extender.config.managed_resources
            for extender in extenders
        )
        self._api = api
        self._pods = pods
        self._at_once = AT_ONCE_PER_UNIT * parallelism
        self._turns = asyncio.Semaphore(self._at_once)
        self._tasks: set[asyncio.Task[None]] = set()
        #: What the loop does with an outcome, and whether nothing is to be decided for now; set by the loop.
        self.act: Callable[[Queued, Outcome, Desk, float], None]
        self.is_held: Callable[[], bool] = lambda: False
        self.wake: Callable[[], None] = lambda: None
        #: The attempt broke off by a mistake of ours.
        self.broke: Callable[[Queued, Exception, float], None]

    @property
    def is_full(self) -> bool:
        """Whether every further pod would have to wait: then it waits in the queue, in the queue's order."""
        return self._concerns_all and len(self._tasks) >= self._at_once

    def concerns(self, pod: PodInfo) -> bool:
        """Whether any extender wants to be asked before the pod has a node."""
        return bool(self._asked(pod))

    def _asked(self, pod: PodInfo) -> list[ForeignExtender]:
        return [
            extender
            for extender in self.extenders
            if extender.is_asked_first and extender.is_interested(pod)
        ]

    # --- attempts ------------------------------------------------------------------------------------------------------

    def start(self, queued: Queued, desk: Desk, now: float) -> None:
        """Make an attempt in a task of its own."""
        task = asyncio.get_running_loop().create_task(self._run(queued, desk, now))
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def start_gang(
        self,
        members: Sequence[tuple[Queued, Desk]],
        now: float,
        decide: Callable[[Mapping[str, Advice]], None],
    ) -> None:
        """Ask about each member of a gang, and have it decided once all answers are in; no room is held meanwhile."""
        task = asyncio.get_running_loop().create_task(self._run_gang(members, now, decide))
        self._tasks.add(task)
        task.add_done_callback(self._done)

    async def _run_gang(
        self,
        members: Sequence[tuple[Queued, Desk]],
        now: float,
        decide: Callable[[Mapping[str, Advice]], None],
    ) -> None:
        asked = [(queued.pod, desk) for queued, desk in members if self.concerns(queued.pod)]
        try:
            answers = await asyncio.gather(*(self._in_turn(pod, desk) for pod, desk in asked))
            await self._until_free()
        except BayplanError as error:
            for queued, desk in members:
                self.act(queued, Failed(queued.pod, error), desk, now)
            return
        except Exception as error:  # noqa: BLE001 - a mistake of ours: it costs this gang an attempt
            for queued, _ in members:
                self.broke(queued, error, now)
            return
        decide({pod.uid: said for (pod, _), said in zip(asked, answers, strict=True)})

    async def _in_turn(self, pod: PodInfo, desk: Desk) -> Advice:
        async with self._turns:
            return await self._asked_about(pod, desk)

    async def _asked_about(self, pod: PodInfo, desk: Desk) -> Advice:
        """What extenders say of a member: they are not asked about evictions, which the gang makes as one."""
        found = prospects(pod, desk)
        if isinstance(found, Failed):
            raise found.error
        if not found.nodes:
            return Advice()
        return await advise(self._asked(pod), await self._whole(pod), found)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        # The loop may be asleep: there is room again, or this pod is to be tried again at some time.
        self.wake()

    def stop(self) -> None:
        """Break off the attempts under way: nothing has come of them yet."""
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        """Hang up."""
        self.stop()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for extender in self.extenders:
            await extender.close()

    async def _run(self, queued: Queued, desk: Desk, now: float) -> None:
        try:
            async with self._turns:
                outcome = await self._decide(queued, desk)
            self.act(queued, outcome, desk, now)
        except Exception as error:  # noqa: BLE001 - a mistake of ours: it costs this pod an attempt, and no other pod anything
            self.broke(queued, error, now)

    async def _decide(self, queued: Queued, desk: Desk) -> Outcome:
        pod = queued.pod
        extenders = self._asked(pod)
        found = prospects(pod, desk)
        if isinstance(found, Failed):
            return found
        room = Room()
        judges = (room,) if any(each.config.preempt_verb for each in extenders) else ()
        advice = Advice(judges=judges)
        try:
            if found.nodes:
                said = await advise(extenders, await self._whole(pod), found)
                advice = replace(said, judges=judges)
            await self._until_free()
            outcome = attempt(pod, desk, advice)
            if isinstance(outcome, Unplaced) and outcome.nominated is not None and room.asked:
                room.answer(await narrowed(extenders, await self._whole(pod), room.asked))
                await self._until_free()
                outcome = attempt(pod, desk, advice)
        except BayplanError as error:
            return Failed(pod, error)
        return outcome

    async def _until_free(self) -> None:
        while self.is_held():  # noqa: ASYNC110 - nobody tells when it is over
            await asyncio.sleep(_HELD_S)

    async def _whole(self, pod: PodInfo) -> msgspec.Raw:
        """The pod word for word: what we keep of it is what schedulers read, an extender may read anything."""
        path = resources.PODS.path(pod.name, pod.namespace)
        try:
            return msgspec.Raw(
                await self._api.send(Request("GET", path, retry=IDEMPOTENT), Lane.READ)
            )
        except NotFound:
            raise ExtenderError(f"pod {pod.key} is gone") from None

    # --- bindings ------------------------------------------------------------------------------------------------------

    async def bind(self, pod: PodInfo, node: str) -> bool:
        """Whether an extender has bound the pod; False: none of them wants to.

        Raises:
            PluginError: it wanted to and could not.
        """
        for extender in self.extenders:
            if not extender.config.bind_verb or not extender.is_interested(pod):
                continue
            try:
                await extender.bind(pod, node)
            except ExtenderError as error:
                # The answer may be lost and the pod bound all the same.
                if self._pods.seen_on(pod) == node:
                    return True
                if extender.ignorable:
                    _log.info("Skipping ignorable extender", extender=extender.name, err=error)
                    continue
                raise PluginError(f"extender {extender.name}", "Bind", str(error)) from error
            return True
        return False
