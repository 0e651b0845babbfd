"""Finding a volume that exists for a claim, on each of many nodes: the smallest free one that suits.

Which volumes suit a claim does not depend on the node, but for one thing, the nodes that can use them; so the claim's
volumes are sorted out once, and then ranked over the nodes. A pod's second claim must not get what its first one got on
the same node: the first so many volumes per node are looked at, and the first that is not taken yet is chosen.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.claims import class_of_claim, is_bound_to, key_of
from bayplan.model.selectors import EVERYTHING, compile_label_selector
from bayplan.plugins.volume_binding.pod_claims import size_of

if TYPE_CHECKING:
    from bayplan.cluster.storage import Storage
    from bayplan.cluster.view import Nodes
    from bayplan.cluster.volume_index import Candidate
    from bayplan.cluster.volume_nodes import VolumeNodes
    from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim

#: A volume's place among the free volumes of its class, per node.
Places: TypeAlias = NDArray[np.int64]

#: No volume, and further down than any.
NONE = np.iinfo(np.int64).max
_FILESYSTEM = "Filesystem"


@dataclass(slots=True)
class Match:
    """Which volume a claim gets on each node."""

    claim: PersistentVolumeClaim
    volumes: Sequence[Candidate]
    #: By node: the place in ``volumes``, or NONE.
    places: Places

    def volume(self, i: int) -> PersistentVolume | None:
        """The volume on node ``i``."""
        place = int(self.places[i])
        return None if place == NONE else self.volumes[place].volume


def match_volumes(
    claims: Sequence[PersistentVolumeClaim], nodes: Nodes, storage: Storage
) -> list[Match]:
    """For each of a pod's claims, in this order, what it gets.

    Raises:
        SelectorError: a claim's selector does not parse.
    """
    matches: list[Match] = []
    for claim in claims:
        matches.append(_match(claim, nodes, storage, matches))
    return matches


def _match(
    claim: PersistentVolumeClaim, nodes: Nodes, storage: Storage, earlier: list[Match]
) -> Match:
    name, key = class_of_claim(claim), key_of(claim)
    # A pod may have two volumes of one claim; upstream looks for a volume for each.
    again = [match for match in earlier if key_of(match.claim) == key]
    promised = [
        volume
        for volume in storage.index.promised(name, key)
        if is_bound_to(volume.volume, claim) and _fits(volume, claim, size_of(claim))
    ][len(again) :]
    if promised:
        # It is this one or none, whatever else is free.
        match = Match(claim, promised[:1], _ranked(promised[:1], nodes, 1)[0])
    else:
        match = _match_free(claim, nodes, storage.index.free(name), earlier)
    for other in again:
        match.places[other.places == NONE] = NONE
    return match


def _match_free(
    claim: PersistentVolumeClaim, nodes: Nodes, free: Sequence[Candidate], earlier: list[Match]
) -> Match:
    suitable = _suitable(claim, free)
    if not suitable:
        return Match(claim, free, np.full(len(nodes), NONE))
    taken = [match.places for match in earlier if match.volumes is free]
    ranks = _ranked([free[place] for place in suitable], nodes, len(taken) + 1)
    places = np.array([*suitable, NONE])[np.minimum(ranks, len(suitable))]
    return Match(claim, free, _first_not_taken(places, taken))


def _suitable(claim: PersistentVolumeClaim, free: Sequence[Candidate]) -> list[int]:
    """Places of the free volumes that a claim could have on some node."""
    selector = claim.spec.selector
    compiled = EVERYTHING if selector is None else compile_label_selector(selector)
    modes = frozenset(claim.spec.access_modes)
    size = size_of(claim)
    first = bisect_left(free, size, key=lambda volume: volume.size)
    return [
        place
        for place in range(first, len(free))
        if _fits(free[place], claim, size)
        and modes.issubset(free[place].volume.spec.access_modes)
        and (compiled.empty or compiled.matches(free[place].volume.metadata.labels))
    ]


def _fits(candidate: Candidate, claim: PersistentVolumeClaim, size: int) -> bool:
    """What holds for volumes promised to the claim as well."""
    volume, wanted = candidate.volume, claim.spec
    return (
        candidate.size >= size
        and (volume.spec.volume_mode or _FILESYSTEM) == (wanted.volume_mode or _FILESYSTEM)
        and (volume.spec.volume_attributes_class_name or "")
        == (wanted.volume_attributes_class_name or "")
        and not volume.is_terminating
    )


def _first_not_taken(places: Places, taken: list[Places]) -> Places:
    """The first place of each column that no earlier claim has on that node."""
    chosen = np.full(places.shape[1], NONE)
    for row in places:
        free = chosen == NONE
        for other in taken:
            free &= row != other
        np.copyto(chosen, row, where=free)
    return chosen


def _ranked(volumes: Sequence[Candidate], nodes: Nodes, depth: int) -> Places:
    """``[k, node]``: the number of the k-th volume that the node can use, NONE where there are not so many."""
    anywhere: list[int] = []
    pinned: dict[str, dict[str, list[int]]] = {}
    others: dict[VolumeNodes, list[int]] = {}
    for number, volume in enumerate(volumes):
        if volume.nodes is None:
            _add(anywhere, number, depth)
        elif volume.nodes.pinned is None:
            _add(others.setdefault(volume.nodes, []), number, depth)
        else:
            key, values = volume.nodes.pinned
            by_value = pinned.setdefault(key, {})
            for value in values:
                _add(by_value.setdefault(value, []), number, depth)
    layers = (
        [_column(anywhere, depth)[:, np.newaxis].repeat(len(nodes), axis=1)] if anywhere else []
    )
    layers += [_by_value(key, by_value, nodes, depth) for key, by_value in pinned.items()]
    layers += [
        np.where(usable.mask(nodes), _column(numbers, depth)[:, np.newaxis], NONE)
        for usable, numbers in others.items()
    ]
    if len(layers) == 1:
        return layers[0]
    return np.sort(np.concatenate(layers), axis=0)[:depth]


def _add(numbers: list[int], number: int, depth: int) -> None:
    if len(numbers) < depth:
        numbers.append(number)


def _column(numbers: list[int], depth: int) -> Places:
    return np.array([*numbers, *[NONE] * (depth - len(numbers))])


def _by_value(key: str, by_value: dict[str, list[int]], nodes: Nodes, depth: int) -> Places:
    """Volumes that want one label: one look at its column answers for any number of them."""
    labels = nodes.cluster.nodes.labels
    values = nodes.label(key)
    # The last entry is what a missing label finds.
    table = np.full((depth, len(labels.values(key)) + 1), NONE)
    for value, numbers in by_value.items():
        number = labels.value_id(key, value)
        if number >= 0:
            table[: len(numbers), number] = numbers
    found: Places = table[:, values]
    return found
