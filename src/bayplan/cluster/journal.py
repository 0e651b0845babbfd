"""What changed in which row, in order: the thread by which evaluations catch up.

Written by the cluster's tables; read by the evaluations of the cycle. Row-local changes are entries; a cluster-wide
topic is a version number.
"""

from __future__ import annotations

from bayplan.cluster.changes import CLUSTER_WIDE

#: Entries kept; an evaluation that fell further behind starts afresh.
KEEP = 1 << 16


class Journal:
    """An append-only list of (row, kinds), with absolute positions that survive trimming."""

    __slots__ = ("_base", "_versions", "kinds", "node_set", "rows")

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.kinds: list[int] = []
        self._base = 0
        self._versions: dict[int, int] = dict.fromkeys(_topics(CLUSTER_WIDE), 0)
        #: Changes when a row appears, disappears or stands for another node.
        self.node_set = 0

    @property
    def end(self) -> int:
        """The position after the newest entry."""
        return self._base + len(self.rows)

    def row_changed(self, row: int, kinds: int) -> None:
        """Note a change in one row; ``kinds`` are ``Reads`` flags."""
        self.rows.append(row)
        self.kinds.append(kinds)
        if len(self.rows) > 2 * KEEP:
            del self.rows[:KEEP], self.kinds[:KEEP]
            self._base += KEEP

    def topic_changed(self, topics: int) -> None:
        """Note a cluster-wide change."""
        for bit in _topics(topics):
            self._versions[bit] += 1

    def since(self, position: int) -> tuple[list[int], list[int]] | None:
        """Rows and kinds from ``position`` on, or None where they are no longer kept."""
        start = position - self._base
        if start < 0:
            return None
        return self.rows[start:], self.kinds[start:]

    def versions(self, reads: int) -> tuple[int, ...]:
        """One number per cluster-wide topic in ``reads``."""
        versions = self._versions
        return tuple([versions[bit] for bit in _topics(reads)])


#: Flags to their cluster-wide bits: taking flags apart is slow, and there are few combinations.
_TOPICS: dict[int, tuple[int, ...]] = {}


def _topics(flags: int) -> tuple[int, ...]:
    topics = _TOPICS.get(flags)
    if topics is None:
        wide = int(flags) & int(CLUSTER_WIDE)
        topics = _TOPICS[flags] = tuple(
            1 << i for i in range(CLUSTER_WIDE.bit_length()) if wide >> i & 1
        )
    return topics
