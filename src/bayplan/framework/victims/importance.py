"""Which pods of a node are more important than others: they are the first that may stay.

Read by ``search``. Everything is done for the pods of many nodes at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bayplan.cluster.pods import PodTable
    from bayplan.cluster.thinned import LowerPods

Mask = NDArray[np.bool_]
Positions = NDArray[np.intp]


def start_times(table: PodTable, pods: Positions) -> NDArray[np.float64]:
    """When pods started; one that has not counts as starting now, after all others."""
    started = table.started.data[pods]
    started[np.isnan(started)] = np.inf
    return started


def by_importance(table: PodTable, lower: LowerPods) -> Positions:
    """Positions of the pods, node by node, the most important first: by priority, then by age.

    Among equals the order of arrival holds, as with Go's sort of up to twelve. Pods that have not started come in
    reverse order: upstream reads the clock at each comparison, so the one looked at first always seems the older.
    """
    started = start_times(table, lower.pods)
    priority = table.priority.data[lower.pods].astype(np.int64)
    single = _single_key(lower.owner, priority, started)
    if single is not None:
        return np.argsort(single, kind="stable")
    arrival = np.arange(len(lower.pods))
    arrival[np.isinf(started)] *= -1
    return np.lexsort((arrival, started, -priority, lower.owner))


def _single_key(
    owner: Positions, priority: NDArray[np.int64], started: NDArray[np.float64]
) -> NDArray[np.int64] | None:
    """Node, priority and start in one number, where they fit: sorting by it takes a sixth of the time."""
    if not len(owner):
        return priority
    if np.isinf(started).any():
        return None
    since = started - started.min()
    seconds = since.astype(np.int64)
    below = int(priority.max()) - priority
    bits, more_bits = int(seconds.max()).bit_length(), int(below.max()).bit_length()
    if int(owner[-1]).bit_length() + more_bits + bits > 62 or (seconds != since).any():
        return None
    key: NDArray[np.int64] = (owner << more_bits | below) << bits | seconds
    return key
