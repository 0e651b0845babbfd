"""A running scheduler in pieces: what ``app`` has put together, and how it is started and stopped.

The order of stopping matters: no further attempt, then bindings and evictions under way come to their end, then what is
still to be told is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bayplan.cluster.audit import audit
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.client.resources import Resource
    from bayplan.cycle.desk import Desk
    from bayplan.framework.config import Configuration
    from bayplan.framework.registry import Registry
    from bayplan.runtime.binding import Binder, Board
    from bayplan.runtime.decision_log import DecisionLog
    from bayplan.runtime.eviction import Evictor
    from bayplan.runtime.extending.attempts import Extending
    from bayplan.runtime.gangs.keeping import Keeper
    from bayplan.runtime.ingest.pods import Pods
    from bayplan.runtime.loop import Counter, Loop
    from bayplan.runtime.reporting.policies import PolicyReports
    from bayplan.runtime.reporting.quotas import QuotaStatus

_log: Final = get_logger(__name__)

#: As kube-scheduler: a pod that has ended holds nothing, and its leaving the selection arrives as a deletion.
POD_FIELDS: Final = "status.phase!=Succeeded,status.phase!=Failed"

#: The next leader waits while the last events are written, of which a busy API server may have thousands before it.
_LAST_WORDS_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Feed:
    """A kind that is watched, and who is told."""

    resource: Resource[Any]
    handler: Any
    field_selector: str = ""
    #: A kind that the API server may not serve: then there are no objects of it.
    optional: bool = False
    #: Told whether the API server serves an optional kind.
    on_served: Callable[[bool], None] | None = None


@dataclass(frozen=True, slots=True)
class Scheduler:
    """All profiles of one process, ready to be fed and run."""

    board: Board
    #: By scheduler name; exchanged as a whole when the configuration is read again.
    counters: dict[str, Counter]
    feeds: Sequence[Feed]
    pods: Pods
    loop: Loop
    binder: Binder
    evictor: Evictor
    quota_status: QuotaStatus
    policy_reports: PolicyReports
    keeper: Keeper
    #: Desks of another configuration for the same cluster.
    make_desks: Callable[[Configuration, Registry], dict[str, Desk]]
    extending: Extending | None = None
    decision_log: DecisionLog | None = None

    async def decide(self) -> None:
        """Decide, and look after pod groups, until the loop is stopped."""
        async with asyncio.TaskGroup() as tasks:
            keeping = tasks.create_task(self.keeper.run())
            await self.loop.run()
            keeping.cancel()

    async def write_reports(self) -> None:
        """Write events and conditions until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.board.reporter.conditions.run())
            tasks.create_task(self.board.reporter.recorder.run())
            if self.decision_log is not None:
                tasks.create_task(self.decision_log.run())
            tasks.create_task(self.quota_status.run())
            tasks.create_task(self.policy_reports.run())

    async def finish(self, within_s: float) -> None:
        """Begin nothing new and bring what is under way to its end, within this time."""
        self.loop.stop()
        broken_off = await self.binder.finish(within_s)
        if broken_off:
            # Whether they came about the next leader learns from its LIST.
            _log.warning("Bindings took too long and were broken off", bindings=broken_off)
        last_words = asyncio.gather(self.evictor.finish(), self.board.reporter.recorder.drain())
        try:
            await asyncio.wait_for(last_words, min(within_s, _LAST_WORDS_S))
        except TimeoutError:
            _log.warning("Some events were not written any more")

    async def close(self) -> None:
        """Hang up on foreign extenders, end the solver and the log of decisions."""
        if self.loop.gang_turns.solving is not None:
            await self.loop.gang_turns.solving.close()
        if self.extending is not None:
            await self.extending.close()
        if self.decision_log is not None:
            await self.decision_log.close()

    def audit(self) -> list[str]:
        """What is wrong with columns and queue, by a recount."""
        return [*audit(self.board.cluster), *self.board.queue.audit()]
