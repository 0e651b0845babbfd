"""Nodes, and pods that were resized, as they were before an event: made again from what the columns keep of them.

The informers keep no objects, yet a hint may want to compare before and after. What is made here holds all that a
scheduler reads of such an object, except a node's images and conditions and a pod's annotations.

Used by the handlers of pods and nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bayplan.framework.pod_news import pod_of
from bayplan.model.meta import ObjectMeta
from bayplan.model.node import Node, NodeSpec, NodeStatus
from bayplan.model.pod import Container, Pod, PodSpec, ResourceRequirements

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayplan.cluster.nodes import NodeRecord, NodeTable
    from bayplan.cluster.podinfo import PodInfo


def resized_pod_of(info: PodInfo) -> Pod:
    """A pod where the spec does not say what the pod takes: one container stands for all that it took."""
    pod = pod_of(info)
    takes: dict[str, str | int | float] = {
        name: f"{amount}m" if name == "cpu" else str(amount)
        for name, amount in info.shape.placed.requests.items()
    }
    container = Container("all", resources=ResourceRequirements(requests=takes))
    spec: PodSpec = msgspec.structs.replace(
        pod.spec, containers=(container,), init_containers=(), resources=None, overhead={}
    )
    return msgspec.structs.replace(pod, spec=spec)


def node_of(record: NodeRecord, allocatable: Mapping[str, int], *, unschedulable: bool) -> Node:
    """The node that a record and its columns were made from."""
    return Node(
        metadata=ObjectMeta(
            name=record.name,
            uid=record.uid,
            labels=dict(record.labels),
            annotations=dict(record.annotations),
        ),
        spec=NodeSpec(unschedulable=unschedulable, taints=record.taints),
        status=NodeStatus(
            capacity=_quantities(record.capacity),
            allocatable=_quantities(allocatable),
            declared_features=tuple(sorted(record.features)),
        ),
    )


def allocatable_of(nodes: NodeTable, row: int) -> dict[str, int]:
    """What a node offers, by its columns; what it has none of is left out."""
    offered = {
        name: int(nodes.allocatable[number].data[row])
        for number, name in enumerate(nodes.resources)
    }
    offered["pods"] = int(nodes.max_pods.data[row])
    return {name: amount for name, amount in offered.items() if amount}


def _quantities(amounts: Mapping[str, int]) -> dict[str, str | int | float]:
    return {name: f"{amount}m" if name == "cpu" else amount for name, amount in amounts.items()}
