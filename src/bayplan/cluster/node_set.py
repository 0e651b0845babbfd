"""A set of nodes as plugins get it: rows in columns, and the cluster around them.

Made by ``view`` and by the cycle; ``trial`` has the nodes of a what-if, ``thinned`` those without some of their pods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.node_rows import NodeRows, Rows
from bayplan.cluster.nodeinfo import NodeInfo

if TYPE_CHECKING:
    from bayplan.cluster.tables import Tables


class Nodes(NodeRows):
    """Columns of some rows. Every array has one entry per node of this set; do not change or keep them."""

    __slots__ = ("cluster",)

    def __init__(self, cluster: Tables, rows: Rows | None = None) -> None:
        super().__init__(cluster.nodes, cluster.pods, cluster.ports, rows)
        self.cluster = cluster

    def moved(
        self, resource: str, namespaces: frozenset[str], besides: frozenset[str] = frozenset()
    ) -> NDArray[np.int64] | None:
        """What-if: by how much the pods of some namespaces take more of a resource than they really do, for each node.

        Everywhere in the cluster, if that node is the one on which pods are supposed gone or there. Pods that are promised
        room count as promised and not here. None where nothing is supposed. ``besides``: pods that do not count, by
        ``namespace/name``.
        """
        return None

    def node(self, i: int) -> NodeInfo:
        """Node ``i`` as one object."""
        return NodeInfo(self, i)
