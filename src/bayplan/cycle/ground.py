"""What the stages of one evaluation stand on together.

Made by ``cycle.evaluation``; read by ``cycle.feasible`` and ``cycle.rank``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayplan.cluster.view import Nodes
    from bayplan.cycle.plan import Plan
    from bayplan.cycle.undo import UndoLog
    from bayplan.framework.state import CycleState


@dataclass(frozen=True, slots=True)
class Ground:
    """Plan, nodes, state and log of one evaluation."""

    plan: Plan
    #: All rows.
    nodes: Nodes
    #: The name of each row.
    names: tuple[str, ...]
    #: What PreFilter and PreScore have left for the later points.
    state: CycleState
    log: UndoLog
