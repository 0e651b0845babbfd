"""Claims and disks that placed pods use, kept by increments.

Fed by ``Storage.place``; read by VolumeRestrictions: who else uses this claim, which nodes hold this disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from bayplan.cluster import pod_volumes

if TYPE_CHECKING:
    from bayplan.cluster.pod_volumes import DiskKey
    from bayplan.cluster.podinfo import PodInfo

K = TypeVar("K")
_NOWHERE: Mapping[int, int] = {}


class VolumeUsage:
    """How often claims and disks are used, by node row."""

    def __init__(self) -> None:
        #: ``namespace/name`` of a claim to node row to the number of volumes of pods there that name it. Generic ephemeral
        #: volumes do not count: their claims are nobody else's.
        self.claims: dict[str, dict[int, int]] = {}
        #: Disk to node row to the number of pods' volumes that hold it.
        self.holders: dict[DiskKey, dict[int, int]] = {}
        #: The same for those that may write to it.
        self.writers: dict[DiskKey, dict[int, int]] = {}

    def place(self, pod: PodInfo, node_row: int, sign: int) -> None:
        """A pod comes to a node (+1) or leaves it (-1)."""
        volumes = pod_volumes.of(pod)
        for name in volumes.named_claims:
            _count(self.claims, f"{pod.namespace}/{name}", node_row, sign)
        for disk in volumes.disks:
            for key in disk.keys:
                _count(self.holders, key, node_row, sign)
                if not disk.read_only:
                    _count(self.writers, key, node_row, sign)

    def rows_with_claim(self, claim: str) -> Iterable[int]:
        """Nodes on which a pod uses the claim ``namespace/name``."""
        return self.claims.get(claim, _NOWHERE)

    def rows_with_disk(self, key: DiskKey, *, read_only: bool) -> Iterable[int]:
        """Nodes on which a pod holds the disk in a way that excludes a pod that wants it too."""
        return (self.writers if read_only else self.holders).get(key, _NOWHERE)

    def audit(self, placed: Iterable[tuple[PodInfo, int]]) -> list[str]:
        """Differences from a count from scratch."""
        fresh = VolumeUsage()
        for pod, node_row in placed:
            fresh.place(pod, node_row, +1)
        return [
            f"storage: {what} are {counted!r}, recounted {recounted!r}"
            for what, counted, recounted in (
                ("claims in use", self.claims, fresh.claims),
                ("disks held", self.holders, fresh.holders),
                ("disks written to", self.writers, fresh.writers),
            )
            if counted != recounted
        ]


def _count(counts: dict[K, dict[int, int]], key: K, node_row: int, sign: int) -> None:
    rows = counts.setdefault(key, {})
    number = rows.get(node_row, 0) + sign
    if number:
        rows[node_row] = number
        return
    rows.pop(node_row, None)
    if not rows:
        del counts[key]
