"""Values by row that follow from values by topology domain, kept from one attempt to the next.

After a placement most domains are as they were: only the rows of the others are looked up again. Used by plugins that
judge or score all nodes by their domains.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.node_set import Nodes

if TYPE_CHECKING:
    from bayplan.cluster.counts import Counts

D = TypeVar("D", bound=np.generic)

#: A topology key, and a value for each of its domains; the last entry is for rows without the label.
Table = tuple[str, NDArray[Any]]
#: Rows by number; none of them means that all have to be looked up.
Rows = NDArray[np.intp]

#: Domains that are repainted one by one; with more changed ones all rows are.
FEW: Final = 64
NO_ROWS: Final[Rows] = np.zeros(0, np.intp)


class Painting(Generic[D]):
    """The values of all rows, and the tables that they were looked up in."""

    __slots__ = ("_stamp", "_tables", "values")

    def __init__(self) -> None:
        self.values: NDArray[D] | None = None
        self._tables: Sequence[Table] = ()
        self._stamp: Hashable = None

    def paint(
        self,
        nodes: Nodes,
        tables: Sequence[Table],
        look_up: Callable[[Sequence[Table], Nodes], NDArray[D]],
        stamp: Hashable = None,
        others: Rows | None = NO_ROWS,
    ) -> NDArray[D]:
        """What ``look_up`` says of these nodes; only of all nodes it is remembered.

        It has to depend on nothing but the tables and ``stamp``, save on ``others``: rows that changed for another
        reason (None: any may have). The array is the same as the last time if nothing changed, and a new one otherwise.
        """
        if not nodes.full:
            return look_up(tables, nodes)
        counts = nodes.cluster.counts
        stamp = (counts.topology, stamp)
        rows = None
        if self.values is not None and stamp == self._stamp and others is not None:
            rows = _changed(counts, self._tables, tables)
        self._tables, self._stamp = tables, stamp
        if rows is None or self.values is None:
            self.values = look_up(tables, nodes)
            return self.values
        if others is not None and len(others):
            rows = np.concatenate((rows, others))
        if len(rows):
            self.values = self.values.copy()
            self.values[rows] = look_up(tables, Nodes(nodes.cluster, rows))
        return self.values


def _changed(counts: Counts, before: Sequence[Table], now: Sequence[Table]) -> Rows | None:
    """The rows that find another value than before; None where it is better to look at all."""
    if len(before) != len(now):
        return None
    found = []
    for (old_key, old), (key, new) in zip(before, now, strict=True):
        if key != old_key or len(old) != len(new):
            return None
        different = old != new
        if not np.count_nonzero(different):
            continue
        changed = np.flatnonzero(different)
        # Rows without the label are not listed by domain.
        if len(changed) > FEW or changed[-1] == len(new) - 1:
            return None
        found.append(counts.domains(key).rows_in(changed))
    if not found:
        return NO_ROWS
    return np.concatenate(found) if len(found) > 1 else found[0]
