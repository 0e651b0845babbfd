"""NodeResourcesBalancedAllocation: nodes whose resources the pod brings closer to being evenly used.

A node's balance is ``100 * (1 - std)``, rounded down, where std is the standard deviation of the used fractions of its
resources. The score says what the pod does to it: 75 where the balance stays, towards 100 where it improves, towards
50 where it suffers. Every floating-point operation stands in upstream's order: another order gives other scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.changes import Reads
from bayplan.framework.plugin import MAX_SCORE, PreScorePlugin, ScorePlugin
from bayplan.framework.state import StateKey
from bayplan.framework.status import SKIP, Mask, Scores, Skip
from bayplan.model.label_syntax import quote
from bayplan.model.requests import is_counted, is_scalar

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import Nodes
    from bayplan.framework.state import CycleState

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]

#: Up to so many nodes, plain numbers are faster than columns.
FEW: Final = 8
#: Up to here floats hold every whole number.
_EXACT: Final = 1 << 53
#: For more resources, a bit for each does not fit into a number.
_MOST_RESOURCES: Final = 62


class ResourceSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A resource that is to be balanced; the weight can only be 1."""

    name: str
    weight: int = 1

    def __post_init__(self) -> None:
        if self.weight == 0:
            msgspec.structs.force_setattr(self, "weight", 1)


class NodeResourcesBalancedAllocationArgs(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"
):
    """Which resources are to be balanced."""

    resources: tuple[ResourceSpec, ...] | None = None

    def __post_init__(self) -> None:
        if not self.resources:
            default = (ResourceSpec("cpu"), ResourceSpec("memory"))
            msgspec.structs.force_setattr(self, "resources", default)


class Weighed(NamedTuple):
    """A resource that is balanced, for one pod."""

    number: int
    amount: int


PLAN = StateKey[tuple[Weighed, ...]]("NodeResourcesBalancedAllocation.plan")


class NodeResourcesBalancedAllocation(PreScorePlugin, ScorePlugin):
    """Even use of a node's resources."""

    name: ClassVar[str] = "NodeResourcesBalancedAllocation"
    args_type = NodeResourcesBalancedAllocationArgs
    reads: ClassVar[Reads | None] = Reads.ALLOCATABLE | Reads.USAGE

    resources: tuple[ResourceSpec, ...]

    @classmethod
    def check_args(cls, args: NodeResourcesBalancedAllocationArgs) -> Iterator[tuple[str, str]]:
        """kube-scheduler's complaints."""
        seen: set[str] = set()
        for i, resource in enumerate(args.resources or ()):
            if resource.name in seen:
                yield f"resources[{i}].name", f"Duplicate value: {quote(resource.name)}"
            seen.add(resource.name)
            if resource.weight != 1:
                yield f"resources[{i}].weight", f"Invalid value: {resource.weight}: must be 1"

    def setup(self) -> None:
        """Names that no node is accounted for drop out."""
        self._names = tuple(r.name for r in self.resources if is_counted(r.name))

    def prescore(
        self, pod: PodInfo, nodes: Nodes, feasible: Mask, state: CycleState
    ) -> Skip | None:
        """A pod that asks for none of the resources would pile up on one node: no score for it."""
        plan = self._plan(pod, nodes)
        if not plan:
            return SKIP
        state[PLAN] = plan
        return None

    def _plan(self, pod: PodInfo, nodes: Nodes) -> tuple[Weighed, ...]:
        """The resources to balance, a vendor's only if the pod asks for them; none if it asks for none."""
        # Unlike NodeResourcesFit, upstream counts requests of the pod as a whole and resizes here.
        asked = pod.shape.placed.requests
        if not any(asked.get(name, 0) for name in self._names):
            return ()
        return tuple(
            Weighed(nodes.cluster.nodes.resource_id(name), asked.get(name, 0))
            for name in self._names
            if asked.get(name, 0) or not is_scalar(name)
        )

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores | int:
        """What the pod does to each node's balance."""
        plan = state.get(PLAN)
        if plan is None:  # PreScore is switched off for this plugin
            plan = self._plan(pod, nodes)
            if not plan:
                return 0
        columns = [(nodes.allocatable(w.number), nodes.requested(w.number)) for w in plan]
        amounts = [w.amount for w in plan]
        if len(nodes) <= FEW:
            return np.array(_score_each(columns, amounts), np.int64)
        return _score_columns(columns, amounts)


# --- in columns


def _score_columns(columns: Sequence[tuple[_Ints, _Ints]], amounts: Sequence[int]) -> Scores:
    least = min(int(np.minimum.reduce(offered)) for offered, _ in columns)
    most = max(int(np.maximum.reduce(offered)) for offered, _ in columns)
    if least > 0 and most < _EXACT:
        return _score_alike(columns, amounts)
    if len(columns) > _MOST_RESOURCES:
        return np.array(_score_each(columns, amounts), np.int64)
    return _score_mixed(columns, amounts)


def _score_mixed(columns: Sequence[tuple[_Ints, _Ints]], amounts: Sequence[int]) -> Scores:
    """Nodes that offer different resources: those that offer the same ones together."""
    scores: Scores = np.empty(len(columns[0][0]), np.int64)
    there = np.zeros(len(scores), np.int64)
    huge = np.zeros(len(scores), np.bool_)
    for k, (offered, _) in enumerate(columns):
        there |= (offered > 0).astype(np.int64) << k
        huge |= offered >= _EXACT
    for pattern in np.unique(there).tolist():
        rows = np.flatnonzero((there == pattern) & ~huge)
        found = [k for k in range(len(columns)) if pattern >> k & 1]
        scores[rows] = _score_alike(
            [(columns[k][0][rows], columns[k][1][rows]) for k in found],
            [amounts[k] for k in found],
        )
    rows = np.flatnonzero(huge)
    scores[rows] = _score_each([(o[rows], u[rows]) for o, u in columns], amounts)
    return scores


def _score_alike(columns: Sequence[tuple[_Ints, _Ints]], amounts: Sequence[int]) -> Scores | int:
    """Nodes that offer all of the resources, in amounts that floats hold exactly."""
    if len(columns) < 2:
        return MAX_SCORE * 3 // 4
    ones = np.ones(len(columns[0][0]))
    before, after = [], []
    for (offered, used), amount in zip(columns, amounts, strict=True):
        whole, part = offered.astype(np.float64), used.astype(np.float64)
        fraction = part / whole
        before.append(np.minimum(fraction, ones, out=fraction))
        part += amount
        part /= whole
        after.append(np.minimum(part, ones, out=part))
    score = _balance(after)
    score -= _balance(before)
    # 50 + (50 + after - before) / 2, rounded down; nothing here is negative.
    score += MAX_SCORE * 3 // 2
    score *= 0.5
    return score.astype(np.int64)


def _balance(fractions: Sequence[_Floats]) -> _Floats:
    """From 50 to 100; may overwrite the fractions."""
    if len(fractions) == 2:
        std = np.subtract(fractions[0], fractions[1], out=fractions[0])
        std *= 0.5
        np.abs(std, out=std)
    else:
        mean = fractions[0].copy()
        for fraction in fractions[1:]:
            mean += fraction
        mean /= len(fractions)
        std = np.zeros(len(mean))
        for fraction in fractions:
            fraction -= mean
            fraction *= fraction
            std += fraction
        std /= len(fractions)
        np.sqrt(std, out=std)
    np.subtract(1, std, out=std)
    std *= MAX_SCORE
    return np.trunc(std, out=std)


# --- node by node


def _score_each(columns: Sequence[tuple[_Ints, _Ints]], amounts: Sequence[int]) -> list[int]:
    lists = [
        (offered.tolist(), used.tolist(), amount)
        for (offered, used), amount in zip(columns, amounts, strict=True)
    ]
    scores = []
    for i in range(len(lists[0][0])):
        before, after = [], []
        for offers, uses, amount in lists:
            offered = offers[i]
            if offered > 0:
                used, whole = uses[i], float(offered)
                before.append(min(float(used) / whole, 1.0))
                after.append(min(float(used + amount) / whole, 1.0))
        half = MAX_SCORE // 2
        scores.append(half + (half + _balance_of(after) - _balance_of(before)) // 2)
    return scores


def _balance_of(fractions: Sequence[float]) -> int:
    std = 0.0
    if len(fractions) == 2:
        std = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        # Not sum(): from 3.12 on it makes up for the rounding that Go's loop does.
        total = squares = 0.0
        for fraction in fractions:
            total += fraction
        mean = total / len(fractions)
        for fraction in fractions:
            squares += (fraction - mean) * (fraction - mean)
        std = math.sqrt(squares / len(fractions))
    return int((1 - std) * MAX_SCORE)
