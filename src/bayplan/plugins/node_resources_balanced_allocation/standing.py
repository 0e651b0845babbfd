"""How nodes are balanced as they stand, without the pod: the same for every pod, so it is kept.

A placement changes one node. Whoever asks for all nodes next gets what was known, with the few nodes brought up to date
that the cluster's journal names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.cluster.view import Nodes
from bayplan.plugins.node_resources_balanced_allocation.balance import (
    Floats,
    balance,
    balance_at,
    fractions_of,
)

if TYPE_CHECKING:
    from bayplan.cluster.tables import Tables

#: Sets of resources for which the balance is kept.
_KEPT: Final = 8
#: With more changed nodes than an eighth of all, starting afresh is cheaper.
_TOO_MANY: Final = 8
#: Up to so many nodes, plain numbers are faster than columns.
FEW: Final = 8


class _Known:
    """The balance of all nodes, as of a position in the journal."""

    __slots__ = ("balance", "position")

    def __init__(self, nodes: Nodes, numbers: tuple[int, ...]) -> None:
        self.balance = balance(fractions_of(nodes, numbers))
        self.position = nodes.cluster.journal.end

    def catch_up(self, nodes: Nodes, numbers: tuple[int, ...]) -> bool:
        """Redo the nodes that have changed; False where only a fresh start will do."""
        cluster = nodes.cluster
        if len(self.balance) != len(nodes):
            return False
        news = cluster.journal.since(self.position)
        if news is None:
            return False
        rows = set(news[0])
        if len(rows) > FEW + len(nodes) // _TOO_MANY:
            return False
        self.position = cluster.journal.end
        if len(rows) <= FEW:
            for row in rows:
                self.balance[row] = balance_at(nodes, numbers, row)
        else:
            changed = np.fromiter(rows, np.intp, len(rows))
            self.balance[changed] = balance(fractions_of(Nodes(cluster, changed), numbers))
        return True


class Standing:
    """The balance of a cluster's nodes, by the resources that are balanced."""

    def __init__(self) -> None:
        self._cluster: Tables | None = None
        self._known: dict[tuple[int, ...], _Known] = {}

    def __call__(self, nodes: Nodes, numbers: tuple[int, ...]) -> Floats:
        """The balance of these nodes as they stand; not to be changed or kept."""
        if not nodes.full:
            # A what-if has usage of its own, and a few nodes are not worth keeping.
            return balance(fractions_of(nodes, numbers))
        if nodes.cluster is not self._cluster:
            self._cluster = nodes.cluster
            self._known.clear()
        known = self._known.get(numbers)
        if known is None or not known.catch_up(nodes, numbers):
            if len(self._known) >= _KEPT:
                self._known.clear()
            known = self._known[numbers] = _Known(nodes, numbers)
        return known.balance
