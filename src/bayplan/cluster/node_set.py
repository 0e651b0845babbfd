"""A set of nodes as plugins get it: rows in columns, and the cluster around them.

Made by ``view`` and by the cycle; ``trial`` has the nodes of a what-if, ``thinned`` those without some of their pods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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

    def node(self, i: int) -> NodeInfo:
        """Node ``i`` as one object."""
        return NodeInfo(self, i)
