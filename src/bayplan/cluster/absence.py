"""Placed pods that are supposed to be gone, in the columns themselves, and brought back exactly as they were.

For what-ifs in which many pods are placed one after the other while many others are away: preemption by a gang. As nobody
else writes, the columns can be changed for as long as nothing waits, if all is put back: every count goes down and up by the
same steps, and what counts do not say (the order of arrival on a node, which shared devices a pod has) is kept here.

Made by ``cycle.gang_preempt``; ``end`` leaves the cluster as it was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayplan.cluster.cluster import Cluster
    from bayplan.cluster.devices import Held
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.model.pod_group import GroupKey


@dataclass(frozen=True, slots=True)
class _Away:
    """A pod that is supposed to be gone."""

    pod: PodInfo
    assumed: bool
    devices: Held | None
    #: Of each account that is open.
    accounts: tuple[tuple[bool, str | None], ...]


class Absence:
    """Some pods away."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._away: dict[str, _Away] = {}
        #: Nodes to the pods on them in the order of their arrival, as found.
        self._arrivals: dict[str, list[str]] = {}
        #: Groups of pods that left, with what their counts would forget.
        self._groups: dict[GroupKey, tuple[bool, int]] = {}

    def __len__(self) -> int:
        return len(self._away)

    def __iter__(self) -> Iterator[PodInfo]:
        """The pods that are away, as they were, in the order of their leaving."""
        return (away.pod for away in self._away.values())

    def __contains__(self, key: object) -> bool:
        return key in self._away

    def leave(self, keys: Iterable[str]) -> None:
        """Suppose that these placed pods are gone."""
        cluster = self._cluster
        pods, nodes = cluster.pods, cluster.nodes
        for key in keys:
            row = pods.row_of[key]
            node_row = int(pods.node_row.data[row])
            node = nodes.names[node_row]
            if node not in self._arrivals:
                self._arrivals[node] = [pods.key(other) for other in pods.on_node(node_row)]
            pod = pods.info(row, node)
            if pod.group is not None and pod.group not in self._groups:
                self._groups[pod.group] = cluster.gangs.memory(pod.group)
            accounts = tuple(account.memory(key) for account in cluster.accounts.opened)
            self._away[key] = _Away(
                pod, pods.is_assumed(row), nodes.devices.held.get(key), accounts
            )
            cluster.displace(row)

    def come_back(self, keys: Iterable[str]) -> None:
        """They are there again."""
        cluster = self._cluster
        for key in keys:
            away = self._away.pop(key)
            for account, memory in zip(cluster.accounts.opened, away.accounts, strict=True):
                account.remember(key, memory)
            cluster.replace(away.pod, assumed=away.assumed, devices=away.devices)

    def end(self) -> None:
        """All are there again, and everything is as it was found; whoever was placed meanwhile has to be gone before."""
        self.come_back(reversed(list(self._away)))
        pods, nodes = self._cluster.pods, self._cluster.nodes
        for node, keys in self._arrivals.items():
            row = nodes.row_of[node]
            there = {pods.key(pod) for pod in pods.on_node(row)}
            # Whoever was placed in the what-if itself was among them, and is gone.
            pods.rearrange(row, [key for key in keys if key in there])
        for group, memory in self._groups.items():
            self._cluster.gangs.remember(group, memory)
