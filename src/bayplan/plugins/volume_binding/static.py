"""Finding a volume that exists for a claim, on each of many nodes: the smallest free one that suits.

Which volumes suit a claim does not depend on the node, but for one thing, the nodes that can use them; so the claim's
volumes are sorted out once and then spread over the nodes. A pod's second claim must not get what its first one got on
the same node: as many volumes of each set of nodes are looked at as there are claims before it, and one more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayplan.cluster.claims import class_of_claim, is_bound_to, key_of
from bayplan.cluster.node_groups import NO_PLACE, Places
from bayplan.cluster.volume_index import kind_of
from bayplan.errors import SelectorError
from bayplan.model.selectors import EVERYTHING, Selector, compile_label_selector
from bayplan.plugins.volume_binding.pod_claims import size_of

if TYPE_CHECKING:
    from bayplan.cluster.storage import Storage
    from bayplan.cluster.view import Nodes
    from bayplan.cluster.volume_index import Candidate, Shelf, VolumeIndex
    from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim


@dataclass(slots=True)
class Match:
    """Which volume a claim gets on each node."""

    claim: PersistentVolumeClaim
    volumes: Sequence[Candidate]
    #: By node: the place in ``volumes``, or NO_PLACE.
    places: Places

    def volume(self, i: int) -> PersistentVolume | None:
        """The volume on node ``i``."""
        place = int(self.places[i])
        return None if place == NO_PLACE else self.volumes[place].volume


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
    selector = _selector(claim)
    index, name, key = storage.index, class_of_claim(claim), key_of(claim)
    # A pod may have two volumes of one claim; upstream looks for a volume for each.
    again = [match for match in earlier if key_of(match.claim) == key]
    wanted, size = kind_of(claim.spec), size_of(claim)
    promised = [
        one
        for one in index.promised(name, key)
        if one.size >= size
        and index.kinds.values[one.kind][:2] == wanted[:2]
        and is_bound_to(one.volume, claim)
        and not one.volume.is_terminating
    ][len(again) :]
    shelf = index.free(name)
    if promised:
        # It is this one or none, whatever else is free.
        match = Match(claim, promised, _promised_places(promised[0], nodes))
    elif shelf is None:
        match = Match(claim, (), np.full(len(nodes), NO_PLACE))
    else:
        suitable = _suitable(claim, selector, shelf, index)
        taken = [match.places for match in earlier if match.volumes is shelf.volumes]
        first = index.groups.first(shelf.groups[suitable], suitable, len(taken) + 1)
        match = Match(claim, shelf.volumes, index.groups.spread(nodes, first, taken))
    for other in again:
        match.places[other.places == NO_PLACE] = NO_PLACE
    return match


def _promised_places(promised: Candidate, nodes: Nodes) -> Places:
    if promised.nodes is None:
        return np.zeros(len(nodes), np.int64)
    return np.where(promised.nodes.mask(nodes), 0, NO_PLACE)


def _selector(claim: PersistentVolumeClaim) -> Selector:
    """What the claim asks of a volume's labels."""
    if claim.spec.selector is None:
        return EVERYTHING
    try:
        return compile_label_selector(claim.spec.selector)
    except SelectorError as error:
        what = f"error creating internal label selector for claim: {key_of(claim)}"
        raise SelectorError(f"{what}: {error}") from error


def _suitable(
    claim: PersistentVolumeClaim, selector: Selector, shelf: Shelf, index: VolumeIndex
) -> Places:
    """Places of the free volumes that a claim could have on some node."""
    wanted = kind_of(claim.spec)
    suits = np.array([kind.suits(wanted) for kind in index.kinds], np.bool_)
    first = shelf.first_of(size_of(claim))
    places: Places = np.flatnonzero(suits[shelf.kinds[first:]]) + first
    if selector.empty:
        return places
    fits = [
        place
        for place in places.tolist()
        if selector.matches(shelf.volumes[place].volume.metadata.labels)
    ]
    return np.array(fits, np.int64)
