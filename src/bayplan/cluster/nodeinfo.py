"""One node as a person's plugin reads it, noting what was read.

Handed by the runner to per-node plugins. Every attribute marks the columns behind it as read, so that the runner knows
which later changes make it ask again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from bayplan.cluster.changes import Reads
from bayplan.errors import DataMissing

if TYPE_CHECKING:
    from bayplan.cluster.node_rows import NodeRows
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.model.node import Taint

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"


class Amounts(Mapping[str, int]):
    """Resource name to amount on one node; a resource that the node has not got reads 0."""

    __slots__ = ("_column", "_i", "_names")

    def __init__(self, names: list[str], column: object, i: int) -> None:
        self._names = names
        self._column = column
        self._i = i

    def __getitem__(self, resource: str) -> int:
        return int(self._column(resource)[self._i])  # type: ignore[operator]

    def get(self, resource: str, default: int = 0) -> int:  # type: ignore[override]
        """The amount, 0 where the node has none."""
        return self[resource] or default

    def __contains__(self, resource: object) -> bool:
        return isinstance(resource, str) and self[resource] != 0

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._names if self[name])

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Usage:
    """Measured usage of one node; reading what nobody has measured raises DataMissing."""

    __slots__ = ("_node",)

    def __init__(self, node: NodeInfo) -> None:
        self._node = node

    def __getattr__(self, metric: str) -> float:
        return self._node.measured(metric)

    def __getitem__(self, metric: str) -> float:
        return self._node.measured(metric)

    # What providers usually supply; any other metric reads the same way.
    cpu: float
    memory: float
    network: float
    temperature: float
    power: float
    latency: float
    price: float


class NodeInfo:
    """One node: labels, taints, resources, pods, measured usage."""

    __slots__ = ("_i", "_nodes", "_reads")

    def __init__(self, nodes: NodeRows, i: int) -> None:
        self._nodes = nodes
        self._i = i
        self._reads = Reads.NOTHING

    @property
    def reads(self) -> Reads:
        """What has been read through this object so far."""
        return self._reads

    @property
    def row(self) -> int:
        """The node's row in the cluster's columns."""
        return int(self._nodes.rows[self._i])

    @property
    def name(self) -> str:
        """The node's name."""
        return self._nodes.name(self._i)

    @property
    def labels(self) -> Mapping[str, str]:
        """The node's labels."""
        self._reads |= Reads.LABELS
        return self._nodes.labels_of(self._i)

    @property
    def annotations(self) -> Mapping[str, str]:
        """The node's annotations."""
        self._reads |= Reads.ANNOTATIONS
        return self._nodes.annotations_of(self._i)

    @property
    def zone(self) -> str:
        """The zone label, or an empty string."""
        return self.labels.get(ZONE, "")

    @property
    def region(self) -> str:
        """The region label, or an empty string."""
        return self.labels.get(REGION, "")

    @property
    def taints(self) -> tuple[Taint, ...]:
        """The node's taints."""
        self._reads |= Reads.TAINTS
        return self._nodes.taints_of(self._i)

    @property
    def unschedulable(self) -> bool:
        """Whether the node is cordoned."""
        self._reads |= Reads.TAINTS
        return bool(self._nodes.unschedulable[self._i])

    @property
    def allocatable(self) -> Mapping[str, int]:
        """What the node offers; CPU in milli-units."""
        self._reads |= Reads.ALLOCATABLE
        return Amounts(self._nodes.resources, self._nodes.allocatable, self._i)

    @property
    def capacity(self) -> Mapping[str, int]:
        """What the node has in all, offered or not; CPU in milli-units."""
        self._reads |= Reads.ALLOCATABLE
        return self._nodes.capacity_of(self._i)

    @property
    def requested(self) -> Mapping[str, int]:
        """What the pods on the node have asked for."""
        self._reads |= Reads.USAGE
        return Amounts(self._nodes.resources, self._nodes.requested, self._i)

    @property
    def free(self) -> Mapping[str, int]:
        """Allocatable minus requested; negative on an overcommitted node."""
        self._reads |= Reads.USAGE | Reads.ALLOCATABLE
        return Amounts(self._nodes.resources, self._nodes.free, self._i)

    @property
    def device_free(self) -> list[int]:
        """What is left of each of the node's GPUs, in thousandths."""
        self._reads |= Reads.USAGE | Reads.ALLOCATABLE
        return self._nodes.device_free_of(self._i)

    @property
    def max_pods(self) -> int:
        """How many pods the node takes."""
        self._reads |= Reads.ALLOCATABLE
        return int(self._nodes.max_pods[self._i])

    @property
    def pod_count(self) -> int:
        """How many pods it has."""
        self._reads |= Reads.USAGE
        return int(self._nodes.pod_count[self._i])

    @property
    def pods(self) -> list[PodInfo]:
        """The pods on the node."""
        self._reads |= Reads.LOCAL_PODS
        return self._nodes.pods_on(self._i)

    @property
    def images(self) -> Mapping[str, int]:
        """Image name to size in bytes."""
        self._reads |= Reads.IMAGES
        return self._nodes.images_of(self._i)

    @property
    def features(self) -> frozenset[str]:
        """Features that the node declares."""
        self._reads |= Reads.FEATURES
        return self._nodes.features_of(self._i)

    @property
    def usage(self) -> Usage:
        """Measured usage: ``node.usage.cpu`` is a share of capacity between 0 and 1."""
        return Usage(self)

    def data(self, metric: str) -> float:
        """One measured value, NaN where nobody has said."""
        self._reads |= Reads.DATA
        return float(self._nodes.data(metric)[self._i])

    def measured(self, metric: str) -> float:
        """One measured value; DataMissing where nobody has said."""
        value = self.data(metric)
        if math.isnan(value):
            reason = f"no data for {metric!r}"
            raise DataMissing(f"node {self.name}: {reason}", reason)
        return value

    def __repr__(self) -> str:
        return f"NodeInfo({self.name})"
