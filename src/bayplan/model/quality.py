"""Kubernetes' QoS class Guaranteed: whether a pod's containers are limited to just what they request.

kubelet gives such pods CPUs and memory of their own on a NUMA node, if it is set up to. Read by ``cluster.podinfo``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bayplan.model.pod import PodSpec

_COUNTED: Final = ("cpu", "memory")


def is_guaranteed(spec: PodSpec) -> bool:
    """Whether every container, those that run first included, has limits for CPU and memory and requests no less."""
    return all(
        key in container.resources.limits
        and container.resources.requests.get(key, container.resources.limits[key])
        == container.resources.limits[key]
        for container in (*spec.init_containers, *spec.containers)
        for key in _COUNTED
    )
