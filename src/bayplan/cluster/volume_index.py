"""PersistentVolumes by class: those that are free, smallest first, and those promised to a claim.

Fed by ``Storage`` with volumes as they will be, decisions included; read by VolumeBinding, which looks for the smallest
free volume that suits a claim.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.claims import class_of_volume
from bayplan.cluster.intern import Interner
from bayplan.cluster.node_groups import NodeGroups
from bayplan.cluster.volume_nodes import VolumeNodes, nodes_of
from bayplan.model import quantity

if TYPE_CHECKING:
    from bayplan.model.storage import PersistentVolume, PersistentVolumeSpec
    from bayplan.model.volumes import PersistentVolumeClaimSpec

_AVAILABLE = "Available"
_FILESYSTEM = "Filesystem"


class Kind(NamedTuple):
    """What has to agree between a claim and a volume, beside size and place."""

    mode: str
    attributes_class: str
    #: A volume has to admit all that a claim asks for.
    access_modes: frozenset[str]

    def suits(self, wanted: Kind) -> bool:
        """Whether a volume of this kind serves a claim of the other."""
        return self[:2] == wanted[:2] and self.access_modes >= wanted.access_modes


class Candidate(NamedTuple):
    """A volume, with what it is sorted and judged by."""

    #: In billionths of a byte: quantities compare that finely.
    size: int
    name: str
    volume: PersistentVolume
    #: The nodes that can use it; None: all of them.
    nodes: VolumeNodes | None
    #: Numbers of the nodes and of the kind.
    group: int
    kind: int


class Shelf:
    """The free volumes of a class, by size and then by name, and columns of them in that order."""

    __slots__ = ("_columns", "volumes")

    def __init__(self) -> None:
        self.volumes: list[Candidate] = []
        self._columns: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None

    def add(self, candidate: Candidate) -> None:
        """Put a volume where it belongs."""
        insort(self.volumes, candidate, key=_rank)
        self._columns = None

    def remove(self, size: int, name: str) -> None:
        """Take a volume off the shelf."""
        del self.volumes[bisect_left(self.volumes, (size, name), key=_rank)]
        self._columns = None

    @property
    def groups(self) -> NDArray[np.int32]:
        """Numbers of the sets of nodes that can use them."""
        return self._made()[0]

    @property
    def kinds(self) -> NDArray[np.int32]:
        """Numbers of their kinds."""
        return self._made()[1]

    def first_of(self, size: int) -> int:
        """The place of the smallest volume that is not smaller than ``size``."""
        return bisect_left(self.volumes, size, key=lambda volume: volume.size)

    def _made(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        if self._columns is None:
            groups = np.array([volume.group for volume in self.volumes], np.int32)
            kinds = np.array([volume.kind for volume in self.volumes], np.int32)
            self._columns = groups, kinds
        return self._columns


class VolumeIndex:
    """Volumes by class."""

    def __init__(self) -> None:
        self._free: dict[str, Shelf] = {}
        #: Class and claim to the volumes promised to it, by name.
        self._promised: dict[tuple[str, str], dict[str, Candidate]] = {}
        self.groups = NodeGroups()
        self.kinds: Interner[Kind] = Interner()

    def free(self, storage_class: str) -> Shelf | None:
        """Volumes of a class that nobody has claimed."""
        return self._free.get(storage_class)

    def promised(self, storage_class: str, claim: str) -> Iterable[Candidate]:
        """Volumes of a class that name the claim ``namespace/name`` as theirs, by name."""
        found = self._promised.get((storage_class, claim))
        return [found[name] for name in sorted(found)] if found else ()

    def replace(self, before: PersistentVolume | None, after: PersistentVolume | None) -> None:
        """A volume came, went or changed."""
        if before is not None:
            self._take_out(before)
        if after is not None:
            self._put_in(after)

    def _put_in(self, volume: PersistentVolume) -> None:
        storage_class = class_of_volume(volume)
        claim = _claim_key(volume)
        if claim is not None:
            promised = self._promised.setdefault((storage_class, claim), {})
            promised[volume.metadata.name] = self._candidate(volume)
        elif _is_free(volume):
            self._free.setdefault(storage_class, Shelf()).add(self._candidate(volume))

    def _take_out(self, volume: PersistentVolume) -> None:
        storage_class = class_of_volume(volume)
        claim = _claim_key(volume)
        if claim is not None:
            promised = self._promised[storage_class, claim]
            del promised[volume.metadata.name]
            if not promised:
                del self._promised[storage_class, claim]
        elif _is_free(volume):
            shelf = self._free[storage_class]
            shelf.remove(_size(volume), volume.metadata.name)
            if not shelf.volumes:
                del self._free[storage_class]

    def _candidate(self, volume: PersistentVolume) -> Candidate:
        affinity = volume.spec.node_affinity
        nodes = nodes_of(affinity.required if affinity is not None else None)
        group = self.groups.id(nodes)
        kind = self.kinds.id(kind_of(volume.spec))
        return Candidate(_size(volume), volume.metadata.name, volume, nodes, group, kind)

    def audit(self, volumes: Iterable[PersistentVolume]) -> Iterator[str]:
        """Differences from an index made from scratch."""
        free: dict[str, list[str]] = {}
        promised: dict[tuple[str, str], list[str]] = {}
        for volume in sorted(volumes, key=lambda volume: (_size(volume), volume.metadata.name)):
            storage_class, claim = class_of_volume(volume), _claim_key(volume)
            if claim is not None:
                promised.setdefault((storage_class, claim), []).append(volume.metadata.name)
            elif _is_free(volume):
                free.setdefault(storage_class, []).append(volume.metadata.name)
        kept = {name: [one.name for one in shelf.volumes] for name, shelf in self._free.items()}
        if kept != free:
            yield f"storage: free volumes are {kept!r}, should be {free!r}"
        of_claims = {key: sorted(found) for key, found in self._promised.items()}
        expected = {key: sorted(found) for key, found in promised.items()}
        if of_claims != expected:
            yield f"storage: promised volumes are {of_claims!r}, should be {expected!r}"


def kind_of(spec: PersistentVolumeSpec | PersistentVolumeClaimSpec) -> Kind:
    """The kind of a volume, or that a claim asks for."""
    return Kind(
        spec.volume_mode or _FILESYSTEM,
        spec.volume_attributes_class_name or "",
        frozenset(spec.access_modes),
    )


def _rank(candidate: Candidate) -> tuple[int, str]:
    return candidate.size, candidate.name


def _size(volume: PersistentVolume) -> int:
    return quantity.nano_value(volume.spec.capacity.get("storage", 0))


def _claim_key(volume: PersistentVolume) -> str | None:
    ref = volume.spec.claim_ref
    return None if ref is None else f"{ref.namespace}/{ref.name}"


def _is_free(volume: PersistentVolume) -> bool:
    """Whether a claim that is not promised it may have it; nothing but Available volumes is worth a try."""
    return volume.status.phase == _AVAILABLE and volume.metadata.deletion_timestamp is None
