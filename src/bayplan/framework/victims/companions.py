"""Whom a victim takes along: a gang that loses more members than it can spare cannot go on, so the rest of it goes too.

Read by preemption plugins when they choose among the nodes that were tried: one where no gang breaks goes before all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.tables import Tables


def companions_of(victims: Sequence[PodInfo], cluster: Tables) -> list[PodInfo]:
    """The placed members of gangs that would be left below their minimum, without the victims themselves."""
    gangs, pods = cluster.gangs, cluster.pods
    evicted = Counter(group for pod in victims if (group := pod.group) is not None)
    chosen = {pod.key for pod in victims}
    found = []
    for group, count in evicted.items():
        spare = gangs.spare(group)
        if spare is None or count <= spare:
            continue
        for key in sorted(gangs.standing(group).placed - chosen):
            row = pods.row_of[key]
            found.append(pods.info(row, cluster.nodes.names[int(pods.node_row.data[row])]))
    return found
