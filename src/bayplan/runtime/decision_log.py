"""The log of decisions: every attempt as a record in a file, written beside the scheduling.

Hears of attempts from the chronicle and notes what cannot be known later (the chosen node's scores); once a second what has come
together is written by a thread that does nothing else. A disk that is slow or full costs records, which are counted, and no
attempt anything. The files are ``telemetry.decision_files``.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bayplan.runtime.chronicle import SCHEDULED, Try
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable

    from bayplan.clock import Clock
    from bayplan.cycle.record import Decision
    from bayplan.telemetry.decision_files import DecisionFile, Record

_log: Final = get_logger(__name__)

VERSION: Final = 1
_EVERY_S: Final = 1.0
#: Held in memory at most: some seconds of the fastest scheduling.
_MOST: Final = 50_000


class DecisionLog:
    """An observer of the chronicle that writes everything down."""

    def __init__(self, file: DecisionFile, clock: Clock, lost: Callable[[int], None]) -> None:
        """``lost`` is told how many records could not be written."""
        self._file = file
        self._clock = clock
        self._lost = lost
        self._records: list[Record] = []
        self._dropped = 0
        self._failing = False
        self._writer: ThreadPoolExecutor | None = None

    # --- hearing -------------------------------------------------------------------------------------------------------

    def decided(self, attempt: Try) -> None:
        """The scores are as they are now; later the columns have moved on."""
        decision = attempt.decision
        if decision is not None:
            attempt.notes["nodes"] = decision.evaluation.view.node_count
            attempt.notes["feasible"] = feasible_nodes(decision)
            if decision.chosen >= 0:
                attempt.notes["scores"] = chosen_scores(decision)

    def ended(self, attempt: Try) -> None:
        """One record more."""
        if len(self._records) >= _MOST:
            self._dropped += 1
            return
        wall = self._clock.now() - (self._clock.monotonic() - attempt.ended_at)
        self._records.append(record_of(attempt, wall))

    def context(self, attempt: Try) -> Context | None:
        """Bindings are none of our business."""
        del attempt
        return None

    # --- writing -------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Write now and then, until cancelled."""
        while True:
            await asyncio.sleep(_EVERY_S)
            await self.flush()

    async def flush(self) -> None:
        """Write what there is."""
        if self._dropped:
            self._lost(self._dropped)
            _log.warning("Decisions came faster than they could be written", lost=self._dropped)
            self._dropped = 0
        if not self._records:
            return
        records, self._records = self._records, []
        try:
            await self._beside(self._file.write, records)
        except OSError as error:
            self._lost(len(records))
            if not self._failing:
                _log.error("Cannot write the log of decisions; they are lost until it works", error)
            self._failing = True
            return
        if self._failing:
            _log.info("The log of decisions is written again")
        self._failing = False

    async def close(self) -> None:
        """Write the rest, and end the file."""
        await self.flush()
        try:
            await self._beside(lambda _, now: self._file.close(now), ())
        except OSError as error:
            _log.error("Cannot end the log of decisions", error)
        if self._writer is not None:
            self._writer.shutdown(wait=False)
            self._writer = None

    async def _beside(self, do: Callable[[Any, float], None], records: Any) -> None:
        if self._writer is None:
            self._writer = ThreadPoolExecutor(1, "decision-log")
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._writer, do, records, self._clock.now())


def chosen_scores(decision: Decision) -> dict[str, int]:
    """What each plugin's score of the chosen node came to; those that gave nothing are left out."""
    rank = decision.rank or decision.evaluation.rank
    if rank is None:
        return {}
    row = decision.chosen
    found = {}
    for part in rank.shown():
        weighted = part.weighted if isinstance(part.weighted, int) else int(part.weighted[row])
        if weighted:
            found[part.plugin.name] = weighted
    return found


def record_of(attempt: Try, ended: float) -> Record:
    """An attempt as a record; ``ended``: seconds since 1970."""
    when = datetime.fromtimestamp(ended, UTC).isoformat(timespec="microseconds")
    record: dict[str, Any] = {
        "v": VERSION,
        "time": when.replace("+00:00", "Z"),
        "pod": attempt.pod.key,
        "uid": attempt.pod.uid,
        "profile": attempt.profile,
        "attempt": attempt.number,
        "result": attempt.result,
        "waited": round(max(attempt.began - attempt.queued.queued_at, 0.0), 6),
        "deciding": round(attempt.decided_at - attempt.began, 6),
        "seconds": round(attempt.seconds, 6),
    }
    if attempt.node:
        record["node"] = attempt.node
    if attempt.result != SCHEDULED and attempt.message:
        record["message"] = attempt.message
    if attempt.plugins:
        record["plugins"] = sorted(attempt.plugins)
    if attempt.decision is not None:
        _add_decision(record, attempt, attempt.decision)
    return record


def _add_decision(record: dict[str, Any], attempt: Try, decision: Decision) -> None:
    record |= {name: attempt.notes[name] for name in ("nodes", "feasible") if name in attempt.notes}
    if decision.chosen >= 0:
        scores: Any = attempt.notes.get("scores")
        record["equals"] = decision.ties
        if scores:
            record["score"] = sum(scores.values())
            record["scores"] = scores
    if decision.nominated is not None:
        record["nominatedNode"] = decision.nominated.node
        record["victims"] = [victim.key for victim in decision.nominated.victims]


def feasible_nodes(decision: Decision) -> int:
    """How many nodes passed all filters."""
    feasible = decision.evaluation.feasible
    if feasible is None:
        return 0
    closed = sum(bool(feasible.open[row]) for row in decision.overrides)
    return int(np.count_nonzero(feasible.open)) - closed
