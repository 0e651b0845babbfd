"""An attempt that may use some nodes only: those of one topology domain, or the one that a plan names.

Says so as extenders do, after all filters: what is left out is turned down with a reason of its own, so the record, the
message and ``explain`` tell it from what the filters said. Made by ``cycle.gang``; read by ``cycle.attempt``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.cycle.advice import Advice
from bayplan.framework.status import Code, Mask, Rejected

if TYPE_CHECKING:
    from bayplan.cycle.evaluation import Evaluation

#: Who turns nodes down for a gang's sake.
GANG: Final = "GangScheduling"

_OUTSIDE: Final = Rejected(code=Code.UNRESOLVABLE, plugin=GANG)


@dataclass(frozen=True, slots=True)
class Confined(Advice):
    """What extenders said, and beside it the only rows that are to be used."""

    #: One bool per row.
    allowed: Mask | None = None
    reason: Rejected = _OUTSIDE

    def turned_down(self, evaluation: Evaluation) -> dict[int, Rejected]:
        """Rows that pass the filters, and that extenders do not want or that are out of bounds."""
        # Slots make a dataclass anew, so super() without arguments would look in the old one.
        outside = Advice.turned_down(self, evaluation)
        if self.allowed is None or evaluation.feasible is None:
            return outside
        rows: list[int] = np.flatnonzero(evaluation.feasible.open & ~self.allowed).tolist()
        return dict.fromkeys(rows, self.reason) | outside


def confined(allowed: Mask, why: str, advice: Advice | None = None) -> Confined:
    """Only these rows, for this reason; what extenders said holds as well."""
    reason = Rejected(why, code=Code.UNRESOLVABLE, plugin=GANG)
    if advice is None:
        return Confined(allowed=allowed, reason=reason)
    return Confined(
        advice.left, advice.failed, advice.scores, advice.judges, allowed=allowed, reason=reason
    )
