"""Which nodes keep the spread within what the hard constraints allow.

State of PreFilter: the counts per domain. They are the cluster's own arrays as long as nobody supposes anything; the
clone that a what-if changes copies what it changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.domains import NO_DOMAIN
from bayplan.cluster.painting import Painting, Table
from bayplan.framework.state import StateKey
from bayplan.framework.status import Rejected, Verdicts, unresolvable

if TYPE_CHECKING:
    from bayplan.cluster.domains import DomainCounts
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import ClusterView, Nodes
    from bayplan.plugins.pod_topology_spread.constraints import Constraint, Plan

REASON: Final = "node(s) didn't match pod topology spread constraints"
#: Verdicts by number: 0 passes.
OUTCOMES: Final = (unresolvable(f"{REASON} (missing required label)"), Rejected(REASON))
NO_LABEL: Final = 1
TOO_MANY: Final = 2


class HardCounts:
    """The counts of one hard constraint."""

    __slots__ = ("_copied", "_low", "constraint", "counts", "view")

    def __init__(self, constraint: Constraint, view: DomainCounts) -> None:
        self.constraint = constraint
        self.view = view
        self.counts = view.counts
        self._copied = False
        self._low: int | None = None

    def clone(self) -> HardCounts:
        """The same counts, to be changed apart."""
        clone = HardCounts(self.constraint, self.view)
        clone.counts, clone._low = self.counts, self._low
        return clone

    def change(self, row: int, delta: int) -> None:
        """Suppose that a matching pod comes to a row or leaves it."""
        domain = int(self.view.map.where[row])
        if domain < 0:
            return
        if not self._copied:
            self.counts, self._copied = self.counts.copy(), True
        self.counts[domain] += delta
        self._low = None

    def highest_allowed(self) -> int:
        """The most matching pods that a domain may have for this one to go there."""
        domains, constraint = self.view.map, self.constraint
        if domains.size < constraint.min_domains:
            low = 0
        else:
            if self._low is None:
                self._low = domains.lowest(self.counts)
            low = self._low
        return min(constraint.max_skew + low - constraint.own, NO_DOMAIN)

    def verdicts(self) -> Table:
        """A verdict per domain."""
        verdicts = (self.counts > self.highest_allowed()).astype(np.int16)
        verdicts *= TOO_MANY
        verdicts[-1] = NO_LABEL  # what a row without the label finds
        return self.constraint.key, verdicts


class HardState:
    """The counts of all hard constraints of a pod."""

    __slots__ = ("index", "parts", "plan")

    def __init__(
        self, plan: Plan, parts: list[HardCounts], index: Painting[np.int16] | None = None
    ) -> None:
        self.plan = plan
        self.parts = parts
        #: Verdicts on all nodes by number.
        self.index: Painting[np.int16] = Painting() if index is None else index

    def clone(self) -> HardState:
        """A copy for a what-if."""
        return HardState(self.plan, [part.clone() for part in self.parts])

    def change(self, pod: PodInfo, other: PodInfo, row: int, delta: int) -> None:
        """Suppose that another pod comes to a row or leaves it.

        Unlike in the cluster's own counts, pods that are being deleted and pods that an empty selector matches count
        here (podtopologyspread/filtering.go, updateWithPod).
        """
        if other.namespace != pod.namespace:
            return
        for part in self.parts:
            if part.constraint.selector.matches(other.labels):
                part.change(row, delta)


HARD: Final = StateKey[HardState]("hard spread constraints")


def count(plan: Plan, view: ClusterView, before: HardState | None) -> HardState:
    """The counts as they are now; ``before`` are those of the same class at an earlier attempt."""
    counts = view.cluster.counts
    if (
        before is not None
        and before.plan is plan
        and all(counts.refresh(part.view) for part in before.parts)
    ):
        parts = [HardCounts(part.constraint, part.view) for part in before.parts]
        return HardState(plan, parts, before.index)
    parts = []
    for constraint in plan.hard:
        tally = counts.tally(constraint.counted, staying=True)
        admission = plan.admission(constraint, view)
        domains = counts.domains(constraint.key, plan.hard_keys, admission)
        parts.append(HardCounts(constraint, counts.view(tally, domains)))
    return HardState(plan, parts)


def judge(state: HardState, nodes: Nodes) -> Verdicts | None:
    """A verdict per node: the first constraint that it breaks gives the reason."""
    tables = [part.verdicts() for part in state.parts]
    index = state.index.paint(nodes, tables, _look_up)
    return Verdicts(index, OUTCOMES) if np.count_nonzero(index) else None


def _look_up(tables: Sequence[Table], nodes: Nodes) -> NDArray[np.int16]:
    index: NDArray[np.int16] | None = None
    for key, table in tables:
        found = table.take(nodes.label(key))
        index = found if index is None else np.where(index, index, found)
    assert index is not None
    return index
