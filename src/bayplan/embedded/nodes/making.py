"""Node objects as a kubelet would register them: ready, untainted unless asked for, with addresses and labels.

Called by ``EmbeddedCluster`` when it starts. Nodes are numbered through all groups, which gives each its address.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bayplan.embedded.nodes.shape import Group, Shape
from bayplan.embedded.objects import Object, timestamp

KUBELET_VERSION: Final = "v1.36.4"
HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"

#: Condition, whether it holds, reason, message.
_CONDITIONS: Final = (
    (
        "MemoryPressure",
        "False",
        "KubeletHasSufficientMemory",
        "kubelet has sufficient memory available",
    ),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def make_nodes(shape: Shape, now_s: float) -> Iterator[Object]:
    """Every node of a cluster."""
    number = 0
    for group in shape.nodes:
        zones = group.zones or shape.zones
        width = len(str(group.count))
        for place in range(group.count):
            name = f"{group.name}-{place + 1:0{width}}"
            zone = zones[place % len(zones)] if zones else ""
            yield make_node(name, group, number, zone, now_s)
            number += 1


def make_node(name: str, group: Group, number: int, zone: str, now_s: float) -> Object:
    """One node."""
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        HOSTNAME: name,
    }
    if zone:
        labels |= {ZONE: zone, REGION: "simulated"}
    taints = [
        {"key": one.key, "effect": one.effect} | ({"value": one.value} if one.value else {})
        for one in group.taints
    ]
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": name, "labels": labels | group.labels},
        "spec": {"taints": taints} if taints else {},
        "status": _status(name, group, number, timestamp(now_s)),
    }


def address_of(number: int) -> str:
    """A node's address: 172.16.0.0/12 has room for a million."""
    return f"172.{16 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


def _status(name: str, group: Group, number: int, stamp: str) -> Object:
    amounts = group.amounts()
    conditions = [
        {
            "type": kind,
            "status": holds,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": stamp,
            "lastTransitionTime": stamp,
        }
        for kind, holds, reason, message in _CONDITIONS
    ]
    return {
        "capacity": amounts,
        "allocatable": dict(amounts),
        "conditions": conditions,
        "addresses": [
            {"type": "InternalIP", "address": address_of(number)},
            {"type": "Hostname", "address": name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "architecture": "amd64",
            "operatingSystem": "linux",
            "kubeletVersion": KUBELET_VERSION,
            "kubeProxyVersion": "",
            "containerRuntimeVersion": "simulated://1.0",
            "kernelVersion": "simulated",
            "osImage": "simulated",
            "bootID": "",
            "machineID": "",
            "systemUUID": "",
        },
    }
