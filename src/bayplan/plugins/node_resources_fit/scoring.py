"""How NodeResourcesFit ranks nodes: by what is left, by what is used, or by a shape of one's own.

A resource's part is a whole percentage, rounded down, and the node's score the weighted mean of the parts. Percentages
are divided in floats, where that gives exactly the same; nodes that offer too much for it, and single nodes, are computed
with Python's integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
_Columns = Sequence[tuple[_Ints, _Ints]]

#: Up to so many nodes, plain integers are faster than columns.
FEW: Final = 8
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
        self._shape_column = None if self._shape is None else np.array(self._shape, np.int32)

    def plan(
        self,
        requests: Mapping[str, int],
        nodes: NodeTable,
        weights: tuple[tuple[str, int], ...] = (),
    ) -> tuple[Ranked, ...]:
        """What of the strategy's resources matters to a pod: of a vendor's, those it asks for.

        ``weights``: resources and weights that a scheduling policy puts in place of the strategy's.
        """
        return tuple(
            Ranked(nodes.resource_id(name), requests.get(name, 0), weight)
            for name, weight in weights or self.resources
            if is_counted(name) and (requests.get(name, 0) or not is_scalar(name))
        )

    def score(self, nodes: Nodes, plan: Sequence[Ranked]) -> Scores | int:
        """One score per node."""
        if not plan:
            return 0
        if len(nodes) > FEW:
            return self._columns(nodes, plan)
        columns = _columns_of(nodes, plan)
        if len(nodes) == 1:
            return self._one(columns, plan, 0)
        return np.array([self._one(columns, plan, i) for i in range(len(nodes))], np.int64)

    # --- in columns

    def _columns(self, nodes: Nodes, plan: Sequence[Ranked]) -> Scores:
        total = np.zeros(len(nodes), np.int32)
        weights: NDArray[np.int32] | int = 0
        for number, amount, weight in plan:
            offer = nodes.offer(number)
            part = self._part(offer.whole, _used(nodes, number), amount)
            counts: NDArray[np.int32] | int = weight
            if offer.absent is not None:
                counts = np.where(offer.absent, np.int32(0), np.int32(weight))
            if self._shape is not None:
                counts = np.where(part > 0, counts, np.int32(0))
            if weight != 1 or isinstance(counts, np.ndarray):
                part *= counts
            total += part
            weights = weights + counts
        scores = self._mean(total, weights)
        self._redo_huge(scores, nodes, plan)
        return scores

    def _part(self, whole: _Floats, used: _Ints, amount: int) -> NDArray[np.int32]:
        """The resource's part, from 0 to 100."""
        part = used.astype(np.float64)
        if self._least:
            np.subtract(whole, part, out=part)
            part -= amount
            np.maximum(part, np.zeros(len(part)), out=part)
        else:
            part += amount
            np.minimum(part, whole, out=part)
        part *= MAX_SCORE
        part /= whole
        percent = part.astype(np.int32)
        return percent if self._shape_column is None else self._shape_column.take(percent)

    def _mean(self, total: NDArray[np.int32], weights: NDArray[np.int32] | int) -> Scores:
        if isinstance(weights, np.ndarray):
            weights = np.maximum(weights, 1)
        if self._shape is not None:  # the one mean that is rounded to the nearest
            total = 2 * total + weights
            weights = 2 * weights
        if isinstance(weights, int) and weights & (weights - 1) == 0:
            return (total >> (weights.bit_length() - 1)).astype(np.int64)
        return (total // weights).astype(np.int64)

    def _redo_huge(self, scores: Scores, nodes: Nodes, plan: Sequence[Ranked]) -> None:
        """Nodes that offer more than floats are exact for."""
        offers = [nodes.offer(resource.number) for resource in plan]
        huge = [offer.huge for offer in offers if offer.huge is not None]
        if huge:
            columns = _columns_of(nodes, plan)
            for i in np.flatnonzero(np.logical_or.reduce(huge)).tolist():
                scores[i] = self._one(columns, plan, i)

    # --- node by node

    def _one(self, columns: _Columns, plan: Sequence[Ranked], i: int) -> int:
        total = weights = 0
        for (offers, uses), (_, amount, weight) in zip(columns, plan, strict=True):
            offered = offers.item(i)
            if offered <= 0:
                continue
            used = min(uses.item(i) + amount, offered)
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


def _columns_of(nodes: Nodes, plan: Sequence[Ranked]) -> _Columns:
    """What the nodes offer of each resource, and what is used of it."""
    return [(nodes.allocatable(r.number), _used(nodes, r.number)) for r in plan]


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
