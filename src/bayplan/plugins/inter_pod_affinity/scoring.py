"""How many preferred terms a node serves: the pod's own, and those that placed pods carry for or against it.

A raw score is the sum over topology keys of what the node's domain is worth. Placed pods' required affinity counts too,
as much as the arguments say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.carriers import Role
from bayplan.cluster.painting import Painting, Table
from bayplan.framework.plugin import MAX_SCORE
from bayplan.framework.state import StateKey
from bayplan.plugins.inter_pod_affinity.plan import by_domain

if TYPE_CHECKING:
    from bayplan.cluster.domains import DomainCounts
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import ClusterView, Nodes
    from bayplan.framework.status import Mask, Scores
    from bayplan.plugins.inter_pod_affinity.plan import Plan

_INT32_MAX: Final = (1 << 31) - 1


class Worth:
    """What being in a domain is worth."""

    __slots__ = ("raw", "tables")

    def __init__(self, tables: list[Table], raw: Painting[np.int64] | None = None) -> None:
        #: By topology key and domain; the last entry, 0, is for nodes without the label.
        self.tables = tables
        #: Raw scores of all nodes.
        self.raw: Painting[np.int64] = Painting() if raw is None else raw


WORTH: Final = StateKey[Worth]("preferred pod affinity")


def count(
    plan: Plan, pod: PodInfo, view: ClusterView, hard_weight: int, before: Worth | None
) -> Worth | None:
    """What domains are worth now; None where no placed pod has anything to do with it.

    ``before`` is what they were worth to the same class at an earlier attempt.
    """
    counts = view.cluster.counts
    found: dict[str, list[tuple[int, DomainCounts]]] = {}
    for wanted in plan.preferred:
        near = by_domain(counts, counts.tally((wanted.term,)), wanted.topology_key)
        if near.total:
            found.setdefault(wanted.topology_key, []).append((wanted.weight, near))
    for carrier in counts.interest(pod.kin).carriers:
        if not carrier.total or carrier.role is Role.ANTI_AFFINITY:
            continue
        weight = hard_weight if carrier.role is Role.AFFINITY else carrier.placed.weight
        if carrier.role is Role.AFFINITY and not hard_weight:
            continue
        key = carrier.placed.topology_key
        carriers = counts.view(carrier, counts.domains(key))
        if carriers.total:
            found.setdefault(key, []).append((weight, carriers))
    if not found:
        return None
    tables = [(key, _sum(parts)) for key, parts in found.items()]
    return Worth(tables, None if before is None else before.raw)


def _sum(parts: list[tuple[int, DomainCounts]]) -> NDArray[np.int32] | NDArray[np.int64]:
    highest = sum(abs(weight) * view.total for weight, view in parts)
    # Half the width is gathered in half the time.
    kind = np.int32 if highest <= _INT32_MAX else np.int64
    weight, view = parts[0]
    total = np.multiply(view.counts, weight, dtype=kind)
    for weight, view in parts[1:]:
        total += np.multiply(view.counts, weight, dtype=kind)
    return total


def score(worth: Worth, nodes: Nodes) -> Scores | int:
    """Raw scores: the higher the better; below zero where the pod had better not go."""
    tables = [table for table in worth.tables if np.count_nonzero(table[1])]
    if not tables:
        return 0
    return worth.raw.paint(nodes, tables, _look_up)


def _look_up(tables: Sequence[Table], nodes: Nodes) -> Scores:
    total: Scores | None = None
    for key, worth in tables:
        found = worth.take(nodes.label(key))
        total = found.astype(np.int64) if total is None else np.add(total, found, out=total)
    assert total is not None
    return total


def normalize(raw: Scores, feasible: Mask) -> Scores:
    """0 for the lowest score, 100 for the highest; 0 for all where they are equal."""
    among = raw if feasible.all() else raw[feasible]
    if not len(among):
        return raw
    low, high = int(among.min()), int(among.max())
    if low == high:
        return np.zeros(len(raw), np.int64)
    # In floats and in this order, since the last bit decides what is cut off.
    scaled = (raw - low).astype(np.float64)
    scaled /= high - low
    scaled *= MAX_SCORE
    return scaled.astype(np.int64)
