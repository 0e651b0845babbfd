"""When no node fits: ask the PostFilter plugins to make room.

Part of an attempt; preemption is one such plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayplan.errors import PluginError
from bayplan.framework.preemption import Nominated, NoRoom
from bayplan.framework.runner import call
from bayplan.framework.status import Code, Rejected

if TYPE_CHECKING:
    from bayplan.cycle.desk import Desk
    from bayplan.cycle.record import Decision, Picture


class TurnedDown:
    """Why each node was turned down, for PostFilter plugins (``framework.preemption.Failures``)."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture

    @property
    def rejected_by_prefilter(self) -> Rejected | None:
        """Set where the pod failed before any node was looked at."""
        return self._picture.rejection

    def rows_with(self, code: int) -> NDArray[np.intp]:
        """Rows of the nodes turned down with this code."""
        if self._picture.rejection is not None:
            rows = self._picture.rows() if self._picture.rejection.code == code else []
            return np.array(sorted(rows), np.intp)
        found = [rows for said, rows in self._picture.first_rejections() if said.code == code]
        return np.sort(np.concatenate(found)) if found else np.empty(0, np.intp)

    def verdict(self, row: int) -> Rejected | None:
        """Why one node was turned down."""
        return self._picture.verdict(row)


def make_room(decision: Decision, picture: Picture, desk: Desk) -> tuple[Nominated | None, str]:
    """A nomination by the first plugin that can, or what all of them had to say."""
    if not desk.view.node_count:
        # Kubernetes asks nobody then, and gives up a node promised earlier.
        return None, ""
    pod, state = decision.pod, decision.evaluation.state
    failures = TurnedDown(picture)
    engine = desk.engine(decision.evaluation)
    if decision.advice is not None:
        engine.extenders = decision.advice.judges
    desk.handle.engine = engine
    said: list[str] = []
    for plugin in desk.profile.postfilter:
        answer: Any = call(plugin, "PostFilter", plugin.postfilter, pod, desk.view, state, failures)
        if isinstance(answer, Nominated):
            return answer, ""
        if not isinstance(answer, Rejected):
            wanted = f"wants Nominated or Rejected, got {answer!r}"
            raise PluginError(plugin.name, "PostFilter", wanted)
        decision.promise_ends = isinstance(answer, NoRoom)
        if answer.code in {Code.ERROR, Code.UNRESOLVABLE}:
            # An error too is only appended to the pod's message, as Kubernetes does.
            return None, answer.message
        said.extend(answer.reasons)
    return None, ", ".join(said)
