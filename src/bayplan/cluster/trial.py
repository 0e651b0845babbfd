"""Nodes of a what-if: pods come and go here without touching the cluster.

Preemption and promised room are judged on these. Made by ``view``; changed by the cycle's dry runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.accounts import PODS
from bayplan.cluster.node_rows import Rows
from bayplan.cluster.node_set import Nodes
from bayplan.cluster.nodes import INT64_MAX, add_saturating
from bayplan.cluster.podinfo import HostPort, PodInfo

if TYPE_CHECKING:
    from bayplan.cluster.tables import Tables

#: Beyond this nobody can tell by how much.
_HUGE: Final = 1 << 62


class TrialNodes(Nodes):
    """Rows with columns of their own.

    A single node's trial is what preemption and nominated pods are judged on; a trial of many rows serves batches.
    """

    __slots__ = (
        "_moves",
        "_nonzero_cpu",
        "_nonzero_memory",
        "_pod_count",
        "_pods",
        "_ports",
        "_requested",
    )

    def __init__(self, cluster: Tables, rows: Rows) -> None:
        super().__init__(cluster, rows)
        self._requested: dict[int, NDArray[np.int64]] = {}
        self._nonzero_cpu = super().nonzero_cpu.copy()
        self._nonzero_memory = super().nonzero_memory.copy()
        self._pod_count = super().pod_count.copy()
        #: By position: the pods there now, where it differs from the cluster.
        self._pods: dict[int, list[PodInfo]] = {}
        #: By key: pods that are there (+1) or gone (-1), unlike in the cluster.
        self._moves: dict[str, tuple[PodInfo, int]] = {}
        #: By position: the host ports held there now, once somebody has asked or changed them.
        self._ports: dict[int, set[HostPort]] = {}

    def requested(self, resource: str | int) -> NDArray[np.int64]:
        """What the pods of the trial ask for."""
        number = self._id(resource)
        column = self._requested.get(number)
        if column is None:
            column = self._requested[number] = super().requested(number).copy()
        return column

    @property
    def nonzero_cpu(self) -> NDArray[np.int64]:
        """As of the trial."""
        return self._nonzero_cpu

    @property
    def nonzero_memory(self) -> NDArray[np.int64]:
        """As of the trial."""
        return self._nonzero_memory

    @property
    def pod_count(self) -> NDArray[np.int64]:
        """As of the trial."""
        return self._pod_count

    def add_pod(self, i: int, pod: PodInfo) -> None:
        """Suppose that ``pod`` runs on node ``i`` too."""
        self._there(i).append(pod)
        if pod.shape.host_ports:
            self._ports_on(i).update(pod.shape.host_ports)
        self._use(i, pod, +1)

    def remove_pod(self, i: int, pod: PodInfo) -> None:
        """Suppose that ``pod`` no longer runs on node ``i``."""
        name, namespace = pod.name, pod.namespace
        self._pods[i] = [
            other for other in self._there(i) if other.name != name or other.namespace != namespace
        ]
        if pod.shape.host_ports:
            self._ports_on(i).difference_update(pod.shape.host_ports)
        self._use(i, pod, -1)

    def _there(self, i: int) -> list[PodInfo]:
        """The list of pods on node ``i``, to be changed."""
        pods = self._pods.get(i)
        if pods is None:
            pods = self._pods[i] = super().pods_on(i)
        return pods

    def fork(self) -> TrialNodes:
        """A copy to suppose something further on, leaving this one as it is."""
        fork = TrialNodes(self.cluster, self.rows)
        fork._requested = {number: column.copy() for number, column in self._requested.items()}
        fork._nonzero_cpu = self._nonzero_cpu.copy()
        fork._nonzero_memory = self._nonzero_memory.copy()
        fork._pod_count = self._pod_count.copy()
        fork._pods = {i: list(pods) for i, pods in self._pods.items()}
        fork._moves = self._moves.copy()
        fork._ports = {i: set(ports) for i, ports in self._ports.items()}
        return fork

    def _use(self, i: int, pod: PodInfo, sign: int) -> None:
        moved = self._moves.pop(pod.key, None)
        if moved is None or moved[1] == sign:
            self._moves[pod.key] = (pod, sign)
        placed = pod.shape.placed
        whole = True
        for name, amount in placed.requests.items():
            whole &= add_saturating(self.requested(name), i, sign * amount)
        whole &= add_saturating(self._nonzero_cpu, i, sign * placed.nonzero_cpu)
        whole &= add_saturating(self._nonzero_memory, i, sign * placed.nonzero_memory)
        self._pod_count[i] += sign
        if not whole:
            self._recount(i)

    def _recount(self, i: int) -> None:
        """Sum node ``i`` anew: a saturated sum cannot be taken apart by subtracting."""
        there = [other.shape.placed for other in self.pods_on(i)]
        for name in {name for placed in there for name in placed.requests}:
            self.requested(name)
        for number, column in self._requested.items():
            name = self.resources[number]
            column[i] = min(sum(placed.requests.get(name, 0) for placed in there), INT64_MAX)
        self._nonzero_cpu[i] = min(sum(placed.nonzero_cpu for placed in there), INT64_MAX)
        self._nonzero_memory[i] = min(sum(placed.nonzero_memory for placed in there), INT64_MAX)

    @property
    def supposed(self) -> Mapping[int, list[PodInfo]]:
        """By position: the pods of the nodes on which something was supposed; the others are as the cluster has them."""
        return self._pods

    def pods_on(self, i: int) -> list[PodInfo]:
        """The pods on node ``i``, as of the trial."""
        pods = self._pods.get(i)
        return super().pods_on(i) if pods is None else pods

    def _ports_on(self, i: int) -> set[HostPort]:
        """Host ports held on node ``i``, as of the trial.

        As in Kubernetes a port is held or not, however many pods hold it: it is free once one of them is gone.
        """
        ports = self._ports.get(i)
        if ports is None:
            there = super().pods_on(i)
            ports = self._ports[i] = {held for pod in there for held in pod.shape.host_ports}
        return ports

    def moved(
        self, resource: str, namespaces: frozenset[str], besides: frozenset[str] = frozenset()
    ) -> NDArray[np.int64]:
        """The same number for every node: all that was supposed, wherever."""
        total = 0
        for pod, sign in self._moves.values():
            if pod.namespace not in namespaces or pod.key in besides:
                continue
            if sign < 0 or not self._is_promised(pod):
                takes = 1 if resource == PODS else pod.shape.placed.requests.get(resource, 0)
                total += sign * takes
        return np.full(len(self), max(-_HUGE, min(total, _HUGE)), np.int64)

    def _is_promised(self, pod: PodInfo) -> bool:
        return bool(self.cluster.nominations.node_of(pod.key))

    def port_holders(self, protocol: str, port: int) -> Iterable[tuple[int, str]]:
        """``(i, ip)`` for each node of the trial on which a pod holds this host port."""
        return [
            (i, held.ip)
            for i in range(len(self))
            for held in self._ports_on(i)
            if (held.protocol, held.port) == (protocol, port)
        ]
