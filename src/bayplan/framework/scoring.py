"""Normalisation: raw scores to 0..100, as Kubernetes' own plugins do it.

Called by plugins from their ``normalize``; pure functions over the vector of raw scores and the mask of feasible nodes.
Rows that are not feasible take no part in the maximum and may hold anything afterwards.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from bayplan.errors import DataMissing
from bayplan.framework.plugin import MAX_SCORE, Missing
from bayplan.framework.status import Mask, Scores

#: The raw score of a node about which nothing is known; for ``fill_unknown``.
UNKNOWN: Final = -1
#: What such a node gets from a plugin with ``missing: neutral``.
NEUTRAL: Final = 50


def fill_unknown(raw: Scores, feasible: Mask, missing: Missing) -> Scores:
    """Scores from 0 to 100 in which ``UNKNOWN`` is replaced as the plugin's ``missing`` says.

    Raises:
        DataMissing: for ``reject``, where a node is in play of which nothing is known.
    """
    unknown = raw < 0
    if not unknown.any():
        return raw
    if missing == "neutral":
        return np.where(unknown, np.int64(NEUTRAL), raw)
    if not (unknown & feasible).any():
        return raw
    if missing == "skip":
        return np.zeros_like(raw)
    raise DataMissing("no data for nodes in play; enable the plugin's filter too, or set missing")


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
