"""Rows promised to pods of a priority or a higher one: what an attempt of a pod of that priority has to leave alone.

A thousand pods may have nodes promised to them while each of a thousand others is decided. So the rows are kept per
priority, and whoever has judged them needs to look only at those that have changed since (``changed``). Made from
``nominations``; read by the cycle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bayplan.cluster.journal import Journal
    from bayplan.cluster.nodes import NodeTable
    from bayplan.cluster.nominations import Nominations
    from bayplan.cluster.podinfo import PodInfo

#: Priorities for which rows are kept.
_PRIORITIES: Final = 16
#: With more changes than that it is begun afresh.
_LONGEST: Final = 4096


class PromisedRows:
    """For one priority, as long as rows stand for the same nodes."""

    __slots__ = (
        "_by_row",
        "_nodes",
        "_nominations",
        "_position",
        "_priority",
        "changed",
        "node_set",
    )

    def __init__(
        self, nominations: Nominations, nodes: NodeTable, node_set: int, priority: int
    ) -> None:
        self.node_set = node_set
        self._nominations = nominations
        self._nodes = nodes
        self._priority = priority
        self._position = nominations.version
        self._by_row: dict[int, list[PodInfo]] = {}
        #: Rows whose promises have changed, in order; one may be there several times.
        self.changed: list[int] = []
        for node in nominations.nodes():
            self._look_at(node)

    @property
    def by_row(self) -> Mapping[int, list[PodInfo]]:
        """The promised rows, and the pods that they are promised to."""
        return self._by_row

    def catch_up(self) -> bool:
        """Take in what has changed; False where too much has."""
        news = self._nominations.since(self._position)
        if news is None or len(self.changed) + len(news) > _LONGEST:
            return False
        for node in news:
            row = self._look_at(node)
            if row >= 0:
                self.changed.append(row)
        self._position = self._nominations.version
        return True

    def _look_at(self, node: str) -> int:
        row = self._nodes.row_of.get(node, -1)
        if row < 0 or not self._nodes.alive.data[row]:
            return -1
        pods = [pod for pod in self._nominations.on(node) if pod.priority >= self._priority]
        if pods:
            self._by_row[row] = pods
        else:
            self._by_row.pop(row, None)
        return row


class Promises:
    """Promised rows by priority."""

    def __init__(self, nominations: Nominations, nodes: NodeTable, journal: Journal) -> None:
        self._nominations = nominations
        self._nodes = nodes
        self._journal = journal
        self._kept: dict[int, PromisedRows] = {}

    def at_least(self, priority: int) -> PromisedRows:
        """What is promised to pods of this priority or a higher one, as of now."""
        node_set = self._journal.node_set
        kept = self._kept.get(priority)
        if kept is not None and kept.node_set == node_set and kept.catch_up():
            return kept
        if len(self._kept) >= _PRIORITIES:
            self._kept.clear()
        fresh = PromisedRows(self._nominations, self._nodes, node_set, priority)
        self._kept[priority] = fresh
        return fresh
