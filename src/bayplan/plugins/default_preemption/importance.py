"""In which order the pods of a node are let stay: the important ones first, those that a budget protects before all.

Read by ``search``. Everything is done for the pods of many nodes at once.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bayplan.cluster.budgets import Budget
    from bayplan.cluster.cluster import Cluster
    from bayplan.cluster.podinfo import Kin
    from bayplan.cluster.pods import PodTable
    from bayplan.cluster.thinned import LowerPods

Mask = NDArray[np.bool_]
Positions = NDArray[np.intp]
#: Memo of one search: the budgets that cover pods of a kin.
Guards: TypeAlias = "dict[Kin, list[Budget]]"


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


def protected(cluster: Cluster, lower: LowerPods, order: Positions, guards: Guards) -> Mask:
    """Whose eviction would violate a disruption budget, if all pods before them in ``order`` were evicted too.

    By position. A budget counts every pod that it covers, whether or not another budget protects the pod already.
    """
    violating = np.zeros(len(lower.pods), np.bool_)
    if not len(cluster.budgets) or not len(order):
        return violating
    budgets, turn, number = _covered(cluster, lower.pods[order], guards)
    # How many of the node's pods that the budget counts come before this one.
    group = number * len(lower.rows) + lower.owner[order[turn]]
    together = np.argsort(group, kind="stable")
    group = group[together]
    first = np.flatnonzero(np.diff(group, prepend=-1))
    sizes = np.diff(first, append=len(group))
    before = np.arange(len(group)) - np.repeat(first, sizes)
    allowed = np.fromiter((budget.allowed for budget in budgets), np.int64, len(budgets))
    over = before >= allowed[number[together]]
    violating[order[turn[together[over]]]] = True
    return violating


def _covered(
    cluster: Cluster, pods: Positions, guards: Guards
) -> tuple[list[Budget], Positions, Positions]:
    """The budgets in question, and as two columns which pod (by position in ``pods``) is counted by which of them."""
    table = cluster.pods
    numbers: dict[Budget, int] = {}
    counters: list[list[int]] = []
    _, sample, kind = np.unique(table.kin_id.data[pods], return_index=True, return_inverse=True)
    for pod in pods[sample].tolist():
        kin = table.kins[pod]
        assert kin is not None
        covering = guards.get(kin)
        if covering is None:
            covering = guards[kin] = cluster.budgets.covering(kin.namespace, kin.labels)
        counters.append([numbers.setdefault(budget, len(numbers)) for budget in covering])
    budgets = list(numbers)
    sizes = np.fromiter(map(len, counters), np.intp, len(counters))
    starts = np.cumsum(sizes) - sizes
    flat = np.fromiter(chain.from_iterable(counters), np.intp, int(sizes.sum()))
    # Each pod once for every budget that counts pods of its kin.
    often = sizes[kind]
    turn = np.repeat(np.arange(len(pods)), often)
    nth = np.arange(len(turn)) - np.repeat(np.cumsum(often) - often, often)
    number = flat[starts[kind[turn]] + nth]
    if any(budget.disrupted for budget in budgets):
        # An eviction that was granted before is subtracted from the budget already.
        counted = [
            table.names[pod] not in budgets[budget].disrupted
            for pod, budget in zip(pods[turn].tolist(), number.tolist(), strict=True)
        ]
        turn, number = turn[counted], number[counted]
    return budgets, turn, number
