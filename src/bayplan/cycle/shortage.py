"""What a gang is short of, in one sentence that says which members, which resource, and how much.

``gang train-7: 8 of 10 members fit; worker-3 and worker-9 lack nvidia.com/gpu (needs 4, largest free 2 on gpu-04)``

Read by ``cycle.gang`` while the members that fit are still assumed: what is free is what they leave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.cycle.outcome import Failed, Outcome, Unplaced
from bayplan.model import quantity
from bayplan.model.amounts import quantity_text

if TYPE_CHECKING:
    from bayplan.cluster.cluster import Cluster
    from bayplan.cluster.gangs import Standing
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cycle.gang_trial import Held, Member
    from bayplan.model.pod_group import Group

_INSUFFICIENT: Final = "Insufficient "
_TOO_MANY_PODS: Final = "Too many pods"
#: Members named in full; the others are counted.
_NAMED: Final = 4


def too_few(group: Group, standing: Standing) -> str:
    """There are not pods enough to begin with."""
    text = f"gang {group.key.name}: {standing.present} of {group.min_member} members exist"
    if standing.gated:
        verb = "is" if len(standing.gated) == 1 else "are"
        text += f", and {len(standing.gated)} {verb} held back by scheduling gates"
    return text


def what_is_short(
    group: Group,
    cluster: Cluster,
    held: Sequence[Held],
    missed: Sequence[tuple[Member, Outcome]],
    where: str = "",
) -> str:
    """Why too few fit."""
    standing = cluster.gangs.standing(group.key)
    fit = len(standing.placed) + standing.finished
    total = fit + len(missed)
    text = f"gang {group.key.name}: {fit} of {total} members fit"
    if where:
        text += f" in {where}"
    if total != group.min_member:
        text += f" and {group.min_member} are needed"
    by_phrase: dict[str, list[str]] = {}
    worded: dict[tuple[int, int], str] = {}
    for member, outcome in missed:
        phrase = _phrase(member.pod, outcome, cluster, worded)
        by_phrase.setdefault(phrase, []).append(member.pod.name)
    for phrase, names in by_phrase.items():
        one = len(names) == 1
        verb = phrase.replace("lack ", "lacks ", 1) if one and phrase[:5] == "lack " else phrase
        text += f"; {_listed(names)}{'' if phrase[:5] == 'lack ' else ':'} {verb}"
    return text


def _phrase(
    pod: PodInfo, outcome: Outcome, cluster: Cluster, worded: dict[tuple[int, int], str]
) -> str:
    """What stands in one member's way; alike members that failed at the same moment share it."""
    if isinstance(outcome, Failed):
        return str(outcome.error)
    assert isinstance(outcome, Unplaced)
    decision = outcome.decision
    if decision.overrides:
        return _lack(pod, outcome, cluster) or outcome.message
    moment = (id(decision.evaluation), decision.position)
    found = worded.get(moment)
    if found is None:
        found = worded[moment] = _lack(pod, outcome, cluster) or outcome.message
    return found


def _lack(pod: PodInfo, outcome: Unplaced, cluster: Cluster) -> str:
    """The resource that is short on most nodes, and the most that is left of it on any of those; empty if none is."""
    if outcome.decision.chosen >= 0:
        return ""  # a plugin objected to the node that was chosen
    rows_of: dict[str, list[int]] = {}
    counts: Counter[str] = Counter()
    for rejected, rows in outcome.decision.picture().first_rejections():
        for reason in rejected.reasons:
            resource = reason.removeprefix(_INSUFFICIENT)
            if resource == reason and reason != _TOO_MANY_PODS:
                continue
            name = "pods" if reason == _TOO_MANY_PODS else resource
            rows_of.setdefault(name, []).extend(rows.tolist())
            counts[name] += len(rows)
    if not counts:
        return ""
    most = max(counts.values())
    # What nodes offer least often is what people buy: a GPU goes before the memory that is short beside it.
    resource = max(
        (name for name, count in counts.items() if count == most),
        key=lambda name: ("/" in name, name),
    )
    free = _free(cluster, resource)[rows_of[resource]]
    best = int(free.argmax())
    node = cluster.nodes.names[rows_of[resource][best]]
    needs = 1 if resource == "pods" else pod.requests.get(resource, 0)
    left = max(int(free[best]), 0)
    return (
        f"lack {resource} (needs {quantity_text(resource, needs)}, "
        f"largest free {quantity_text(resource, left)} on {node})"
    )


def _free(cluster: Cluster, resource: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    nodes = cluster.nodes
    if resource == "pods":
        return nodes.max_pods.data.astype(np.int64) - nodes.pod_count.data
    number = nodes.resource_id(resource)
    return nodes.allocatable[number].data - nodes.requested[number].data


def _listed(names: Sequence[str]) -> str:
    if len(names) > _NAMED + 1:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def lacking_resources(group: Group, cluster: Cluster) -> str:
    """Whether the whole cluster has not what the group says it needs at least: a quick look before the members'."""
    if not group.min_resources:
        return ""
    nodes = cluster.nodes
    usable = nodes.alive.data[: nodes.rows.used] & ~nodes.unschedulable.data[: nodes.rows.used]
    standing = cluster.gangs.standing(group.key)
    for resource, wanted in sorted(group.min_resources.items()):
        needed = quantity.milli_value(wanted) if resource == "cpu" else quantity.value(wanted)
        free = np.maximum(_free(cluster, resource)[: nodes.rows.used][usable], 0)
        # In floating point: the sum of a thousand saturated amounts must not wrap.
        total = float(free.sum(dtype=np.float64)) + _taken_by(standing, resource, cluster)
        if total < needed:
            return (
                f"gang {group.key.name}: needs {quantity_text(resource, needed)} of {resource} "
                f"altogether, {quantity_text(resource, int(total))} are free in the cluster"
            )
    return ""


def _taken_by(standing: Standing, resource: str, cluster: Cluster) -> int:
    """What its members have already."""
    pods = cluster.pods
    taken = 0
    for key in standing.placed:
        shape = pods.shapes[pods.row_of[key]]
        if shape is not None:
            taken += 1 if resource == "pods" else shape.requests.get(resource, 0)
    return taken
