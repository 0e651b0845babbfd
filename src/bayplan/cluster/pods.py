"""The pod table: one row of numbers per placed pod.

Fed by ``cluster.Cluster``; read through the view, which makes a PodInfo of a row when a plugin asks for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.cluster.columns import Rows
from bayplan.cluster.pod_amounts import PodAmounts
from bayplan.cluster.podinfo import Kin, PodInfo, Shape

if TYPE_CHECKING:
    from bayplan.model.meta import OwnerReference

TERMINATING: Final = 1
#: Placed by us, not yet confirmed by the API server.
ASSUMED: Final = 2
#: A scheduler has asked for its eviction (DisruptionTarget).
DISRUPTED: Final = 4
NO_START: Final = np.nan


class PodTable:
    """Placed pods by row, and the rows on each node."""

    def __init__(self) -> None:
        self.rows = rows = Rows(256)
        #: ``namespace/name`` to row.
        self.row_of: dict[str, int] = {}
        self.node_row = rows.column(np.int32, -1)
        #: Id of the pod's kin, -1 for a free row.
        self.kin_id = rows.column(np.int32, -1)
        self.priority = rows.column(np.int32)
        self.flags = rows.column(np.uint8)
        self.started = rows.column(np.float64, NO_START)
        self.created = rows.column(np.float64)
        self.names: list[str] = []
        self.uids: list[str] = []
        self.versions: list[str] = []
        self.shapes: list[Shape | None] = []
        self.kins: list[Kin | None] = []
        self.owners: dict[int, OwnerReference] = {}
        #: What the pods take, in columns that are filled on demand.
        self.amounts = PodAmounts(rows, self.shapes)
        #: Node row to the pods on it, in order of arrival.
        self._on_node: list[list[int]] = []

    def __len__(self) -> int:
        return len(self.row_of)

    def add(self, pod: PodInfo, node_row: int, *, assumed: bool) -> int:
        """A row for a placed pod."""
        row = self.rows.take()
        if row == len(self.names):
            self.names.append("")
            self.uids.append("")
            self.versions.append("")
            self.shapes.append(None)
            self.kins.append(None)
        self.row_of[pod.key] = row
        self.node_row.data[row] = node_row
        self.kin_id.data[row] = pod.kin.id
        self.priority.data[row] = pod.shape.priority
        self.created.data[row] = pod.created
        self.names[row] = pod.name
        self.uids[row] = pod.uid
        self.shapes[row] = pod.shape
        self.kins[row] = pod.kin
        if pod.owner is not None:
            self.owners[row] = pod.owner
        self.describe(row, pod, assumed=assumed)
        while len(self._on_node) <= node_row:
            self._on_node.append([])
        self._on_node[node_row].append(row)
        return row

    def describe(self, row: int, pod: PodInfo, *, assumed: bool) -> None:
        """Take over what may change while a pod stays where it is and what it is."""
        self.versions[row] = pod.resource_version
        self.started.data[row] = NO_START if pod.started is None else pod.started
        self.flags.data[row] = (
            (TERMINATING if pod.terminating else 0)
            | (ASSUMED if assumed else 0)
            | (DISRUPTED if pod.disrupted else 0)
        )

    def remove(self, row: int) -> None:
        """Free a pod's row."""
        del self.row_of[self.key(row)]
        self._on_node[int(self.node_row.data[row])].remove(row)
        self.shapes[row] = self.kins[row] = None
        self.owners.pop(row, None)
        self.names[row] = self.uids[row] = self.versions[row] = ""
        self.rows.give_back(row)

    def key(self, row: int) -> str:
        """``namespace/name``."""
        kin = self.kins[row]
        assert kin is not None
        return f"{kin.namespace}/{self.names[row]}"

    def on_node(self, node_row: int) -> list[int]:
        """The pods of a node; the caller does not change the list."""
        return self._on_node[node_row] if node_row < len(self._on_node) else []

    def rearrange(self, node_row: int, keys: list[str]) -> None:
        """Bring the pods of a node into this order of arrival; it must be the pods that are there."""
        rows = [self.row_of[key] for key in keys]
        assert sorted(rows) == sorted(self._on_node[node_row])
        self._on_node[node_row][:] = rows

    def on_nodes(self, node_rows: list[int]) -> list[list[int]]:
        """The same for many nodes; a loop of its own, because a call per node takes longer than the rest."""
        on_node = self._on_node
        known = len(on_node)
        return [on_node[row] if row < known else [] for row in node_rows]

    def is_assumed(self, row: int) -> bool:
        """Whether the pod awaits confirmation."""
        return bool(self.flags.data[row] & ASSUMED)

    def info(self, row: int, node_name: str) -> PodInfo:
        """The pod of a row, as plugins read it (annotations are not kept for placed pods)."""
        kin, shape = self.kins[row], self.shapes[row]
        assert kin is not None
        assert shape is not None
        pod = PodInfo(self.names[row], kin, shape, uid=self.uids[row])
        flags = int(self.flags.data[row])
        started = float(self.started.data[row])
        pod.started = None if started != started else started
        pod.created = float(self.created.data[row])
        pod.terminating = bool(flags & TERMINATING)
        pod.disrupted = bool(flags & DISRUPTED)
        pod.node_name = node_name
        pod.resource_version = self.versions[row]
        pod.owner = self.owners.get(row)
        return pod
