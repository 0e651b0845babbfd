"""The recount: everything the cluster keeps by increments, computed from scratch and compared.

Run after every test that changes a cluster, by SIGUSR2 in a running scheduler, and after whatever smells of corruption.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from bayplan.cluster import recount
from bayplan.cluster.ports import PortTable
from bayplan.errors import AuditError

if TYPE_CHECKING:
    from bayplan.cluster.cluster import Cluster
    from bayplan.cluster.podinfo import PodInfo


def audit(cluster: Cluster) -> list[str]:
    """One line for each difference between what is kept and what a recount gives."""
    return [line for stage in stages(cluster) for line in stage]


def stages(cluster: Cluster, sample: recount.Sample | None = None) -> Iterator[list[str]]:
    """The same in pieces, between which a cluster at work may change; of what costs most a sample, if one is given."""
    yield _rows(cluster)
    yield _facts(cluster)
    yield _usage(cluster)
    yield _ports(cluster)
    yield _devices(cluster)
    yield from recount.stages(
        cluster.counts, cluster.nodes, cluster.pods, cluster.namespaces, sample
    )
    yield cluster.storage.audit(_placed(cluster))
    yield [line for account in cluster.accounts.opened for line in account.audit()]
    yield _gangs(cluster)


def _placed(cluster: Cluster) -> Iterator[tuple[PodInfo, int]]:
    """Placed pods and the rows of their nodes."""
    for row in cluster.pods.row_of.values():
        node_row = int(cluster.pods.node_row.data[row])
        yield cluster.pods.info(row, cluster.nodes.names[node_row]), node_row


def _gangs(cluster: Cluster) -> list[str]:
    pods = cluster.pods
    return cluster.gangs.audit(
        (pod, pods.is_assumed(pods.row_of[pod.key])) for pod, _ in _placed(cluster)
    )


def check(cluster: Cluster) -> None:
    """Raise AuditError where the recount differs."""
    differences = audit(cluster)
    if differences:
        raise AuditError("\n".join(differences))


def _rows(cluster: Cluster) -> list[str]:
    nodes, pods = cluster.nodes, cluster.pods
    wrong = []
    for name, row in nodes.row_of.items():
        if nodes.names[row] != name:
            wrong.append(f"row {row} is named {nodes.names[row]!r}, the index says {name!r}")
        if bool(nodes.alive.data[row]) != (nodes.records[row] is not None):
            wrong.append(f"node {name}: alive is {bool(nodes.alive.data[row])}")
    if nodes.alive_count != int(nodes.alive.data[: nodes.rows.used].sum()):
        wrong.append(f"{nodes.alive_count} nodes are said to be alive")
    for key, row in pods.row_of.items():
        if pods.key(row) != key:
            wrong.append(f"pod row {row} holds {pods.key(row)}, the index says {key}")
        if row not in pods.on_node(int(pods.node_row.data[row])):
            wrong.append(f"pod {key} is missing from the list of its node")
    listed = sum(len(pods.on_node(row)) for row in range(nodes.rows.used))
    if listed != len(pods):
        wrong.append(f"{listed} pods are listed on nodes, {len(pods)} are known")
    return wrong


def _facts(cluster: Cluster) -> list[str]:
    """What columns say of nodes, against what is kept of the Node objects."""
    nodes = cluster.nodes
    wrong = []
    for name, row in nodes.row_of.items():
        record = nodes.records[row]
        labels = record.labels if record is not None else {}
        taints = record.taints if record is not None else ()
        if nodes.taint_sets.values[int(nodes.taint_set.data[row])] != taints:
            wrong.append(f"node {name}: the column of taints does not say {taints}")
        for key in nodes.labels.keys():  # noqa: SIM118 - no dict
            number = int(nodes.labels.column(key)[row])
            said = nodes.labels.values(key)[number] if number >= 0 else None
            if said != labels.get(key):
                wrong.append(
                    f"node {name}: label {key} is {labels.get(key)!r}, the column says {said!r}"
                )
    return [*wrong, *nodes.images.audit()]


def _usage(cluster: Cluster) -> list[str]:
    nodes, pods = cluster.nodes, cluster.pods
    top = (1 << 63) - 1
    wrong = []
    for name, row in nodes.row_of.items():
        placed = [
            shape.placed for shape in (pods.shapes[pod] for pod in pods.on_node(row)) if shape
        ]
        sums: Counter[str] = Counter()
        for one in placed:
            sums.update(one.requests)
        for number, resource in enumerate(nodes.resources):
            kept = int(nodes.requested[number].data[row])
            if kept != min(sums[resource], top):
                wrong.append(
                    f"node {name}: requested {resource} is {kept}, counted {sums[resource]}"
                )
        for column, counted, what in (
            (nodes.nonzero_cpu, sum(p.nonzero_cpu for p in placed), "nonzero cpu"),
            (nodes.nonzero_memory, sum(p.nonzero_memory for p in placed), "nonzero memory"),
            (nodes.pod_count, len(placed), "pod count"),
        ):
            if int(column.data[row]) != min(counted, top):
                wrong.append(f"node {name}: {what} is {column.data[row]}, counted {counted}")
        if nodes.records[row] is None and np.any(
            [column.data[row] for column in nodes.allocatable]
        ):
            wrong.append(f"node {name} is gone and still offers resources")
    return wrong


def _devices(cluster: Cluster) -> list[str]:
    """Shared GPUs: each holder is where it is said to be, and what is taken is what they hold."""
    devices, pods = cluster.nodes.devices, cluster.pods
    taken: Counter[tuple[int, int]] = Counter()
    wrong = []
    for key, held in devices.held.items():
        row = pods.row_of.get(key)
        if row is None or int(pods.node_row.data[row]) != held.row:
            wrong.append(f"pod {key} holds GPUs of a node that it is not on")
        taken.update({(held.row, device): held.milli for device in held.devices})
    for device, column in enumerate(devices.taken):
        for row in range(cluster.nodes.rows.used):
            kept, counted = int(column.data[row]), taken[row, device]
            if kept != counted:
                node = cluster.nodes.names[row]
                wrong.append(f"node {node}: {kept} of GPU {device} is taken, counted {counted}")
    return wrong


def _ports(cluster: Cluster) -> list[str]:
    fresh = PortTable()
    for row in cluster.pods.row_of.values():
        shape = cluster.pods.shapes[row]
        if shape is not None:
            fresh.place(shape.host_ports, int(cluster.pods.node_row.data[row]), +1)
    if fresh.snapshot() == cluster.ports.snapshot():
        return []
    return [f"host ports are {cluster.ports.snapshot()}, counted {fresh.snapshot()}"]
