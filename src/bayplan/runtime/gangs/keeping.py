"""Looks after groups between their turns: says what they wait for, keeps their status, ends what cannot be completed.

Run beside the loop, once a second, over the groups of which something has changed. What is told of a group waits until it
has been quiet for a moment: members come one after the other, and nobody wants to read of each.

A group of which some members are on nodes and too few are, because a binding failed or this process was not there, is first
in line for its timeout (``scheduleTimeoutSeconds``, a minute where none is given). Then it makes way: its members are
evicted, so that no room is held by a gang that neither runs nor is about to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayplan.cycle.shortage import too_few
from bayplan.telemetry import events
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.model.pod_group import Group, GroupKey
    from bayplan.runtime.binding import Board
    from bayplan.runtime.gangs.dismissal import Dismissal
    from bayplan.runtime.gangs.finished import FinishedMembers
    from bayplan.runtime.gangs.status import GroupStatuses

_log: Final = get_logger(__name__)

#: How long a group may stand half on nodes: the coscheduling plugin's permitWaitingTimeSeconds.
TIMEOUT_S: Final = 60.0
_LOOK_S: Final = 1.0
#: A group that changes all the time is told of all the same.
_AT_LAST_S: Final = 5.0


@dataclass(slots=True)
class _News:
    """Something has changed about a group."""

    since: float
    last: float


class Keeper:
    """Looks after all groups."""

    def __init__(
        self,
        board: Board,
        statuses: GroupStatuses,
        dismissal: Dismissal,
        finished: FinishedMembers,
    ) -> None:
        self._board = board
        self._gangs = board.cluster.gangs
        self.statuses = statuses
        self._dismissal = dismissal
        self._finished = finished
        self._news: dict[GroupKey, _News] = {}
        #: Since when a group has been half on nodes.
        self._half_since: dict[GroupKey, float] = {}
        #: What was last said to the members of a group that are kept out, and to whom, by uid.
        self._said: dict[GroupKey, tuple[str, set[str]]] = {}
        #: Whether nothing may be written for now.
        self.is_held: Callable[[], bool] = lambda: False

    async def run(self) -> None:
        """Look again and again until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.statuses.run())
            while True:
                await asyncio.sleep(_LOOK_S)
                if not self.is_held():
                    await self._look_safely()

    async def _look_safely(self) -> None:
        try:
            await self.look()
        except Exception as error:  # noqa: BLE001 - a mistake about one group must not end the care for all
            _log.exception("Looking after pod groups broke off", error)

    async def look(self) -> None:
        """Once over everything that has changed, and over everything that is half on nodes."""
        now = self._board.clock.monotonic()
        changed, self._gangs.changed = self._gangs.changed, set()
        for key in changed:
            news = self._news.setdefault(key, _News(now, now))
            news.last = now
            self._note_half(key, now)
        quiet = [
            key
            for key, news in self._news.items()
            if now - news.last >= _LOOK_S or now - news.since >= _AT_LAST_S
        ]
        for key in quiet:
            del self._news[key]
            await self._tell(key, now)
        for key, since in list(self._half_since.items()):
            group = self._gangs.group(key)
            if group is not None and now - since >= _patience(group):
                await self._give_up(group, now)

    def _note_half(self, key: GroupKey, now: float) -> None:
        if self._gangs.is_broken(key):
            self._half_since.setdefault(key, now)
        else:
            self._half_since.pop(key, None)

    # --- telling -------------------------------------------------------------------------------------------------------

    async def _tell(self, key: GroupKey, now: float) -> None:
        group = self._gangs.group(key)
        if group is not None:
            self.statuses.wish(group, self._gangs.standing(key))
            await self._count_finished(group, now)
        else:
            self.statuses.forget(key)
        if not self._gangs.is_ready(key):
            # Whoever waits for room has nothing to hope for before there are members enough.
            self._board.queue.on_group(key, now, events.GROUP_CHANGED)
        self._tell_members(key, group)

    async def _count_finished(self, group: Group, now: float) -> None:
        """Members that have done their work count; we do not watch them, so the API server is asked when it matters."""
        key, standing = group.key, self._gangs.standing(group.key)
        if not standing.complete or not standing.ready or self._gangs.is_ready(key):
            return
        count = await self._finished.count(key)
        if count is not None:
            self._gangs.finished(key, count)
            if self._gangs.is_ready(key):
                self._board.queue.on_group(key, now, events.GROUP_CHANGED)

    def _tell_members(self, key: GroupKey, group: Group | None) -> None:
        """Why they wait: a pod that is kept out of the queue is never attempted, so nobody else would say it."""
        kept_out = [
            queued
            for queued in self._board.queue.members(key)
            if queued.gating_plugin == "GangScheduling"
        ]
        if not kept_out:
            self._said.pop(key, None)
            return
        if group is None:
            text = f'pod group "{key.name}" not found'
        else:
            text = too_few(group, self._gangs.standing(key))
        said, told = self._said.get(key, ("", set()))
        told = told if said == text else set()
        for queued in kept_out:
            if queued.pod.uid not in told:
                self._board.reporter.unscheduled(queued.pod, events.UNSCHEDULABLE, text, None)
        self._said[key] = (text, {queued.pod.uid for queued in kept_out})

    # --- making way ----------------------------------------------------------------------------------------------------

    async def _give_up(self, group: Group, now: float) -> None:
        key = group.key
        if not self._gangs.is_broken(key):
            self._half_since.pop(key, None)
            return
        # Whoever cannot be evicted now is tried again after as long.
        self._half_since[key] = now
        if self._board.dry_run:
            return
        standing = self._gangs.standing(key)
        text = (
            f"gang {key.name}: {len(standing.placed)} of {group.min_member} members are on nodes, "
            f"and no room was found for the others within {_patience(group):g}s"
        )
        _log.warning("A gang makes way", group=str(key), why=text)
        await self._dismissal.dismiss(sorted(standing.placed), text)


def _patience(group: Group) -> float:
    return TIMEOUT_S if group.timeout_s is None else group.timeout_s
