"""What the stages of one evaluation stand on together, and what changed under their feet.

Made by ``cycle.evaluation``; read by ``cycle.feasible`` and ``cycle.rank``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

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


class Changes(NamedTuple):
    """The rows that changed since the last look, each once."""

    nodes: Nodes
    #: What changed in each (``Reads`` flags).
    kinds: list[int]
    #: All kinds together: most plugins see from this that they are not concerned.
    union: int

    def rows(self, reads: int) -> NDArray[np.intp]:
        """The rows in which something changed that ``reads`` names."""
        rows = self.nodes.rows
        if len(rows) == 1:
            return rows
        return rows[np.fromiter((bool(kind & reads) for kind in self.kinds), np.bool_, len(rows))]
