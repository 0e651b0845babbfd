"""What an attempt comes to.

Made by ``cycle.attempt``; acted upon by the runtime, rendered by the command line, counted by the simulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bayplan.framework.preemption import Nominated
from bayplan.framework.status import Rejected

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cycle.record import Decision
    from bayplan.errors import BayplanError
    from bayplan.framework.state import CycleState


@dataclass(frozen=True, slots=True)
class Placed:
    """A node was found; nothing is assumed yet."""

    pod: PodInfo
    node: str
    decision: Decision
    state: CycleState


@dataclass(frozen=True, slots=True)
class Unplaced:
    """No node fits; perhaps room can be made."""

    pod: PodInfo
    decision: Decision
    #: The whole text of the FailedScheduling event.
    message: str
    #: Plugins that turned the pod down: their events wake it.
    rejected_by: frozenset[str]
    nominated: Nominated | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """Something broke: a plugin raised, answered nonsense, or said Error."""

    pod: PodInfo
    error: BayplanError
    victims: Sequence[PodInfo] = field(default=())


Outcome = Placed | Unplaced | Failed

__all__ = ["Failed", "Nominated", "Outcome", "Placed", "Rejected", "Unplaced"]
