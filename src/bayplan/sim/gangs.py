"""A pod whose group decides about it, in a dump or a case: what the whole gang comes to.

Decided by the same function as in a running scheduler, over the pending pods that are in the file; nothing is left assumed.
Read by ``explanation`` and ``cases``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayplan.cycle.gang import GangPlaced, attempt_gang
from bayplan.cycle.gang_trial import Member
from bayplan.cycle.reserve import unreserve

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cycle.desk import Desk


@dataclass(frozen=True, slots=True)
class GangVerdict:
    """What the gang of a pod comes to."""

    #: Whether enough members fit.
    fits: bool
    message: str
    #: Where members would go, by ``namespace/name``.
    nodes: dict[str, str]
    #: Who would be evicted.
    victims: tuple[str, ...] = ()


def gang_of(pod: PodInfo, pending: Iterable[PodInfo], desk: Desk) -> GangVerdict | None:
    """What the pod's gang comes to; None where the pod is decided alone.

    Args:
        pod: without a node.
        pending: the other pods without a node, of all groups or of none.
        desk: who decides, about the siblings too.
    """
    cluster = desk.cluster
    key = cluster.gangs.of(pod)
    if key is None:
        return None
    siblings = {other.key: other for other in pending if other.group == key}
    siblings[pod.key] = pod
    for each in siblings.values():
        cluster.gangs.waits(each)
    group = cluster.gangs.group(key)
    if group is None:
        return GangVerdict(fits=False, message=f'pod group "{key.name}" not found', nodes={})
    need = cluster.gangs.lacking(key)
    if not need and group.topology is None:
        return None
    # As the queue has them: the most important first, then the oldest.
    order = sorted(siblings.values(), key=lambda each: (-each.priority, each.created, each.key))
    members = [
        Member(each, desk)
        for each in order
        if not each.spec.scheduling_gates and not each.terminating
    ]
    outcome = attempt_gang(group, members, cluster)
    if not isinstance(outcome, GangPlaced):
        victims = [each for found in outcome.nominated.values() for each in found.victims]
        return GangVerdict(
            fits=False,
            message=outcome.message,
            nodes={},
            victims=tuple(each.key for each in victims),
        )
    nodes = {held.member.pod.key: held.outcome.node for held in outcome.held}
    for held in reversed(outcome.held):
        list(unreserve(held.placement))
        cluster.forget(held.member.pod)
    placed = len(cluster.gangs.standing(key).placed)
    total = placed + len(members)
    message = f"gang {key.name}: {placed + len(nodes)} of {total} members fit, and {group.min_member} are needed"
    return GangVerdict(fits=True, message=message, nodes=nodes)
