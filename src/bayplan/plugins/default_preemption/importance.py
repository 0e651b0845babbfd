"""In which order the pods of a node are let stay: the important ones first, those that a budget protects before all.

Read by ``search``. Everything is done for the pods of many nodes at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bayplan.cluster.budgets import Budget
    from bayplan.cluster.cluster import Cluster
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
    arrival = np.arange(len(lower.pods))
    arrival[np.isinf(started)] *= -1
    importance = -table.priority.data[lower.pods].astype(np.int64)
    return np.lexsort((arrival, started, importance, lower.owner))


def protected(cluster: Cluster, lower: LowerPods, order: Positions) -> Mask:
    """Whose eviction would violate a disruption budget, if all pods before them in ``order`` were evicted too.

    By position. A budget counts every pod that it covers, whether or not another budget protects the pod already.
    """
    violating = np.zeros(len(lower.pods), np.bool_)
    for budget, covered in _covered(cluster, lower).items():
        in_order = covered[order]
        seen = np.cumsum(in_order)
        # What the pods of earlier nodes have added does not count.
        before_node = np.concatenate(([0], seen))[lower.starts]
        rank: Positions = seen - before_node[lower.owner[order]]
        violating[order] |= in_order & (rank > budget.allowed)
    return violating


def _covered(cluster: Cluster, lower: LowerPods) -> dict[Budget, Mask]:
    """Each budget that covers any of the pods, and which of them it counts."""
    budgets, table = cluster.budgets, cluster.pods
    covered: dict[Budget, Mask] = {}
    if not len(budgets):
        return covered
    _, first, kind = np.unique(
        table.kin_id.data[lower.pods], return_index=True, return_inverse=True
    )
    of_kind: dict[Budget, Mask] = {}
    for number, pod in enumerate(lower.pods[first].tolist()):
        kin = table.kins[pod]
        assert kin is not None
        for budget in budgets.covering(kin.namespace, kin.labels):
            of_kind.setdefault(budget, np.zeros(len(first), np.bool_))[number] = True
    for budget, kinds in of_kind.items():
        counted = covered[budget] = kinds[kind]
        if budget.disrupted:
            for position in np.flatnonzero(counted).tolist():
                # Its eviction has been granted before and is subtracted from the budget already.
                if table.names[int(lower.pods[position])] in budget.disrupted:
                    counted[position] = False
    return covered
