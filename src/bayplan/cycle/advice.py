"""What extenders had to say about one pod, taken into account when the attempt is made.

Extenders are asked between two looks at the cluster: ``prospects`` says which nodes to ask about, and the attempt itself is
made when the answers are in, on the cluster as it is by then. So a slow extender holds up its pod and nobody else, and
nothing is decided on what was true when it was asked. Made by ``runtime.extending``; read by ``cycle.attempt``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.framework.events import EXTENDER
from bayplan.framework.status import Code, Rejected

if TYPE_CHECKING:
    from bayplan.cycle.evaluation import Evaluation
    from bayplan.framework.preemption import PreemptExtender

#: A node that an extender left out without a word: no reason to show, and no eviction would bring it back.
UNSAID: Final = Rejected(code=Code.UNRESOLVABLE, plugin=EXTENDER)

#: Sums stay far away from the numbers that mark rows as closed.
_MOST: Final = 1 << 60


@dataclass(frozen=True, slots=True)
class ExtenderScores:
    """What one extender gave each node: 0 to 10."""

    name: str
    weight: int
    by_node: Mapping[str, int]

    def weighted(self, node: str) -> int:
        """What enters the total: a score of 10 counts as a plugin's 100."""
        return min(self.by_node.get(node, 0) * self.weight * 10, _MOST)


@dataclass(frozen=True, slots=True)
class Advice:
    """The answers of all extenders that were asked about one pod."""

    #: Nodes that every filter left; None: nobody was asked to filter.
    left: frozenset[str] | None = None
    #: Why nodes were turned down, where it was said.
    failed: Mapping[str, Rejected] = field(default_factory=dict)
    scores: Sequence[ExtenderScores] = ()
    #: Who narrows down the candidates for preemption.
    judges: Sequence[PreemptExtender] = ()

    def turned_down(self, evaluation: Evaluation) -> dict[int, Rejected]:
        """Rows that pass the filters and that extenders do not want."""
        if self.left is None or evaluation.feasible is None:
            return {}
        names = evaluation.names
        rows: list[int] = np.flatnonzero(evaluation.feasible.open).tolist()
        return {
            row: self.failed.get(names[row], UNSAID) for row in rows if names[row] not in self.left
        }

    def added_to(self, ranked: NDArray[np.int64], names: Sequence[str]) -> NDArray[np.int64]:
        """The totals with the extenders' scores; closed rows stay what they are."""
        if not self.scores:
            return ranked
        wanted = {node for scores in self.scores for node in scores.by_node}
        total = ranked.copy()
        open_rows = np.flatnonzero(ranked > -_MOST)
        for row in open_rows.tolist():
            if names[row] in wanted:
                more = sum(scores.weighted(names[row]) for scores in self.scores)
                total[row] += min(more, _MOST)
        return total
