"""Pods that are known to be gone, so that a late or repeated event does not bring them back.

Kept by the cluster; bounded, since a watch delivers events of one pod in order and only a little lateness is possible.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

KEEP: Final = 4096


class Tombstones:
    """The uids last deleted."""

    def __init__(self) -> None:
        self._uids: OrderedDict[tuple[str, str], None] = OrderedDict()

    def add(self, key: str, uid: str) -> None:
        """Note a deletion; a pod without a uid cannot be told from its successor and is not noted."""
        if not uid:
            return
        self._uids[key, uid] = None
        if len(self._uids) > KEEP:
            self._uids.popitem(last=False)

    def holds(self, key: str, uid: str) -> bool:
        """Whether exactly this pod was deleted."""
        return (key, uid) in self._uids
