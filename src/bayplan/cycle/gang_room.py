"""What the members of a gang need and what the nodes have left, as numbers: how many members could be where, at most.

An upper bound, made from the columns and from what the filters say before any member is placed. What members mean for each
other (affinity, spread) is left out, so what is impossible here is impossible, and what is possible the filters decide.

Made by ``cycle.gang`` when it has to choose between domains, or wants the solver's help; read by ``gang_topology`` and
``gang_puzzle``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cycle.desk import Desk
    from bayplan.framework.status import Mask

#: What a pod takes beside resources: one of the places for pods that a node has.
_PLACES: Final = "pods"

#: More than any gang needs of anything, and a hundred thousand nodes with so much still fit into 64 bits.
_PLENTY: Final = 1 << 46

Amounts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Need:
    """Members that are alike."""

    pods: tuple[PodInfo, ...]
    #: One amount per resource of the room.
    amounts: Amounts
    #: How many fit on each row if nobody else comes: one number per row, at most as many as there are pods.
    slots: Amounts


@dataclass(frozen=True, slots=True)
class Room:
    """The members by class, and the rows."""

    needs: tuple[Need, ...]
    resources: tuple[str, ...]
    #: ``int64[resource, row]``.
    free: Amounts

    @property
    def members(self) -> int:
        return sum(len(need.pods) for need in self.needs)

    def bounds(self, domains: NDArray[np.integer[Any]], count: int) -> Amounts:
        """For each of so many domains: no more members than this fit in it. ``domains``: by row, -1 for none."""
        inside = np.flatnonzero(domains >= 0)
        place = domains[inside]
        slots = [
            np.minimum(_sums(place, need.slots[inside], count), len(need.pods))
            for need in self.needs
        ]
        most: Amounts = sum(slots, np.zeros(count, np.int64))
        for resource, free in enumerate(self.free):
            fitting = self._fitting(resource, _sums(place, free[inside], count), slots)
            np.minimum(most, fitting, out=most)
        return most

    def _fitting(self, resource: int, left: Amounts, slots: Sequence[Amounts]) -> Amounts:
        """How many fit by one resource alone, if those that need least of it come first."""
        total = np.zeros_like(left)
        order = sorted(range(len(slots)), key=lambda i: int(self.needs[i].amounts[resource]))
        for i in order:
            amount = int(self.needs[i].amounts[resource])
            taken = slots[i] if amount == 0 else np.minimum(slots[i], left // amount)
            total += taken
            left = left - taken * amount
        return total

    def wanted(self) -> Amounts:
        """What all members need together: one amount per resource."""
        total: Amounts = sum(
            (need.amounts * len(need.pods) for need in self.needs),
            np.zeros(len(self.resources), np.int64),
        )
        return total


def _sums(place: NDArray[np.integer[Any]], values: Amounts, count: int) -> Amounts:
    sums = np.zeros(count, np.int64)
    # A sum may not wrap: a node that offers 2^63-1 of something has it for every gang there is.
    np.add.at(sums, place, np.minimum(values, _PLENTY))
    return sums


def room_of(members: Iterable[tuple[PodInfo, Desk]]) -> Room:
    """The room for these members on the cluster as it is."""
    classes: dict[object, list[PodInfo]] = {}
    desks: dict[object, Desk] = {}
    for pod, desk in members:
        classes.setdefault((id(desk), pod.alike), []).append(pod)
        desks[id(desk), pod.alike] = desk
    view = next(iter(desks.values())).view
    asked = {name for pods in classes.values() for name, n in pods[0].requests.items() if n > 0}
    resources = (_PLACES, *sorted(asked))
    places = view.nodes.max_pods - view.nodes.pod_count
    free = np.array([places, *map(view.nodes.free, resources[1:])], np.int64)
    # A node that is overcommitted has nothing, which is not less than nothing.
    np.maximum(free, 0, out=free)
    needs = tuple(_need(pods, desks[key], resources, free) for key, pods in classes.items())
    return Room(needs, resources, free)


def _need(pods: list[PodInfo], desk: Desk, resources: tuple[str, ...], free: Amounts) -> Need:
    pod = pods[0]
    amounts = np.array([1, *(pod.requests.get(name, 0) for name in resources[1:])], np.int64)
    slots = np.full(free.shape[1], len(pods), np.int64)
    for amount, there in zip(amounts.tolist(), free, strict=True):
        if amount > 0:
            np.minimum(slots, there // amount, out=slots)
    if pod.shape.host_ports:
        np.minimum(slots, 1, out=slots)
    slots[~_open(pod, desk)] = 0
    return Need(tuple(pods), amounts, slots)


def _open(pod: PodInfo, desk: Desk) -> Mask:
    """The rows that are not out of the question whatever the other members do."""
    alive: Mask = desk.view.nodes.alive
    if pod.shape.has_affinity_terms or pod.spec.topology_spread_constraints:
        return alive  # where the others are may open what is closed now
    feasible = desk.classes.evaluation(pod).feasible
    return np.zeros(len(alive), np.bool_) if feasible is None else feasible.open & alive
