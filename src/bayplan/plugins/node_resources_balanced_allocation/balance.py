"""How evenly a node's resources are used, and what a pod does to that.

A node's balance is ``100 * (1 - std)``, rounded down, where std is the standard deviation of the used fractions of its
resources. The score is 75 where the pod leaves the balance as it is, towards 100 where it improves it, towards 50 where
it makes it worse. Every floating-point operation stands in upstream's order: another order gives other scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayplan.framework.plugin import MAX_SCORE

if TYPE_CHECKING:
    from bayplan.cluster.view import Nodes
    from bayplan.framework.status import Scores

Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]
#: Of each resource, what the nodes offer and what is used.
Columns = Sequence[tuple[_Ints, _Ints]]

_HALF: Final = MAX_SCORE // 2
#: Of a node whose balance stays as it is.
UNCHANGED: Final = _HALF + _HALF // 2


class Weighed(NamedTuple):
    """A resource that is balanced: its id, and what the pod asks for."""

    number: int
    amount: int


def columns_of(nodes: Nodes, plan: Sequence[Weighed]) -> Columns:
    """What the nodes offer and what is used, as integers."""
    return [(nodes.allocatable(w.number), nodes.requested(w.number)) for w in plan]


def score_each(columns: Columns, amounts: Sequence[int]) -> list[int]:
    """Scores, node by node: for few nodes, and for amounts that are too much for columns."""
    scores = []
    for i in range(len(columns[0][0])):
        before, after = [], []
        for (offers, uses), amount in zip(columns, amounts, strict=True):
            offered = offers.item(i)
            if offered > 0:
                whole, used = float(offered), uses.item(i)
                before.append(min(float(used) / whole, 1.0))
                after.append(min(float(used + amount) / whole, 1.0))
        scores.append(_HALF + (_HALF + _balance_of(after) - _balance_of(before)) // 2)
    return scores


def _balance_of(fractions: Sequence[float]) -> int:
    n = len(fractions)
    std = 0.0
    if n == 2:
        std = abs((fractions[0] - fractions[1]) / 2)
    elif n > 2:
        # Not sum(): from Python 3.12 on it makes up for the rounding that upstream's loop does.
        total = squares = 0.0
        for fraction in fractions:
            total += fraction
        mean = total / n
        for fraction in fractions:
            squares += (fraction - mean) * (fraction - mean)
        std = math.sqrt(squares / n)
    return int((1 - std) * MAX_SCORE)


def score_columns(
    nodes: Nodes,
    plan: Sequence[Weighed],
    balance_before: Callable[[Nodes, tuple[int, ...]], Floats],
) -> Scores | int:
    """Scores of many nodes; ``balance_before`` knows how they are balanced without the pod."""
    if len(plan) < 2:
        return UNCHANGED
    offers = [nodes.offer(w.number) for w in plan]
    after = []
    ones = np.ones(len(nodes))
    for (whole, _, _), (number, amount) in zip(offers, plan, strict=True):
        part = nodes.requested(number).astype(np.float64)
        part += amount
        part /= whole
        after.append(np.minimum(part, ones, out=part))
    score = balance(after)
    score -= balance_before(nodes, tuple(w.number for w in plan))
    # 50 + (50 + after - before) / 2; nothing here is negative, so cutting off rounds down.
    score += 3 * _HALF
    score *= 0.5
    scores = score.astype(np.int64)
    absent = _union([offer.absent for offer in offers])
    huge = _union([offer.huge for offer in offers])
    if absent is not None and len(plan) > 2:
        _score_by_offer(scores, absent, columns_of(nodes, plan), [w.amount for w in plan])
    elif absent is not None:
        scores[absent] = UNCHANGED  # a single resource is always in balance
    if huge is not None:
        rows = np.flatnonzero(huge)
        few = [(offered[rows], used[rows]) for offered, used in columns_of(nodes, plan)]
        scores[rows] = score_each(few, [w.amount for w in plan])
    return scores


def fractions_of(nodes: Nodes, numbers: Sequence[int]) -> list[Floats]:
    """Which parts of the resources are used, at most 1; anything where a node offers none."""
    ones = np.ones(len(nodes))
    fractions = []
    for number in numbers:
        part = nodes.requested(number).astype(np.float64)
        part /= nodes.offer(number).whole
        fractions.append(np.minimum(part, ones, out=part))
    return fractions


def balance_at(nodes: Nodes, numbers: Sequence[int], i: int) -> int:
    """The balance of one node as it stands; anything where it offers less than all of the resources."""
    fractions = []
    for number in numbers:
        whole = float(max(nodes.allocatable(number).item(i), 1))
        fractions.append(min(float(nodes.requested(number).item(i)) / whole, 1.0))
    return _balance_of(fractions)


def balance(fractions: Sequence[Floats]) -> Floats:
    """From 50 to 100, of nodes that offer two resources or more; overwrites the fractions."""
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


def _score_by_offer(
    scores: Scores, some: NDArray[np.bool_], columns: Columns, amounts: Sequence[int]
) -> None:
    """Score nodes that offer only some of the resources: those that offer the same ones together."""
    rows = np.flatnonzero(some)
    if len(columns) > _MOST_RESOURCES:
        scores[rows] = score_each([(o[rows], u[rows]) for o, u in columns], amounts)
        return
    pattern = np.zeros(len(rows), np.int64)
    for k, (offered, _) in enumerate(columns):
        pattern |= (offered[rows] > 0).astype(np.int64) << k
    for bits in np.unique(pattern).tolist():
        alike = rows[pattern == bits]
        there = [k for k in range(len(columns)) if bits >> k & 1]
        if len(there) < 2:
            scores[alike] = UNCHANGED
            continue
        before, after = [], []
        for k in there:
            offered, used = columns[k]
            whole, part = offered[alike].astype(np.float64), used[alike].astype(np.float64)
            before.append(np.minimum(part / whole, 1.0))
            after.append(np.minimum((part + amounts[k]) / whole, 1.0))
        change = balance(after) - balance(before)
        scores[alike] = ((3 * _HALF + change) * 0.5).astype(np.int64)


#: For more resources, a bit for each does not fit into a number.
_MOST_RESOURCES: Final = 62


def _union(masks: Sequence[NDArray[np.bool_] | None]) -> NDArray[np.bool_] | None:
    found = [mask for mask in masks if mask is not None]
    return np.logical_or.reduce(found) if found else None
