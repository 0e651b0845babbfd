"""Normalisation: raw scores to 0..100, as Kubernetes' own plugins do it.

Called by plugins from their ``normalize``; pure functions over the vector of raw scores and the mask of feasible nodes.
Rows that are not feasible take no part in the maximum and may hold anything afterwards.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from bayplan.framework.plugin import MAX_SCORE
from bayplan.framework.status import Mask, Scores

#: Below this a product with MAX_SCORE is exact in float64, which divides several times faster than int64.
_EXACT: Final = (1 << 53) // MAX_SCORE


def scale(raw: Scores, feasible: Mask) -> Scores:
    """``100 * score / highest``, cut towards zero; scores stay as they are where the highest is 0."""
    top = _highest(raw, feasible)
    return _hundredths(raw, top) if top else raw


def scale_reversed(raw: Scores, feasible: Mask) -> Scores:
    """``100 - 100 * score / highest``; every node gets 100 where the highest is 0."""
    top = _highest(raw, feasible)
    if top == 0:
        return np.full(len(raw), MAX_SCORE, np.int64)
    scaled = _hundredths(raw, top)
    return np.subtract(MAX_SCORE, scaled, out=scaled)


def _highest(raw: Scores, feasible: Mask) -> int:
    """The highest raw score of a feasible node, at least 0."""
    return int(np.max(raw, where=feasible, initial=0))


def _hundredths(raw: Scores, top: int) -> Scores:
    """``100 * raw / top`` as Go divides: cut towards zero."""
    if top >= _EXACT:
        return np.array([_cut(MAX_SCORE * score, top) for score in raw.tolist()], np.int64)
    scaled = np.multiply(raw, MAX_SCORE, dtype=np.float64)
    scaled /= top
    # A row that is not feasible may be far above the highest, and not fit an integer any more.
    with np.errstate(invalid="ignore"):
        return scaled.astype(np.int64)


def _cut(dividend: int, divisor: int) -> int:
    quotient = abs(dividend) // divisor
    return quotient if dividend >= 0 else -quotient
