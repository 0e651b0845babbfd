"""What promises have come to for one class of pods, kept from attempt to attempt.

Held by ``evaluation``, kept true by ``promised``. It is for filters that look at a node's own row alone: what they say of a
promised row holds until the row changes, its promises change, or a plugin's view of the whole cluster does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayplan.cluster.journal import Journal
    from bayplan.cluster.promised_rows import PromisedRows
    from bayplan.framework.status import Rejected


class KnownPromises:
    """Which promised rows turn the class down, and as of when."""

    __slots__ = ("_position", "_restated", "_seen", "_source", "alone", "turned_down")

    def __init__(self) -> None:
        self._source: PromisedRows | None = None
        #: How far its list of changes, and the cluster's journal, have been read.
        self._seen = 0
        self._position = 0
        self._restated = 0
        #: Rows that do not pass with the promised pods counted in, and why.
        self.turned_down: dict[int, Rejected] = {}
        #: Rows that columns cannot show: they are judged one by one, each time.
        self.alone: set[int] = set()

    def outdated(self, source: PromisedRows, journal: Journal, restated: int) -> set[int]:
        """The rows that have to be judged again; what was known of them is forgotten.

        ``restated`` counts how often a plugin's view of the whole cluster has changed.
        """
        news = journal.since(self._position)
        if source is not self._source or news is None or restated != self._restated:
            self.turned_down, self.alone = {}, set()
            rows = set(source.by_row)
        else:
            changed = {*source.changed[self._seen :], *news[0]}
            for row in changed:
                self.turned_down.pop(row, None)
            self.alone -= changed
            rows = changed & source.by_row.keys()
        self._source, self._seen = source, len(source.changed)
        self._position, self._restated = journal.end, restated
        return rows

    def learn(self, turned_down: Mapping[int, Rejected], alone: set[int]) -> None:
        """Take in what the outdated rows came to."""
        self.turned_down.update(turned_down)
        self.alone |= alone

    def forget(self) -> None:
        """Begin afresh: something went wrong half way."""
        self._source = None
