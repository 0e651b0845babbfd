"""What a pod's claims come to on each of many nodes: bound volumes in reach, free ones, new ones that can be made.

Used by Filter for all nodes, and by Reserve for the one that was chosen: a decision is made anew for it, from what is
known then, rather than kept for thousands of nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster import csi_migration
from bayplan.cluster.claims import NO_PROVISIONER, SELECTED_NODE, class_of_claim
from bayplan.cluster.csi_migration import TranslationError
from bayplan.cluster.node_groups import NO_PLACE
from bayplan.cluster.volume_decisions import VolumeDecision
from bayplan.cluster.volume_nodes import nodes_of, nodes_of_topologies
from bayplan.errors import SelectorError
from bayplan.framework.status import Code, Rejected, Verdicts, unresolvable
from bayplan.model import quantity
from bayplan.plugins.volume_binding.static import Match, match_volumes

if TYPE_CHECKING:
    from bayplan.cluster.view import Nodes
    from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
    from bayplan.plugins.volume_binding.pod_claims import PodClaims

Mask: TypeAlias = NDArray[np.bool_]

_OUT_OF_REACH: Final = 1
_NO_VOLUME: Final = 2
_NO_SPACE: Final = 4
_VOLUME_GONE: Final = 8
_ERROR: Final = 16

#: In the order in which a node's reasons are listed.
_REASONS: Final = (
    (_OUT_OF_REACH, "node(s) didn't match PersistentVolume's node affinity"),
    (_NO_VOLUME, "node(s) didn't find available persistent volumes to bind"),
    (_NO_SPACE, "node(s) did not have enough free storage"),
    (
        _VOLUME_GONE,
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
    ),
)


@dataclass(slots=True)
class Search:
    """The answer for a set of nodes."""

    nodes: Nodes
    #: What is wrong, and where.
    rejections: list[tuple[Mask, int]] = field(default_factory=list)
    matches: list[Match] = field(default_factory=list)
    #: Claims for which a volume has to be made, and where.
    provisions: list[tuple[PersistentVolumeClaim, Mask]] = field(default_factory=list)
    #: What went wrong where an error is noted.
    error: str = ""

    def reject(self, where: Mask, bit: int) -> None:
        """Note what is wrong with some nodes; the mask is kept."""
        if where.any():
            self.rejections.append((where, bit))

    def verdicts(self) -> Verdicts | None:
        """What is said of each node; None where all pass."""
        if not self.rejections:
            return None
        if len(self.rejections) == 1:
            where, bit = self.rejections[0]
            return Verdicts(where.astype(np.int16), (_say(bit, self.error),))
        bits = np.zeros(len(self.nodes), np.int64)
        for where, bit in self.rejections:
            bits |= np.where(where, bit, 0)
        return Verdicts.from_bits(bits, lambda pattern: _say(pattern, self.error))

    def decision(self, i: int) -> VolumeDecision:
        """What choosing node ``i`` decides."""
        decision = VolumeDecision(self.nodes.name(i))
        for match in self.matches:
            volume = match.volume(i)
            if volume is not None:
                decision.bindings.append((volume, match.claim))
        decision.provisions = [claim for claim, where in self.provisions if where[i]]
        return decision


def search(claims: PodClaims, nodes: Nodes) -> Search:
    """Judge nodes by a pod's claims."""
    found = Search(nodes)
    _check_bound(found, claims.bound)
    if claims.undecided:
        _place_undecided(found, claims)
    return found


def _say(pattern: int, error: str) -> Rejected:
    """The words for a pattern of bits."""
    if pattern & _ERROR:
        return Rejected(error, code=Code.ERROR)
    return unresolvable(*(reason for bit, reason in _REASONS if pattern & bit))


# --- claims with a volume ------------------------------------------------------------------------------------------------


def _check_bound(found: Search, claims: tuple[PersistentVolumeClaim, ...]) -> None:
    """The first claim that fails on a node decides what is said of the node."""
    volumes = found.nodes.cluster.storage.volumes
    left = np.ones(len(found.nodes), np.bool_)
    for claim in claims:
        volume = volumes.get(claim.spec.volume_name)
        if volume is None:
            found.reject(left, _VOLUME_GONE)
            return
        reach = _reach(found, volume, left)
        if reach is not None:
            # Where left is set and reach is not.
            found.reject(left > reach, _OUT_OF_REACH)
            left = left & reach


def _reach(found: Search, volume: PersistentVolume, left: Mask) -> Mask | None:
    """Nodes that can use a volume; None: all of them."""
    nodes = found.nodes
    affinity = volume.spec.node_affinity
    plain = nodes_of(affinity.required if affinity is not None else None)
    mask = None if plain is None else plain.mask(nodes)
    plugin = csi_migration.migrated_plugin(volume.spec)
    if plugin is None:
        return mask
    csi_nodes = nodes.cluster.storage.csi_nodes
    csi_nodes.refresh(nodes.cluster.nodes)
    migrated = nodes.take(csi_nodes.migrated(plugin))
    if not migrated.any():
        return mask
    try:
        translated = nodes_of(csi_migration.translated_affinity(volume))
    except TranslationError as error:
        found.error = found.error or f"could not translate pv: {error}"
        found.reject(left & migrated, _ERROR)
        left &= ~migrated
        return mask
    there = np.ones(len(nodes), np.bool_) if translated is None else translated.mask(nodes)
    return np.where(migrated, there, True if mask is None else mask)


# --- claims without one --------------------------------------------------------------------------------------------------


def _place_undecided(found: Search, claims: PodClaims) -> None:
    here = _selected(claims.selected, found.nodes)
    found.reject(~here, _NO_VOLUME)
    try:
        found.matches = match_volumes(claims.waiting, found.nodes, found.nodes.cluster.storage)
    except SelectorError as error:
        found.error = found.error or str(error)
        found.reject(here, _ERROR)
        return
    to_make = [(claim, here) for claim in claims.selected]
    to_make += [(match.claim, here & (match.places == NO_PLACE)) for match in found.matches]
    left = here.copy()
    for claim, where in to_make:
        needed = left & where
        if needed.any():
            found.provisions.append((claim, where))
            left &= ~_cannot_make(found, claim, needed)


def _selected(claims: tuple[PersistentVolumeClaim, ...], nodes: Nodes) -> Mask:
    """The node that claims were promised to before, or all nodes."""
    here = np.ones(len(nodes), np.bool_)
    for claim in claims:
        node = claim.metadata.annotations[SELECTED_NODE]
        here &= nodes.rows == nodes.cluster.nodes.row_of.get(node, -1)
    return here


def _cannot_make(found: Search, claim: PersistentVolumeClaim, needed: Mask) -> Mask:
    """Nodes on which the claim needs a volume and none can be made."""
    nodes = found.nodes
    name = class_of_claim(claim)
    storage_class = nodes.cluster.storage.classes.get(name)
    if storage_class is None:
        found.error = f'failed to find storage class "{name}"'
        found.reject(needed, _ERROR)
        return needed
    if storage_class.provisioner in ("", NO_PROVISIONER):
        found.reject(needed, _NO_VOLUME)
        return needed
    failed = np.zeros(len(nodes), np.bool_)
    topology = nodes_of_topologies(storage_class.allowed_topologies)
    if topology is not None:
        failed = needed & ~topology.mask(nodes)
        found.reject(failed, _NO_VOLUME)
    room = _room(claim, storage_class, nodes)
    if room is not None:
        full = needed & ~failed & ~room
        found.reject(full, _NO_SPACE)
        failed = failed | full
    return failed


def _room(claim: PersistentVolumeClaim, storage_class: StorageClass, nodes: Nodes) -> Mask | None:
    """Nodes for which the driver says that it has room; None where it does not say or nothing is asked."""
    storage = nodes.cluster.storage
    asked = claim.spec.resources.requests.get("storage")
    driver = storage.drivers.get(storage_class.provisioner)
    if asked is None or driver is None or not driver.spec.storage_capacity:
        return None
    shelf = storage.pools(storage_class.metadata.name)
    if shelf is None:
        return np.zeros(len(nodes), np.bool_)
    return shelf.with_room(quantity.value(asked), nodes)
