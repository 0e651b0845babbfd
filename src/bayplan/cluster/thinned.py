"""Many nodes of a what-if at once: pods of lower priority taken away, to be put back one per node at a time, and guests added.

Made by preemption for the nodes it considers; read by column filters like any other set of nodes. Sums are made over
columns: no pod becomes an object here unless a filter asks for the pods of a node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.accounts import PODS
from bayplan.cluster.placed import PlacedPods
from bayplan.cluster.podinfo import PodInfo
from bayplan.cluster.view import Nodes, Rows

if TYPE_CHECKING:
    from bayplan.cluster.guests import Guests
    from bayplan.cluster.tables import Tables

#: A row that holds more than this may have been saturated: its sum cannot be taken apart by subtracting.
_HUGE: Final = 1 << 62
#: No pod has a lower priority than this.
NOBODY: Final = -(1 << 31)
#: Keys of the two columns that are no resource.
_NONZERO_CPU: Final = -1
_NONZERO_MEMORY: Final = -2


def too_big(cluster: Tables, rows: Rows) -> NDArray[np.bool_]:
    """Rows whose sums are so big that plain addition and subtraction are not exact."""
    nodes = cluster.nodes
    big = np.zeros(len(rows), np.bool_)
    for column in (*nodes.requested, nodes.nonzero_cpu, nodes.nonzero_memory):
        big |= column.data[rows] > _HUGE
    return big


class LowerPods:
    """The pods on some nodes that may go, of lower priority as a rule: flat arrays, node by node in order of arrival."""

    __slots__ = ("counts", "owner", "pods", "rows", "starts")

    def __init__(
        self,
        cluster: Tables,
        rows: Rows,
        below: int = NOBODY,
        chosen: Callable[[NDArray[np.intp]], NDArray[np.bool_]] | None = None,
    ) -> None:
        """Those of a priority ``below``, or those that ``chosen`` picks among rows of the pod table."""
        self.rows = rows
        table = cluster.pods
        on_node = table.on_nodes(rows.tolist())
        sizes = np.fromiter(map(len, on_node), np.intp, len(on_node))
        everybody = np.fromiter(chain.from_iterable(on_node), np.intp, int(sizes.sum()))
        owner = np.repeat(np.arange(len(rows), dtype=np.intp), sizes)
        lower = chosen(everybody) if chosen is not None else table.priority.data[everybody] < below
        #: Their rows in the pod table.
        self.pods: NDArray[np.intp] = everybody[lower]
        #: The position of each one's node in ``rows``.
        self.owner: NDArray[np.intp] = owner[lower]
        #: How many there are per node, and where each node's begin.
        self.counts: NDArray[np.intp] = np.bincount(self.owner, minlength=len(rows))
        self.starts: NDArray[np.intp] = np.cumsum(self.counts) - self.counts


class ThinnedNodes(Nodes):
    """Nodes without their pods of lower priority, and perhaps with guests.

    What it shows of ``too_big`` rows, and of guests that are not plain, is wrong.
    """

    __slots__ = (
        "_amounts",
        "_guests",
        "_live",
        "_members",
        "_pod_count",
        "_ports",
        "absent",
        "lower",
    )

    def __init__(self, cluster: Tables, lower: LowerPods, guests: Guests | None = None) -> None:
        super().__init__(cluster, lower.rows)
        self.lower = lower
        self._guests = guests
        #: Whether each of the lower pods is away.
        self.absent: NDArray[np.bool_] = np.ones(len(lower.pods), np.bool_)
        self._amounts = cluster.pods.amounts
        self._amounts.learn(lower.pods, cluster.nodes.resource_id)
        self._pod_count = cluster.nodes.pod_count.data[lower.rows] - lower.counts
        if guests is not None:
            self._pod_count += guests.counts
        #: The columns that somebody has read, by resource id: made on first reading, kept up to date from then on.
        self._live: dict[int, NDArray[np.int64]] = {}
        #: Which of the lower pods are of namespaces that somebody has asked about.
        self._members: dict[tuple[frozenset[str], frozenset[str]], NDArray[np.bool_]] = {}
        #: By protocol and number, for ports that somebody has asked about: node to the addresses that hold it.
        self._ports: dict[tuple[str, int], dict[int, set[str]]] = {}

    # --- moving pods ---------------------------------------------------------------------------------------------------

    def put_back(self, which: NDArray[np.intp]) -> None:
        """Suppose that some of the lower pods (by position; at most one per node) are there again."""
        self._move(which, +1)

    def take_away(self, which: NDArray[np.intp]) -> None:
        """Suppose that some of the lower pods (by position; at most one per node) are gone again."""
        self._move(which, -1)

    def _move(self, which: NDArray[np.intp], sign: int) -> None:
        nodes, pods = self.lower.owner[which], self.lower.pods[which]
        self.absent[which] = sign < 0
        self._pod_count[nodes] += sign
        for key, column in self._live.items():
            amounts = self._pods_take(key)
            if amounts is not None:
                column[nodes] += sign * amounts[pods]
        for asked, held in self._ports.items():
            for i, ip in self._ports_of(which, asked):
                if sign > 0:
                    held.setdefault(i, set()).add(ip)
                else:
                    held[i].discard(ip)

    def _pods_take(self, key: int) -> NDArray[np.int64] | None:
        """What each placed pod takes of a column; None where nobody was seen to take any."""
        if key == _NONZERO_CPU:
            return self._amounts.nonzero_cpu.data
        if key == _NONZERO_MEMORY:
            return self._amounts.nonzero_memory.data
        column = self._amounts.requests.get(key)
        return None if column is None else column.data

    @property
    def pod_count(self) -> NDArray[np.int64]:
        """As of the trial."""
        return self._pod_count

    def moved(
        self, resource: str, namespaces: frozenset[str], besides: frozenset[str] = frozenset()
    ) -> NDArray[np.int64]:
        """For each node what its absent pods took: each is a what-if of its own. Guests are promised room."""
        members = self._members.get((namespaces, besides))
        if members is None:
            pods = PlacedPods(self.cluster, self.lower.pods)
            members = pods.by_namespace(namespaces.__contains__)
            if besides:
                row_of = self.cluster.pods.row_of
                left_out = [row_of[key] for key in besides if key in row_of]
                members &= ~np.isin(self.lower.pods, left_out)
            self._members[namespaces, besides] = members
        gone = self.absent & members
        total = np.zeros(len(self), np.int64)
        if resource == PODS:
            np.subtract.at(total, self.lower.owner, gone.astype(np.int64))
        else:
            amounts = self._pods_take(self._id(resource))
            if amounts is not None:
                np.subtract.at(total, self.lower.owner, np.where(gone, amounts[self.lower.pods], 0))
        return total

    # --- columns -------------------------------------------------------------------------------------------------------

    def _column(self, key: int, base: NDArray[np.int64]) -> NDArray[np.int64]:
        column = self._live.get(key)
        if column is None:
            column = self._live[key] = base[self.lower.rows]
            amounts = self._pods_take(key)
            if amounts is not None:
                gone = np.where(self.absent, amounts[self.lower.pods], 0)
                np.subtract.at(column, self.lower.owner, gone)
            if self._guests is not None:
                column += self._guests_take(self._guests, key)
        return column

    def _guests_take(self, guests: Guests, key: int) -> NDArray[np.int64]:
        if key == _NONZERO_CPU:
            return guests.nonzero_cpu()
        if key == _NONZERO_MEMORY:
            return guests.nonzero_memory()
        return guests.requested(self.resources[key])

    def requested(self, resource: str | int) -> NDArray[np.int64]:
        """What the pods of the trial ask for."""
        number = self._id(resource)
        return self._column(number, self.cluster.nodes.requested[number].data)

    @property
    def nonzero_cpu(self) -> NDArray[np.int64]:
        """As of the trial."""
        return self._column(_NONZERO_CPU, self.cluster.nodes.nonzero_cpu.data)

    @property
    def nonzero_memory(self) -> NDArray[np.int64]:
        """As of the trial."""
        return self._column(_NONZERO_MEMORY, self.cluster.nodes.nonzero_memory.data)

    # --- pods ----------------------------------------------------------------------------------------------------------

    def _there(self, i: int) -> list[int]:
        """Rows in the pod table of the pods that are on node ``i`` now."""
        lower = self.lower
        mine = slice(lower.starts[i], lower.starts[i] + lower.counts[i])
        gone = set(lower.pods[mine][self.absent[mine]].tolist())
        return [row for row in self.cluster.pods.on_node(self.row(i)) if row not in gone]

    def pods_on(self, i: int) -> list[PodInfo]:
        """The pods on node ``i``, as of the trial."""
        name = self.name(i)
        there = [self.cluster.pods.info(row, name) for row in self._there(i)]
        return there if self._guests is None else [*there, *self._guests.on(i)]

    def port_holders(self, protocol: str, port: int) -> Iterable[tuple[int, str]]:
        """``(i, ip)`` for each node of the trial on which a pod holds this host port."""
        held = self._ports.get((protocol, port))
        if held is None:
            held = self._ports[protocol, port] = self._held(protocol, port)
        return [(i, ip) for i, ips in held.items() for ip in ips]

    def _held(self, protocol: str, port: int) -> dict[int, set[str]]:
        """By which addresses each node holds a port, to be asked before any pod is put back.

        As in Kubernetes a port is held or not, however many pods hold it: it is free once one of them is gone.
        """
        rows = self.cluster.ports.holders(protocol, port)
        held = {i: set(rows[row]) for i, row in enumerate(self.rows.tolist()) if row in rows}
        if held:
            for i, ip in self._ports_of(np.arange(len(self.absent)), (protocol, port)):
                if i in held:
                    held[i].discard(ip)
        return held

    def _ports_of(
        self, which: NDArray[np.intp], asked: tuple[str, int]
    ) -> Iterable[tuple[int, str]]:
        """Node and address of each of some lower pods that holds a port."""
        holding = which[self._amounts.ports.data[self.lower.pods[which]]]
        shapes = self.cluster.pods.shapes
        nodes, pods = self.lower.owner[holding].tolist(), self.lower.pods[holding].tolist()
        for i, pod in zip(nodes, pods, strict=True):
            shape = shapes[pod]
            assert shape is not None
            for ip, protocol, port in shape.host_ports:
                if (protocol, port) == asked:
                    yield i, ip
