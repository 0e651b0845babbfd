"""SchedulingGates: a pod with gates stays out of the queue until the last one is taken away.

Reads:  ``spec.schedulingGates``.
Says:   which gates the pod waits for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bayplan.cluster.changes import Reads
from bayplan.framework.events import Action, Hint, Resource, WakeOn
from bayplan.framework.plugin import PreEnqueuePlugin
from bayplan.framework.status import Rejected, unresolvable

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.model.pod import Pod


class SchedulingGates(PreEnqueuePlugin):
    """Holds pods back until their gates are gone."""

    name = "SchedulingGates"
    reads = Reads.NOTHING

    def pre_enqueue(self, pod: PodInfo) -> Rejected | None:
        gates = pod.spec.scheduling_gates
        if not gates:
            return None
        names = " ".join(gate.name for gate in gates)
        return unresolvable(f"waiting for scheduling gates: [{names}]")

    def wakes_on(self) -> Sequence[WakeOn]:
        return (WakeOn(Resource.POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, _own_update),)


def _own_update(pod: PodInfo, old: Pod | None, new: Pod | None) -> Hint:
    return Hint.QUEUE if new is not None and new.uid == pod.uid else Hint.SKIP
