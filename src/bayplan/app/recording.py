"""The log of decisions, where the configuration wants one. Used by ``assembly``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bayplan.runtime.decision_log import DecisionLog
from bayplan.telemetry.decision_files import Limits, open_decisions

if TYPE_CHECKING:
    from bayplan.framework.config.own import Record
    from bayplan.runtime.binding import Board


def recording(wanted: Record, board: Board) -> DecisionLog | None:
    """A log that hears of every attempt from now on; None: none is wanted.

    Raises:
        NoParquet: that extra is not installed.
    """
    if not wanted.file:
        return None
    limits = Limits(
        file_bytes=wanted.max_file_megabytes << 20,
        file_age_s=wanted.max_file_age.total_seconds(),
        files=wanted.max_files,
    )
    file = open_decisions(Path(wanted.file), limits)
    log = DecisionLog(file, board.clock, board.metrics.decisions_lost)
    board.chronicle.observers.append(log)
    return log
