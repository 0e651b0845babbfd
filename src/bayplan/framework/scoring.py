"""Normalisation: raw scores to 0..100, as Kubernetes' own plugins do it.

Called by plugins from their ``normalize``; pure functions over the vector of raw scores and the mask of feasible nodes.
Rows that are not feasible take no part in the maximum and may hold anything afterwards.
"""

from __future__ import annotations

import numpy as np

from bayplan.framework.plugin import MAX_SCORE
from bayplan.framework.status import Mask, Scores


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
    if not len(raw):
        return 0
    best = raw.argmax()
    # Mostly the best of all nodes is feasible, and that is four times faster to find.
    top = raw[best] if feasible[best] else np.multiply(raw, feasible).max()
    return max(int(top), 0)


def _hundredths(raw: Scores, top: int) -> Scores:
    """``100 * raw / top`` as Go divides."""
    product = raw * MAX_SCORE
    scaled = product // top
    if product.min() < 0:
        # Go cuts towards zero where NumPy rounds down.
        scaled += (product < 0) & (scaled * top != product)
    return scaled
