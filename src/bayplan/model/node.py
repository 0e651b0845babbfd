"""Nodes: what they offer, and whom they keep away.

Fed by ``decode``; read by the cluster, which turns them into columns.
"""

import msgspec

from bayplan.model.meta import Condition, Int64, KubeObject, Record, Time
from bayplan.model.quantity import ResourceList


class Taint(Record, frozen=True):
    """Keeps pods away that do not tolerate it."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: Time | None = None

    def __str__(self) -> str:
        """``key=value:effect``, each part only where there is one."""
        if not self.effect:
            return f"{self.key}={self.value}:" if self.value else self.key
        return (
            f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"
        )


class ContainerImage(Record, frozen=True):
    """An image on the node's disk, under all its names."""

    names: tuple[str, ...] = ()
    size_bytes: Int64 = 0


class NodeSystemInfo(Record, frozen=True):
    """What the node runs."""

    architecture: str = ""
    operating_system: str = ""
    kernel_version: str = ""
    os_image: str = ""
    container_runtime_version: str = ""
    kubelet_version: str = ""


class NodeSpec(Record, frozen=True):
    """What people and controllers decided about the node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    provider_id: str = msgspec.field(default="", name="providerID")
    pod_cidr: str = msgspec.field(default="", name="podCIDR")


class NodeStatus(Record, frozen=True):
    """What the kubelet reports."""

    capacity: ResourceList = msgspec.field(default_factory=dict)
    allocatable: ResourceList = msgspec.field(default_factory=dict)
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    node_info: NodeSystemInfo = NodeSystemInfo()
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(KubeObject, frozen=True):
    """A node."""

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    def condition(self, kind: str) -> Condition | None:
        for condition in self.status.conditions:
            if condition.type == kind:
                return condition
        return None
