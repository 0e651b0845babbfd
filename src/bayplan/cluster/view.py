"""Reading the cluster: what plugins and the cycle see of the tables.

``ClusterView`` is the whole cluster; ``Nodes`` is a set of rows in columns: all of them, or the few that are judged
again. ``TrialNodes`` are rows of a what-if.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from bayplan.cluster.changes import Reads
from bayplan.cluster.devices import Share
from bayplan.cluster.node_rows import Rows
from bayplan.cluster.node_set import Nodes
from bayplan.cluster.nodeinfo import REGION, ZONE, NodeInfo
from bayplan.cluster.podinfo import PodInfo
from bayplan.cluster.trial import TrialNodes

if TYPE_CHECKING:
    from bayplan.cluster.accounts import Account, KeyOf
    from bayplan.cluster.quotas import Quotas
    from bayplan.cluster.tables import Tables
    from bayplan.model.node import Taint
    from bayplan.model.policy import PriorityClass


class ClusterView:
    """The whole cluster, read-only: nodes, pods, namespaces, storage, counts, outside data."""

    __slots__ = ("cluster", "nodes")

    def __init__(self, cluster: Tables) -> None:
        self.cluster = cluster
        #: All rows. ``len`` counts rows, ``node_count`` counts nodes.
        self.nodes = Nodes(cluster)

    @property
    def node_count(self) -> int:
        """Nodes that pods can be placed on, fit or not."""
        return self.cluster.nodes.alive_count

    def versions(self, reads: Reads) -> tuple[int, ...]:
        """One number per cluster-wide topic; equal numbers mean nothing has changed."""
        return self.cluster.journal.versions(reads)

    def rows(self, rows: Rows) -> Nodes:
        """The columns of some rows."""
        return Nodes(self.cluster, rows)

    def trial(self, rows: Rows) -> TrialNodes:
        """Some rows to try things on."""
        return TrialNodes(self.cluster, rows)

    def row_of(self, node: str) -> int | None:
        """The row of a node that exists."""
        nodes = self.cluster.nodes
        row = nodes.row_of.get(node)
        return row if row is not None and nodes.alive.data[row] else None

    def node(self, name: str) -> NodeInfo | None:
        """A node by name."""
        row = self.row_of(name)
        return None if row is None else self.nodes.node(row)

    def label_value(self, key: str, value: str) -> int:
        """The id by which ``Nodes.label(key)`` shows ``value``, -1 where no node has it."""
        return self.cluster.nodes.labels.value_id(key, value)

    def label_values(self, key: str) -> list[str]:
        """All values of a label by id."""
        return self.cluster.nodes.labels.values(key)

    @property
    def taint_sets(self) -> list[tuple[Taint, ...]]:
        """All sets of taints by id."""
        return self.cluster.nodes.taint_sets.values

    # --- indexes that a custom scheduler asks for
    def nodes_with(self, resource: str, at_least: int) -> list[NodeInfo]:
        """Nodes with at least so much of a resource free (CPU in milli-units)."""
        fits = (self.nodes.free(resource) >= at_least) & self.nodes.alive
        return [self.nodes.node(int(row)) for row in np.flatnonzero(fits)]

    def in_zone(self, zone: str) -> list[NodeInfo]:
        """Nodes whose zone label is ``zone``."""
        return self._labelled(ZONE, zone)

    def in_region(self, region: str) -> list[NodeInfo]:
        """Nodes whose region label is ``region``."""
        return self._labelled(REGION, region)

    def _labelled(self, key: str, value: str) -> list[NodeInfo]:
        number = self.label_value(key, value)
        if number < 0:
            return []
        return [
            self.nodes.node(int(row))
            for row in np.flatnonzero((self.nodes.label(key) == number) & self.nodes.alive)
        ]

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        """The labels of a namespace, none where it is unknown."""
        return self.cluster.namespaces.labels(namespace)

    def requested_by_namespace(self, resource: str) -> dict[str, int]:
        """How much of a resource the placed pods of each namespace have asked for."""
        pods, number = self.cluster.pods, self.cluster.nodes.resource_id(resource)
        rows = np.flatnonzero(pods.kin_id.seen >= 0)
        pods.amounts.learn(rows, self.cluster.nodes.resource_id)
        amounts = pods.amounts.requests.get(number)
        totals: dict[str, int] = {}
        if amounts is None:
            return totals
        kin_ids, examples, kin_of = np.unique(
            pods.kin_id.seen[rows], return_index=True, return_inverse=True
        )
        sums = np.zeros(len(kin_ids), np.int64)
        np.add.at(sums, kin_of, amounts.seen[rows])
        for total, row in zip(sums.tolist(), rows[examples].tolist(), strict=True):
            kin = pods.kins[row]
            assert kin is not None
            totals[kin.namespace] = totals.get(kin.namespace, 0) + total
        return totals

    # --- quotas and shares
    @property
    def quotas(self) -> Quotas:
        """Elastic quotas, and what their namespaces use; watched where a plugin asks for them (``Plugin.watches``)."""
        return self.cluster.quotas

    def account(self, name: str, key_of: KeyOf) -> Account:
        """What placed pods take together, by the key that ``key_of`` gives each; kept up to date from now on.

        Pods that are assumed are counted. Of a pod that is placed already when the account is opened the annotations are
        not known: open it in ``setup``. An account that was opened under this name before is returned as it is.
        """
        return self.cluster.accounts.open(name, key_of)

    def capacity(self) -> Mapping[str, int]:
        """What all nodes offer together, by resource."""
        return self.cluster.nodes.capacity()

    def priority_class(self, name: str) -> PriorityClass | None:
        """A PriorityClass by name; watched where a plugin asks for them (``Plugin.watches``)."""
        return self.cluster.priority_classes.get(name)

    def promised(self) -> list[tuple[PodInfo, str]]:
        """Pending pods to which a node is promised, and the node."""
        return self.cluster.nominations.all()

    def promised_to(self, pod: PodInfo) -> str:
        """The node that is promised to a pending pod, or an empty string."""
        return self.cluster.nominations.node_of(pod.key)

    def claimed_by(self, pod: PodInfo) -> frozenset[str]:
        """Pods, by ``namespace/name``, whose eviction makes the room that is promised to a pending one; some may have left."""
        return self.cluster.nominations.claimed_by(pod.key)

    def gpu_sharers(self) -> Iterator[tuple[int, int, Share]]:
        """CPU, memory and GPU share of each placed pod that shares GPUs."""
        pods = self.cluster.pods
        for key, held in self.cluster.nodes.devices.held.items():
            shape = pods.shapes[pods.row_of[key]]
            assert shape is not None
            requests = shape.requests
            share = Share(len(held.devices), held.milli)
            yield requests.get("cpu", 0), requests.get("memory", 0), share

    # --- pods
    def pod(self, namespace: str, name: str) -> PodInfo | None:
        """A placed pod by name."""
        cluster = self.cluster
        row = cluster.pods.row_of.get(f"{namespace}/{name}")
        if row is None:
            return None
        return cluster.pods.info(row, cluster.nodes.names[int(cluster.pods.node_row.data[row])])


__all__ = ["ClusterView", "Nodes", "Rows", "TrialNodes"]
