"""How many volumes of each CSI driver are attached to each node.

A volume counts once per node, however many pods there use it and whether or not a VolumeAttachment tells of it too. Which
volume a claim stands for changes while the pods that use it stay where they are (it is bound, its volume or its class
appears), so what is kept by increments is which claims are used on which row; rows whose volumes may have changed are
counted again when somebody next looks.

Fed by ``Storage``; read by NodeVolumeLimits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster import pod_volumes
from bayplan.cluster.csi_migration import CSIVolume
from bayplan.cluster.node_columns import NodeColumns
from bayplan.cluster.pod_volumes import ClaimVolume, InlineVolume

if TYPE_CHECKING:
    from bayplan.cluster.nodes import NodeTable
    from bayplan.cluster.podinfo import PodInfo


class ClaimUse(NamedTuple):
    """A claim as a pod uses it."""

    #: ``namespace/name``.
    key: str
    #: Of a generic ephemeral volume: uid and name of the pod that has to own the claim.
    owner: tuple[str, str] | None = None


Use: TypeAlias = ClaimUse | InlineVolume


class Lookup(Protocol):
    """What has to be known of storage objects."""

    def volume_of(self, use: ClaimUse) -> CSIVolume | str | None:
        """The volume behind a claim, None where none counts; a string tells what is wrong."""
        ...

    def attached_volumes(self, node: str) -> Collection[CSIVolume]:
        """Volumes that VolumeAttachments hold on a node."""
        ...


class Attached(NamedTuple):
    """Volumes on one node."""

    #: Volumes that pods use.
    volumes: frozenset[CSIVolume]
    #: Driver to the number of volumes, those of VolumeAttachments among them.
    counts: Mapping[str, int]
    #: Why the pods' volumes cannot be counted.
    error: str


_NOTHING: Final = Attached(frozenset(), {}, "")


class Attachments:
    """Counts by driver and row."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        #: Node row to claims and in-tree volumes to the number of volumes of pods there that stand for them.
        self._uses: dict[int, dict[Use, int]] = {}
        #: Claim to the rows on which it is used, with the number of different uses.
        self._rows_by_claim: dict[str, dict[int, int]] = {}
        #: What stands in the columns.
        self._rows: dict[int, Attached] = {}
        self._rows_by_volume: dict[CSIVolume, set[int]] = {}
        self._counts = NodeColumns(np.int64, fill=0)
        #: Rows whose pods' volumes cannot be counted, and why.
        self.errors: dict[int, str] = {}

    # --- feeding ---------------------------------------------------------------------------------------------------------

    def place(self, pod: PodInfo, node_row: int, sign: int) -> None:
        """A pod comes to a node (+1) or leaves it (-1)."""
        for use in uses_of(pod):
            self._use(use, node_row, sign)
            self._counts.stale.add(node_row)

    def _use(self, use: Use, node_row: int, sign: int) -> None:
        uses = self._uses.setdefault(node_row, {})
        before = uses.get(use, 0)
        if before + sign:
            uses[use] = before + sign
            first_or_last = not before
        else:
            del uses[use]
            first_or_last = True
            if not uses:
                del self._uses[node_row]
        if first_or_last and isinstance(use, ClaimUse):
            rows = self._rows_by_claim.setdefault(use.key, {})
            rows[node_row] = rows.get(node_row, 0) + sign
            if not rows[node_row]:
                del rows[node_row]
                if not rows:
                    del self._rows_by_claim[use.key]

    def claim_changed(self, key: str) -> None:
        """The claim may stand for another volume now."""
        self._counts.stale.update(self._rows_by_claim.get(key, ()))

    def every_claim_changed(self) -> None:
        """Any claim may stand for another volume now."""
        self._counts.stale.update(self._uses)

    def node_changed(self, node: str) -> None:
        """The node has other VolumeAttachments."""
        self._counts.stale_names.add(node)

    # --- reading ---------------------------------------------------------------------------------------------------------

    def refresh(self, nodes: NodeTable) -> None:
        """Count rows again whose volumes have changed; call before reading."""
        for row, name in self._counts.catch_up(nodes):
            self._recount(row, name)

    def counts(self, driver: str) -> NDArray[np.int64]:
        """Volumes of a driver on each row."""
        return self._counts[driver]

    def rows_with(self, volume: CSIVolume) -> Collection[int]:
        """Rows on which a pod uses a volume."""
        return self._rows_by_volume.get(volume, ())

    def on_node(self, node: str, pods: Iterable[PodInfo]) -> Attached:
        """What would be attached to a node that had these pods."""
        return self._attached(node, (use for pod in pods for use in uses_of(pod)))

    def _attached(self, node: str, uses: Iterable[Use]) -> Attached:
        volumes: set[CSIVolume] = set()
        error = ""
        for use in uses:
            if isinstance(use, InlineVolume):
                found: CSIVolume | str | None = use.volume or use.error
            else:
                found = self._lookup.volume_of(use)
            if isinstance(found, str):
                error = error or found
            elif found is not None:
                volumes.add(found)
        there = volumes.union(self._lookup.attached_volumes(node))
        if not there and not error:
            return _NOTHING
        return Attached(frozenset(volumes), Counter(volume.driver for volume in there), error)

    def _recount(self, row: int, name: str) -> None:
        before = self._rows.get(row, _NOTHING)
        after = self._attached(name, self._uses.get(row, ()))
        if after is _NOTHING:
            self._rows.pop(row, None)
        else:
            self._rows[row] = after
        for driver in before.counts.keys() | after.counts.keys():
            self._counts[driver][row] = after.counts.get(driver, 0)
        for volume in before.volumes - after.volumes:
            rows = self._rows_by_volume[volume]
            rows.discard(row)
            if not rows:
                del self._rows_by_volume[volume]
        for volume in after.volumes - before.volumes:
            self._rows_by_volume.setdefault(volume, set()).add(row)
        if after.error:
            self.errors[row] = after.error
        else:
            self.errors.pop(row, None)

    # --- audit -----------------------------------------------------------------------------------------------------------

    def audit(self) -> Iterator[str]:
        """Rows that are said to be up to date, but are not."""
        for row, name in self._counts.settled():
            known = self._rows.get(row, _NOTHING)
            fresh = self._attached(name, self._uses.get(row, ()))
            if known != fresh:
                yield f"storage: on {name or row} are attached {known!r}, recounted {fresh!r}"
            for driver in self._counts:
                counted, expected = int(self._counts[driver][row]), fresh.counts.get(driver, 0)
                if counted != expected:
                    yield f"storage: on {name or row} the column of {driver} says {counted}, recounted {expected}"

    def audit_uses(self, placed: Iterable[tuple[PodInfo, int]]) -> Iterator[str]:
        """Differences from a count of uses from scratch."""
        fresh = Attachments(self._lookup)
        for pod, node_row in placed:
            fresh.place(pod, node_row, +1)
        if fresh._uses != self._uses or fresh._rows_by_claim != self._rows_by_claim:
            yield f"storage: claims on nodes are {self._uses!r}, recounted {fresh._uses!r}"


def uses_of(pod: PodInfo) -> Iterator[Use]:
    """What a pod needs attached to its node."""
    for volume in pod_volumes.of(pod).attached:
        if isinstance(volume, ClaimVolume):
            owner = (pod.uid, pod.name) if volume.ephemeral else None
            yield ClaimUse(f"{pod.namespace}/{volume.claim_name(pod.name)}", owner)
        else:
            yield volume
