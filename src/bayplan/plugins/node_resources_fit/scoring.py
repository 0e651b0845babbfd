"""How NodeResourcesFit ranks nodes: by what is left, by what is used, or by a shape of one's own.

A resource's part is a whole percentage, rounded down, and the node's score the weighted mean of the parts. Where columns
hold amounts too large for exact division in floats, those nodes are computed with Python's integers instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.nodes import CPU, MEMORY
from bayplan.framework.plugin import MAX_SCORE
from bayplan.model.requests import is_counted, is_scalar
from bayplan.plugins.node_resources_fit.args import LEAST_ALLOCATED, ScoringStrategy, ShapePoint

if TYPE_CHECKING:
    from bayplan.cluster.nodes import NodeTable
    from bayplan.cluster.view import Nodes
    from bayplan.framework.status import Scores

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]

#: Up to so many nodes, plain integers are faster than columns.
FEW: Final = 8
#: Below this, ``100 * x / y`` rounded down is the same in floats as in integers.
_EXACT: Final = (1 << 53) // MAX_SCORE
#: Shape scores go from 0 to 10.
_SHAPE_SCALE: Final = 10


class Ranked(NamedTuple):
    """A resource that nodes are ranked by, for one pod."""

    number: int
    amount: int
    weight: int


class Scorer:
    """A scoring strategy, ready to use."""

    def __init__(self, strategy: ScoringStrategy) -> None:
        self.resources = tuple((r.name, r.weight) for r in strategy.resources or ())
        self._least = strategy.type == LEAST_ALLOCATED
        ratio = strategy.requested_to_capacity_ratio
        #: By percentage used; None for the strategies without a shape.
        self._shape = shape_table(ratio.shape) if ratio is not None and ratio.shape else None
        self._shape_column = None if self._shape is None else np.array(self._shape, np.float64)

    def plan(self, requests: Mapping[str, int], nodes: NodeTable) -> tuple[Ranked, ...]:
        """What of the strategy's resources matters to a pod: of a vendor's, those it asks for."""
        return tuple(
            Ranked(nodes.resource_id(name), requests.get(name, 0), weight)
            for name, weight in self.resources
            if is_counted(name) and (requests.get(name, 0) or not is_scalar(name))
        )

    def score(self, nodes: Nodes, plan: Sequence[Ranked]) -> Scores | int:
        """One score per node."""
        if not plan:
            return 0
        columns = [(nodes.allocatable(r.number), _used(nodes, r.number)) for r in plan]
        if len(nodes) <= FEW:
            return np.array(self._each(columns, plan), np.int64)
        return self._columns(columns, plan)

    # --- in columns

    def _columns(self, columns: list[tuple[_Ints, _Ints]], plan: Sequence[Ranked]) -> Scores:
        total = weights = None
        huge = None
        for (offered, used), (_, amount, weight) in zip(columns, plan, strict=True):
            if np.maximum.reduce(offered) >= _EXACT:
                rows = offered >= _EXACT
                huge = rows if huge is None else huge | rows
            counts: _Floats | int = weight
            if np.minimum.reduce(offered) <= 0:
                counts = (offered > 0) * float(weight)
                offered = np.maximum(offered, 1)
            part = self._part(offered, used, amount)
            if self._shape is not None:
                counts = (part > 0) * counts
            if weight != 1 or isinstance(counts, np.ndarray):
                part *= counts
            total = part if total is None else np.add(total, part, out=total)
            weights = counts if weights is None else weights + counts
        scores = self._mean(total, weights)
        if huge is not None:
            rows = np.flatnonzero(huge)
            scores[rows] = self._each([(o[rows], u[rows]) for o, u in columns], plan)
        return scores

    def _part(self, offered: _Ints, used: _Ints, amount: int) -> _Floats:
        """The resource's part, a whole number from 0 to 100; ``offered`` is positive."""
        whole = offered.astype(np.float64)
        if self._least:
            part = (offered - used).astype(np.float64)
            part -= amount
            np.maximum(part, np.zeros(len(part)), out=part)
        else:
            part = used.astype(np.float64)
            part += amount
            np.minimum(part, whole, out=part)
        part *= MAX_SCORE
        part /= whole
        np.trunc(part, out=part)
        if self._shape_column is None:
            return part
        return self._shape_column.take(part.astype(np.intp))

    def _mean(self, total: _Floats, weights: _Floats | int) -> Scores:
        if isinstance(weights, np.ndarray):
            np.maximum(weights, 1, out=weights)
        total /= weights
        if self._shape is not None:
            total += 0.5
        return total.astype(np.int64)

    # --- node by node

    def _each(self, columns: Iterable[tuple[_Ints, _Ints]], plan: Sequence[Ranked]) -> list[int]:
        lists = [
            (offered.tolist(), used.tolist(), amount, weight)
            for (offered, used), (_, amount, weight) in zip(columns, plan, strict=True)
        ]
        return [
            self._one([(o[i], u[i], amount, weight) for o, u, amount, weight in lists])
            for i in range(len(lists[0][0]))
        ]

    def _one(self, resources: Iterable[tuple[int, int, int, int]]) -> int:
        total = weights = 0
        for offered, used, amount, weight in resources:
            if not offered:
                continue
            used = min(used + amount, offered)
            part = ((offered - used if self._least else used) * MAX_SCORE) // offered
            if self._shape is not None:
                part = self._shape[part]
                if not part:
                    continue
            total += part * weight
            weights += weight
        if not weights:
            return 0
        if self._shape is None:
            return total // weights
        return (2 * total + weights) // (2 * weights)


def _used(nodes: Nodes, number: int) -> _Ints:
    """What is used up, with the defaults for containers that request no CPU or memory."""
    if number == CPU:
        return nodes.nonzero_cpu
    if number == MEMORY:
        return nodes.nonzero_memory
    return nodes.requested(number)


def shape_table(shape: Sequence[ShapePoint]) -> tuple[int, ...]:
    """The shape's score, from 0 to 100, for each percentage from 0 to 100."""
    return tuple(_shape_score(shape, percent) for percent in range(MAX_SCORE + 1))


def _shape_score(shape: Sequence[ShapePoint], percent: int) -> int:
    before = shape[0]
    for point in shape:
        if percent <= point.utilization:
            if point is before:
                break
            rise = (point.score - before.score) * _SHAPE_SCALE
            steps = rise * (percent - before.utilization)
            run = point.utilization - before.utilization
            # Go cuts fractions off towards zero, also on the way down.
            return before.score * _SHAPE_SCALE + (steps // run if steps >= 0 else -(-steps // run))
        before = point
    return before.score * _SHAPE_SCALE
