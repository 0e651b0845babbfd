"""The vocabulary of making room: why nodes failed, which pods would go, and the engine that tries it out.

The engine is the cycle's, the answers are those of PostFilter plugins; whoever runs the attempt acts on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from bayplan.framework.status import Rejected, Verdicts

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import Nodes, TrialNodes
    from bayplan.framework.state import CycleState

#: The condition that a victim's status gets before it is deleted, and its reason.
DISRUPTION_TARGET: Final = "DisruptionTarget"
PREEMPTION_BY_SCHEDULER: Final = "PreemptionByScheduler"


class Failures(Protocol):
    """Why each node was turned down."""

    @property
    def rejected_by_prefilter(self) -> Rejected | None:
        """Set where the pod failed before any node was looked at: every node then carries it."""
        ...

    def rows_with(self, code: int) -> NDArray[np.intp]:
        """Rows of the nodes that were turned down with exactly this code."""
        ...

    def verdict(self, row: int) -> Rejected | None:
        """Why one node was turned down; None where it was not."""
        ...


@dataclass(frozen=True, slots=True)
class Nominated:
    """Room can be made: on ``node``, once ``victims`` are gone."""

    node: str
    #: From the most to the least important.
    victims: Sequence[PodInfo]
    #: Victims whose eviction a disruption budget forbids.
    violations: int = 0
    #: Pods of lower priority to which the node was promised; the promise is withdrawn so that they look elsewhere.
    outbid: Sequence[PodInfo] = ()

    @property
    def to_delete(self) -> list[PodInfo]:
        """The victims that are not on their way out already."""
        return [victim for victim in self.victims if not victim.terminating]


class NoRoom(Rejected):
    """No eviction helps: a node that was promised to the pod earlier is not kept for it any longer.

    Any other rejection by PostFilter leaves an earlier promise as it is.
    """

    __slots__ = ()

    def by(self, plugin: str) -> NoRoom:
        """The same rejection, signed by ``plugin``."""
        return NoRoom(*self.reasons, code=self.code, plugin=plugin)


def disruption_message(scheduler_name: str) -> str:
    """What the condition of a victim says."""
    return f"{scheduler_name}: preempting to accommodate a higher priority pod"


def preempted_note(preemptor: PodInfo, node: str, *, in_memory: bool = False) -> str:
    """The text of a victim's Preempted event; ``in_memory``: it was not bound yet and is given up without deleting it."""
    tail = " (in kube-scheduler memory)." if in_memory else ""
    return f"Preempted by pod {preemptor.uid} on node {node}{tail}"


def preempted_by_group_note(group_uid: str, *, in_memory: bool = False) -> str:
    """The same where a pod group preempts as one: it is not about one node."""
    tail = " (in kube-scheduler memory)." if in_memory else ""
    return f"Preempted by podgroup {group_uid} on node cluster{tail}"


class PreemptExtender(Protocol):
    """A foreign service that may narrow the choice."""

    #: Its errors are passed over.
    ignorable: bool

    def judges_preemption(self, pod: PodInfo) -> bool:
        """Whether it wants to be asked about this pod."""
        ...

    def preempt(self, pod: PodInfo, proposals: Mapping[str, Nominated]) -> Mapping[str, Nominated]:
        """What it leaves of the proposals, by node; raises a BayplanError where it cannot say."""
        ...


class DryRun(Protocol):
    """Filters of the profile, run on supposed states of nodes. It belongs to one attempt."""

    #: In the order in which they are asked.
    extenders: Sequence[PreemptExtender]

    def judge(self, pod: PodInfo, trial: TrialNodes, i: int, state: CycleState) -> Rejected | None:
        """None if ``pod`` passes all filters on node ``i`` of a trial, with and without the pods promised to it.

        ``state`` must be a clone that ``add_pod`` and ``remove_pod`` have brought in line with the trial.
        """
        ...

    def fits(self, pod: PodInfo, trial: TrialNodes, i: int, state: CycleState) -> bool:
        """Whether a node that ``judge`` has let pass still does, other pods being there now."""
        ...

    def add_pod(
        self, pod: PodInfo, added: PodInfo, trial: TrialNodes, i: int, state: CycleState
    ) -> Rejected | None:
        """Put a pod on node ``i`` of the trial and tell the PreFilter plugins."""
        ...

    def remove_pod(
        self, pod: PodInfo, removed: PodInfo, trial: TrialNodes, i: int, state: CycleState
    ) -> Rejected | None:
        """Take a pod off node ``i`` of the trial and tell the PreFilter plugins."""
        ...

    def promises(self, pod: PodInfo) -> Mapping[int, Sequence[PodInfo]]:
        """Rows of the nodes that are promised to other pods which count against ``pod``, and these pods."""
        ...

    def batch(self, pod: PodInfo, state: CycleState) -> BatchDryRun | None:
        """The dry run over many nodes at once, or None where a filter in play couples nodes or judges one by one."""
        ...


class BatchDryRun(Protocol):
    """Filters over many supposed nodes at once: only filters that look at a node's own row are in play."""

    def judge(self, trial: Nodes) -> Verdicts:
        """The first objection to each node of the trial."""
        ...

    def fits(self, trial: Nodes) -> NDArray[np.bool_]:
        """Whether nodes that ``judge`` has let pass still do, other pods being there now."""
        ...
