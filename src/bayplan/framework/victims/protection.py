"""Which pods a disruption budget protects: they are let stay before all others.

Read by ``search``. Everything is done for the pods of many nodes at once; a budget is asked once per kin, not per pod.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from bayplan.cluster.budgets import Budget
    from bayplan.cluster.podinfo import Kin
    from bayplan.cluster.tables import Tables
    from bayplan.cluster.thinned import LowerPods
    from bayplan.framework.victims.importance import Mask, Positions


class Protection:
    """The budgets of a cluster, for the length of one search."""

    def __init__(self, cluster: Tables) -> None:
        self._cluster = cluster
        #: Numbers of the budgets that cover pods of a kin.
        self._covering: dict[Kin, list[int]] = {}
        self._number: dict[Budget, int] = {}

    def protected(self, lower: LowerPods, order: Positions) -> Mask:
        """Whose eviction would violate a budget, if all pods before them in ``order`` were evicted too.

        By position. A budget counts every pod that it covers, whether or not another budget protects the pod already.
        """
        violating = np.zeros(len(lower.pods), np.bool_)
        if not len(self._cluster.budgets) or not len(order):
            return violating
        turn, number = self._counted(lower.pods[order])
        # Budget by budget; node by node within each, since ``order`` goes by node.
        together = np.argsort(_narrow(number, len(self._number)), kind="stable")
        turn, number = turn[together], number[together]
        group = number * len(lower.rows) + lower.owner[order[turn]]
        first = np.flatnonzero(np.diff(group, prepend=-1))
        # How many pods of the node the budget has counted before.
        before = np.arange(len(group)) - np.repeat(first, np.diff(first, append=len(group)))
        allowed = np.array([budget.allowed for budget in self._number], np.int64)
        violating[order[turn[before >= allowed[number]]]] = True
        return violating

    def _counted(self, pods: Positions) -> tuple[Positions, Positions]:
        """As two columns which pod (by position in ``pods``) is counted by which budget."""
        kind, samples = self._kinds(pods)
        covering = [self._budgets_of(pod) for pod in samples.tolist()]
        sizes = np.fromiter(map(len, covering), np.intp, len(covering))
        starts = np.cumsum(sizes) - sizes
        flat = np.fromiter(chain.from_iterable(covering), np.intp, int(sizes.sum()))
        # Each pod once for every budget that counts pods of its kin.
        often = sizes[kind]
        turn = np.repeat(np.arange(len(pods)), often)
        nth = np.arange(len(turn)) - np.repeat(np.cumsum(often) - often, often)
        number = flat[starts[kind[turn]] + nth]
        if any(budget.disrupted for budget in self._number):
            kept = self._not_granted(pods[turn], number)
            turn, number = turn[kept], number[kept]
        return turn, number

    def _kinds(self, pods: Positions) -> tuple[Positions, Positions]:
        """The pods' kins, numbered from 0, and one pod of each. Without sorting: kin ids are dense."""
        ids = self._cluster.pods.kin_id.data[pods]
        position = np.arange(len(pods))
        sample = np.empty(int(ids.max()) + 1, np.intp)
        sample[ids] = position
        sample = sample[ids]
        samples = np.flatnonzero(sample == position)
        kind = np.empty(len(pods), np.intp)
        kind[samples] = np.arange(len(samples))
        return kind[sample], pods[samples]

    def _budgets_of(self, pod: int) -> list[int]:
        """Numbers of the budgets that cover a placed pod."""
        kin = self._cluster.pods.kins[pod]
        assert kin is not None
        covering = self._covering.get(kin)
        if covering is None:
            numbers = self._number
            covering = self._covering[kin] = [
                numbers.setdefault(budget, len(numbers))
                for budget in self._cluster.budgets.covering(kin.namespace, kin.labels)
            ]
        return covering

    def _not_granted(self, pods: Positions, number: Positions) -> Mask:
        """False where the eviction was granted before: the budget's status has it subtracted already."""
        names, budgets = self._cluster.pods.names, list(self._number)
        return np.array(
            [
                names[pod] not in budgets[budget].disrupted
                for pod, budget in zip(pods.tolist(), number.tolist(), strict=True)
            ],
            np.bool_,
        )


def _narrow(number: Positions, count: int) -> Positions:
    """Small numbers in few bits, where a stable sort takes a fraction of the time."""
    return number.astype(np.int16) if count < 1 << 15 else number
