"""How well each node serves the soft constraints.

A node's raw score grows with the matching pods in its domains, the fewer domains there are the less; the fewest is best.
How many domains there are is asked of the feasible nodes, how many pods of all nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.painting import NO_ROWS, Painting, Rows, Table
from bayplan.framework.plugin import MAX_SCORE
from bayplan.framework.state import StateKey

if TYPE_CHECKING:
    from bayplan.cluster.domains import DomainCounts, DomainMap
    from bayplan.cluster.tallies import Tally
    from bayplan.cluster.view import ClusterView, Nodes
    from bayplan.framework.status import Mask, Scores
    from bayplan.plugins.pod_topology_spread.constraints import Constraint, Plan

HOSTNAME: Final = "kubernetes.io/hostname"
#: With more rows than this feasible or not otherwise than before, all are looked at.
_FEW: Final = 64


class Sizes:
    """How many domains of each key have feasible nodes; follows the feasible nodes row by row."""

    def __init__(self, maps: list[DomainMap], n: int) -> None:
        self._maps = maps
        self._feasible: Mask = np.zeros(n, np.bool_)
        #: Feasible rows by domain; the last entry is for those in none.
        self._rows: list[NDArray[np.intp]] = []
        self._topology = -1
        self.feasible = 0

    def follow(self, feasible: Mask, topology: int) -> None:
        """Count for these feasible nodes."""
        flipped = self._feasible != feasible
        number = np.count_nonzero(flipped)
        if topology != self._topology or number > _FEW:
            where = [domains.where[: len(feasible)] for domains in self._maps]
            self._rows = [
                np.roll(np.bincount(column[feasible] + 1, minlength=domains.room + 1), -1)
                for column, domains in zip(where, self._maps, strict=True)
            ]
            self.feasible = int(np.count_nonzero(feasible))
            self._topology = topology
        elif not number:
            return
        else:
            for row in np.flatnonzero(flipped).tolist():
                step = 1 if feasible[row] else -1
                self.feasible += step
                for rows, domains in zip(self._rows, self._maps, strict=True):
                    rows[domains.where[row]] += step
        self._feasible[:] = feasible

    def outside(self, i: int) -> int:
        """Feasible rows that are in no domain of map ``i``."""
        return int(self._rows[i][-1])

    def domains(self, i: int) -> int:
        """Domains of map ``i`` that have feasible rows."""
        return int(np.count_nonzero(self._rows[i][:-1]))


class SoftCounts:
    """The counts of one soft constraint: by domain, or by row for hosts."""

    __slots__ = ("constraint", "domains", "tally", "view", "weight")

    def __init__(
        self, constraint: Constraint, tally: Tally, domains: DomainMap, view: DomainCounts | None
    ) -> None:
        self.constraint = constraint
        self.tally = tally
        #: Which rows are in a domain at all, wherever the pod may run.
        self.domains = domains
        #: None for hosts: each row is a domain of its own there, whatever its label says.
        self.view = view
        #: The more domains, the more a pod in one of them weighs.
        self.weight = 0.0

    @property
    def empty(self) -> bool:
        """Whether no pod is counted anywhere."""
        if self.view is not None:
            return not self.view.total
        return not self.tally.total


class SoftState:
    """The counts of all soft constraints of a pod."""

    def __init__(self, plan: Plan, parts: list[SoftCounts], n: int) -> None:
        self.plan = plan
        self.parts = parts
        self.sizes = Sizes([part.domains for part in parts], n)
        #: Rows that lack a label which all scored nodes need; None where no feasible row does.
        self.ignored: Mask | None = None
        #: Whether every feasible row is known to have all labels.
        self.complete = True
        #: Raw scores of all nodes.
        self.raw: Painting[np.int64] = Painting()
        #: Pods by row as of then.
        self._per_row: list[NDArray[np.int32]] = []

    def changed_rows(self, nodes: Nodes) -> Rows | None:
        """The rows on which pods were counted differently the last time; None: any may be."""
        counts = nodes.cluster.counts
        now = [nodes.take(counts.per_row(part.tally)) for part in self.parts if part.view is None]
        before, self._per_row = self._per_row, [column.copy() for column in now]
        if len(before) != len(now):
            return None
        rows = [np.flatnonzero(old != new) for old, new in zip(before, now, strict=True)]
        return np.concatenate(rows) if rows else NO_ROWS


SOFT: Final = StateKey[SoftState]("soft spread constraints")


def count(plan: Plan, view: ClusterView, feasible: Mask, before: SoftState | None) -> SoftState:
    """The counts as they are now; ``before`` are those of the same class at an earlier attempt."""
    if before is None or before.plan is not plan or not _refresh(before, view):
        before = SoftState(plan, _parts(plan, view), len(feasible))
    state, sizes = before, before.sizes
    sizes.follow(feasible, view.cluster.counts.topology)
    # With required labels all maps leave out the same rows.
    left_out = sizes.outside(0) if plan.soft_keys else 0
    state.ignored = state.parts[0].domains.where[: len(feasible)] < 0 if left_out else None
    state.complete = not any(
        sizes.outside(i) or part.domains.adopts for i, part in enumerate(state.parts)
    )
    for i, part in enumerate(state.parts):
        if part.constraint.key == HOSTNAME:
            size = sizes.feasible - left_out
        else:
            size = sizes.domains(i)
            # Without required labels the nodes that lack this one are a domain too.
            if not plan.soft_keys and sizes.outside(i):
                size += 1
        part.weight = math.log(size + 2)
    return state


def _refresh(state: SoftState, view: ClusterView) -> bool:
    counts = view.cluster.counts
    fresh = True
    for part in state.parts:
        if part.view is not None:
            fresh &= counts.refresh(part.view)
        fresh &= part.tally.live and counts.follow(part.domains)
    return fresh


def _parts(plan: Plan, view: ClusterView) -> list[SoftCounts]:
    counts = view.cluster.counts
    parts = []
    blank = not plan.soft_keys
    for constraint in plan.soft:
        tally = counts.tally(constraint.counted, staying=True)
        domains = counts.domains(constraint.key, plan.soft_keys, blank=blank)
        counted = None
        if constraint.key != HOSTNAME:
            admission = plan.admission(constraint, view)
            admitted = domains
            if admission is not None:
                admitted = counts.domains(constraint.key, plan.soft_keys, admission, blank=blank)
            counted = counts.view(tally, admitted)
        parts.append(SoftCounts(constraint, tally, domains, counted))
    return parts


def score(state: SoftState, nodes: Nodes) -> Scores | int:
    """Raw scores: the lower the better."""
    parts = state.parts
    if state.complete and all(part.empty for part in parts):
        return sum(part.constraint.max_skew - 1 for part in parts)
    tables = [_by_domain(part, part.view) for part in parts if part.view is not None]
    look_up: Callable[[Sequence[Table], Nodes], Scores] = _rounded_table
    if len(parts) > 1 or not tables:
        look_up = partial(_summed, state)
    stamp = (state.complete, *[part.weight for part in parts])
    others = state.changed_rows(nodes) if nodes.full else None
    return state.raw.paint(nodes, tables, look_up, stamp, others)


def _rounded_table(tables: Sequence[Table], nodes: Nodes) -> Scores:
    # One constraint by domain: rounding a value per domain is rounding one per row.
    ((key, amounts),) = tables
    return _rounded(amounts).take(nodes.label(key))


def _summed(state: SoftState, tables: Sequence[Table], nodes: Nodes) -> Scores:
    """The constraints' amounts, added in their order: the last bit of the sum may depend on it."""
    by_domain = iter(tables)
    total: NDArray[np.float64] | None = None
    for part in state.parts:
        column = nodes.label(part.constraint.key)
        if part.view is not None:
            amounts = next(by_domain)[1].take(column)
        else:
            amounts = _by_row(part, nodes)
            if not state.complete:
                amounts[column < 0] = 0
        total = amounts if total is None else np.add(total, amounts, out=total)
    assert total is not None
    return _rounded(total)


def _by_domain(part: SoftCounts, view: DomainCounts) -> Table:
    amounts: NDArray[np.float64] = np.multiply(view.counts, part.weight, dtype=np.float64)
    amounts += part.constraint.max_skew - 1
    amounts[-1] = 0  # what a row without the label finds
    return part.constraint.key, amounts


def _by_row(part: SoftCounts, nodes: Nodes) -> NDArray[np.float64]:
    amounts: NDArray[np.float64] = (
        nodes.take(nodes.cluster.counts.per_row(part.tally)) * part.weight
    )
    amounts += part.constraint.max_skew - 1
    return amounts


def _rounded(amounts: NDArray[np.float64]) -> Scores:
    """To the nearest whole number, a half up: as Go rounds what is not negative."""
    whole = np.floor(amounts)
    whole += amounts - whole >= 0.5
    return whole.astype(np.int64)


def normalize(state: SoftState, raw: Scores, feasible: Mask) -> Scores:
    """100 for the fewest pods, and proportionally less for more; 0 for nodes that lack a label."""
    ignored = state.ignored
    scored = feasible if ignored is None else feasible & ~ignored
    among = raw if scored.all() else raw[scored]
    high = int(among.max()) if len(among) else 0
    if high == 0:
        scaled = np.full(len(raw), MAX_SCORE, np.int64)
    else:
        scaled = raw * -MAX_SCORE
        scaled += MAX_SCORE * (high + int(among.min()))
        scaled //= high
    if ignored is not None:
        scaled[ignored] = 0
    return scaled
