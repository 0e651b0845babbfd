"""``gangs`` of the BayplanConfiguration: what is done for pod groups beyond trying their members in order.

Read by ``app``, which starts the solver's process where it is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bayplan.framework.config.fields import invalid
from bayplan.framework.config.section import Section

#: More steps than this take longer than a cluster stays as it was.
_MOST_EFFORT: Final = 60.0


class Gangs(Section, frozen=True, kw_only=True):
    """Groups of pods of which enough run at once, or none."""

    #: Whether a solver looks for places when the members' own order has found none; needs ``bayplan[solver]``.
    solver: bool = False
    #: How hard it looks: 1.0 is about a second on one core.
    solver_effort: float = 2.0

    def check(self) -> Iterator[tuple[str, str]]:
        if not 0.0 < self.solver_effort <= _MOST_EFFORT:
            what = f"must be more than 0 and at most {_MOST_EFFORT:g}"
            yield "solverEffort", invalid(self.solver_effort, what)
