"""PersistentVolumes by class: those that are free, smallest first, and those promised to a claim.

Fed by ``Storage`` with volumes as they will be, decisions included; read by VolumeBinding, which looks for the smallest
free volume that suits a claim.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bayplan.cluster.claims import class_of_volume
from bayplan.cluster.volume_nodes import VolumeNodes, nodes_of
from bayplan.model import quantity

if TYPE_CHECKING:
    from bayplan.model.storage import PersistentVolume

_AVAILABLE = "Available"


class Candidate(NamedTuple):
    """A volume, with what it is sorted and judged by."""

    #: In billionths of a byte: quantities compare that finely.
    size: int
    name: str
    volume: PersistentVolume
    #: The nodes that can use it; None: all of them.
    nodes: VolumeNodes | None


class VolumeIndex:
    """Volumes by class."""

    def __init__(self) -> None:
        self._free: dict[str, list[Candidate]] = {}
        #: Class and claim to the volumes promised to it, by name.
        self._promised: dict[tuple[str, str], dict[str, Candidate]] = {}
        #: Counts the changes of each class's volumes.
        self._versions: dict[str, int] = {}

    def free(self, storage_class: str) -> Sequence[Candidate]:
        """Volumes of a class that nobody has claimed, by size and then by name."""
        return self._free.get(storage_class, ())

    def promised(self, storage_class: str, claim: str) -> Iterable[Candidate]:
        """Volumes of a class that name the claim ``namespace/name`` as theirs, by name."""
        found = self._promised.get((storage_class, claim))
        return [found[name] for name in sorted(found)] if found else ()

    def version(self, storage_class: str) -> int:
        """Equal numbers mean that no volume of the class has changed."""
        return self._versions.get(storage_class, 0)

    def replace(self, before: PersistentVolume | None, after: PersistentVolume | None) -> None:
        """A volume came, went or changed."""
        if before is not None:
            self._take_out(before)
        if after is not None:
            self._put_in(after)

    def _put_in(self, volume: PersistentVolume) -> None:
        storage_class = class_of_volume(volume)
        self._versions[storage_class] = self._versions.get(storage_class, 0) + 1
        claim = _claim_key(volume)
        if claim is not None:
            promised = self._promised.setdefault((storage_class, claim), {})
            promised[volume.metadata.name] = _candidate(volume)
        elif _is_free(volume):
            insort(self._free.setdefault(storage_class, []), _candidate(volume), key=_rank)

    def _take_out(self, volume: PersistentVolume) -> None:
        storage_class = class_of_volume(volume)
        self._versions[storage_class] = self._versions.get(storage_class, 0) + 1
        claim = _claim_key(volume)
        if claim is not None:
            promised = self._promised[storage_class, claim]
            del promised[volume.metadata.name]
            if not promised:
                del self._promised[storage_class, claim]
        elif _is_free(volume):
            free = self._free[storage_class]
            del free[bisect_left(free, (_size(volume), volume.metadata.name), key=_rank)]
            if not free:
                del self._free[storage_class]

    def audit(self, volumes: Iterable[PersistentVolume]) -> Iterator[str]:
        """Differences from an index made from scratch."""
        fresh = VolumeIndex()
        for volume in volumes:
            fresh.replace(None, volume)
        if fresh._free != self._free:
            yield f"storage: free volumes are {self._free!r}, should be {fresh._free!r}"
        if fresh._promised != self._promised:
            yield f"storage: promised volumes are {self._promised!r}, should be {fresh._promised!r}"


def _candidate(volume: PersistentVolume) -> Candidate:
    affinity = volume.spec.node_affinity
    nodes = nodes_of(affinity.required if affinity is not None else None)
    return Candidate(_size(volume), volume.metadata.name, volume, nodes)


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
