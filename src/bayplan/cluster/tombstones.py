"""What is known of pods that have no row, so that late or repeated events do not bring back what is over.

Kept by the cluster; bounded, since a watch delivers events of one pod in order and only a little lateness is possible.
A pod without a uid cannot be told from its successor, and nothing is noted of it.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

#: So many pods of each sort are remembered.
KEEP: Final = 4096


class Tombstones:
    """Pods that were deleted, and the newest version seen of those that are pending or finished."""

    def __init__(self) -> None:
        self._deleted: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._versions: OrderedDict[tuple[str, str], int] = OrderedDict()

    def add(self, key: str, uid: str) -> None:
        """Note a deletion."""
        if not uid:
            return
        self._deleted[key, uid] = None
        self._versions.pop((key, uid), None)
        if len(self._deleted) > KEEP:
            self._deleted.popitem(last=False)

    def saw(self, key: str, uid: str, version: str) -> None:
        """Note the version of a pod that is pending or finished."""
        if not uid or not version.isdigit():
            return
        self._versions[key, uid] = int(version)
        self._versions.move_to_end((key, uid))
        if len(self._versions) > KEEP:
            self._versions.popitem(last=False)

    def holds(self, key: str, uid: str, version: str = "") -> bool:
        """Whether exactly this pod was deleted, or a later version of it was seen."""
        if (key, uid) in self._deleted:
            return True
        seen = self._versions.get((key, uid))
        return seen is not None and version.isdigit() and int(version) < seen
