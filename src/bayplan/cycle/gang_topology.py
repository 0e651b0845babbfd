"""All members of a gang in one zone, one rack, one node: which domains there are, and in which order they are tried.

Each domain is tried with the ordinary attempts, confined to its nodes. First comes the domain that has room for all and
would have least left over: large gaps stay for large gangs. Where members are placed already there is nothing to choose.

Read by ``cycle.gang``, which tries the domains one after the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayplan.cycle.confined import Confined, confined

if TYPE_CHECKING:
    from bayplan.cluster.view import ClusterView
    from bayplan.cycle.advice import Advice
    from bayplan.cycle.gang_room import Amounts, Room
    from bayplan.framework.status import Mask
    from bayplan.model.pod_group import GroupTopology


@dataclass(frozen=True, slots=True)
class Domain:
    """The nodes that share a value of the label."""

    key: str
    value: str
    #: No more members than this fit.
    bound: int
    #: By row, which value a node has.
    labels: NDArray[np.int32] = field(repr=False)
    number: int

    @property
    def rows(self) -> Mask:
        """Its nodes; made when it is tried, for there may be as many domains as nodes."""
        mask: Mask = self.labels == self.number
        return mask

    def __str__(self) -> str:
        return f"{self.key}={self.value}"

    def advice(self, given: Advice | None = None) -> Confined:
        """The attempt of one member, confined to this domain."""
        why = f"node(s) outside of {self}, which the pod group is tried in"
        return confined(self.rows, why, given)


@dataclass(frozen=True, slots=True)
class Choice:
    """In which domains a gang is tried."""

    domains: tuple[Domain, ...]
    #: Those that have no room, whatever order members come in.
    hopeless: tuple[Domain, ...]
    topology: GroupTopology

    def ways(self) -> Iterator[Domain | None]:
        """One after the other; None: the whole cluster, where a domain is only preferred."""
        yield from self.domains
        if not self.topology.required:
            yield None

    def shortage(self, needed: int) -> str:
        """Why there is no way, in the words of the event; only where there are no domains to try."""
        key = self.topology.key
        if not self.hopeless:
            return f"no node has the label {key}, whose values the pod group is to share"
        best = max(self.hopeless, key=lambda domain: domain.bound)
        most = f"at most {best.bound} in {best.value}" if best.bound else "none in any of them"
        return f"no {key} has room for {needed} members: {most}"


def choose(
    topology: GroupTopology,
    room: Room,
    view: ClusterView,
    needed: int,
    placed_on: Collection[str] = (),
) -> Choice:
    """The domains to try, the best first.

    Args:
        topology: the label, and whether it must be one domain.
        room: what the members without a node need and what nodes have.
        view: the cluster.
        needed: how many of them have to fit at once.
        placed_on: the nodes of the members that have one.
    """
    labels = np.where(view.nodes.alive, view.nodes.label(topology.key), -1)
    names = view.label_values(topology.key)
    bounds, shares = room.bounds(labels, len(names)).tolist(), _left_over(labels, room, len(names))
    values: Sequence[int] = np.unique(labels[labels >= 0]).tolist()
    if placed_on:
        values = _already_in(labels.tolist(), view, placed_on, values)
    order = sorted(values, key=lambda value: (-bounds[value], shares[value], names[value]))
    known = [Domain(topology.key, names[value], bounds[value], labels, value) for value in order]
    able = tuple(domain for domain in known if domain.bound >= needed)
    return Choice(able, tuple(known[len(able) :]), topology)


def _already_in(
    labels: list[int], view: ClusterView, placed_on: Collection[str], values: Sequence[int]
) -> Sequence[int]:
    """The domain where members are; where somebody has placed them in several, the one with most of them."""
    rows = (view.row_of(node) for node in placed_on)
    counts = Counter(labels[row] for row in rows if row is not None and labels[row] >= 0)
    if not counts:
        return values
    return [max(counts, key=lambda value: (counts[value], -value))]


def _left_over(labels: Amounts, room: Room, count: int) -> list[float]:
    """How much of its scarcest resource each domain would have left: 0 where the gang takes all there is."""
    inside = np.flatnonzero(labels >= 0)
    least = np.ones(count)
    for wanted, free in zip(room.wanted().tolist(), room.free, strict=True):
        if wanted:
            there = np.bincount(labels[inside], weights=free[inside], minlength=count)
            np.minimum(least, 1.0 - wanted / np.maximum(there, 1.0), out=least)
    found: list[float] = least.tolist()
    return found
