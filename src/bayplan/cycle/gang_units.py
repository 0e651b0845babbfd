"""Which pods go together when room is made for a gang: one by one, or a whole gang that could not go on without them.

Read by ``cycle.gang_preempt``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bayplan.cluster.budgets import Budget
    from bayplan.cluster.cluster import Cluster
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.model.pod_group import GroupKey

#: Which of some rows of the pod table may be evicted.
MayGo = Callable[[Sequence[int]], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Unit:
    """Pods that leave or stay together, by ``namespace/name``, and their nodes."""

    keys: tuple[str, ...]
    nodes: tuple[str, ...]


def units_on(
    node_row: int, cluster: Cluster, may_go: MayGo, *, breaking_gangs: bool
) -> Iterator[Unit]:
    """Who may leave a node; with others of a gang elsewhere only where ``breaking_gangs``.

    Made one after the other: what a gang can spare depends on who has left before.
    """
    pods = cluster.pods
    rows = list(pods.on_node(node_row))
    if not rows:
        return
    keys = [pods.key(row) for row in rows]
    node = cluster.nodes.names[node_row]
    # The least important first, so that what a gang can spare is that.
    allowed = may_go(rows).tolist()
    order = sorted(range(len(rows)), key=lambda i: int(pods.priority.data[rows[i]]))
    for i in order:
        row = pods.row_of.get(keys[i])
        if row is None or not allowed[i]:
            continue
        kin, shape = pods.kins[row], pods.shapes[row]
        assert kin is not None
        assert shape is not None
        group = pods.info(row, node).group
        if group is None or cluster.gangs.spare(group) != 0:
            yield Unit((keys[i],), (node,))
        elif breaking_gangs and (whole := _whole(group, cluster, may_go)) is not None:
            yield whole


def _whole(group: GroupKey, cluster: Cluster, may_go: MayGo) -> Unit | None:
    """All placed members; None where one of them may not go."""
    pods, nodes = cluster.pods, cluster.nodes
    keys = tuple(sorted(cluster.gangs.standing(group).placed))
    rows = [pods.row_of[key] for key in keys]
    places = [int(pods.node_row.data[row]) for row in rows]
    if not all(nodes.alive.data[place] for place in places) or not may_go(rows).all():
        return None
    return Unit(keys, tuple({nodes.names[place] for place in places}))


def units_to_return(away: Sequence[PodInfo], cluster: Cluster) -> list[Unit]:
    """Who comes back first: whom a budget protects, then the most important, then the oldest.

    A gang that was taken away as a whole returns as a whole.
    """
    together: dict[GroupKey, list[PodInfo]] = {}
    for pod in away:
        group = pod.group
        if group is not None and cluster.gangs.lacking(group):
            together.setdefault(group, []).append(pod)
    units = [[pod] for pod in away if pod.group not in together]
    units += together.values()
    protected = _protected(away, cluster)

    def rank(unit: list[PodInfo]) -> tuple[bool, int, float, str]:
        first = min(unit, key=_importance)
        return (not any(pod.key in protected for pod in unit), *_importance(first))

    return [
        Unit(tuple(pod.key for pod in unit), tuple({pod.node_name for pod in unit}))
        for unit in sorted(units, key=rank)
    ]


def _importance(pod: PodInfo) -> tuple[int, float, str]:
    return (-pod.priority, float("inf") if pod.started is None else pod.started, pod.key)


def _protected(away: Sequence[PodInfo], cluster: Cluster) -> set[str]:
    """Whose eviction violates a budget if the more important ones are evicted too."""
    counts: Counter[Budget] = Counter()
    violating = set()
    for pod in sorted(away, key=_importance):
        for budget in cluster.budgets.covering(pod.namespace, pod.labels):
            if pod.name in budget.disrupted:
                continue
            counts[budget] += 1
            if counts[budget] > budget.allowed:
                violating.add(pod.key)
    return violating
