"""Pods and nodes in a line each, for tests of plugins.

Public: ``from bayplan.testing import make_node, make_pod``. A builder writes the same JSON that the API server would
send and is decoded by the same code.
"""

from __future__ import annotations

from typing import Any, Self

from bayplan.model.decode import decode_as
from bayplan.model.node import Node
from bayplan.model.pod import Pod


class _Builder:
    def __init__(self, kind: str, name: str) -> None:
        self.manifest: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": kind,
            "metadata": {"name": name, "labels": {}, "annotations": {}},
            "spec": {},
            "status": {},
        }

    @property
    def _meta(self) -> dict[str, Any]:
        meta: dict[str, Any] = self.manifest["metadata"]
        return meta

    @property
    def _spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = self.manifest["spec"]
        return spec

    @property
    def _status(self) -> dict[str, Any]:
        status: dict[str, Any] = self.manifest["status"]
        return status

    @property
    def name(self) -> str:
        """The object's name."""
        name: str = self._meta["name"]
        return name

    def label(self, key: str, value: str) -> Self:
        """Add a label."""
        self._meta["labels"][key] = value
        return self

    def labels(self, labels: dict[str, str] | None = None, /, **more: str) -> Self:
        """Add labels."""
        self._meta["labels"].update(labels or {}, **more)
        return self

    def annotation(self, key: str, value: str) -> Self:
        """Add an annotation."""
        self._meta["annotations"][key] = value
        return self

    def uid(self, uid: str) -> Self:
        """Give the object a uid."""
        self._meta["uid"] = uid
        return self

    def version(self, version: str) -> Self:
        """Give the object a resourceVersion."""
        self._meta["resourceVersion"] = version
        return self


class NodeBuilder(_Builder):
    """A node that grows by method calls."""

    def __init__(self, name: str) -> None:
        super().__init__("Node", name)
        self.label("kubernetes.io/hostname", name)
        self.data: dict[str, float] = {}
        self.capacity({"cpu": "4", "memory": "32Gi", "pods": "110"})

    def capacity(self, resources: dict[str, str] | None = None, /, **more: str) -> Self:
        """Capacity and allocatable: ``capacity(cpu="8")`` or ``capacity({"nvidia.com/gpu": "4"})``."""
        for field in ("capacity", "allocatable"):
            self._status.setdefault(field, {}).update(resources or {}, **more)
        return self

    def zone(self, zone: str) -> Self:
        """Set the zone label."""
        return self.label("topology.kubernetes.io/zone", zone)

    def taint(self, key: str, value: str = "", effect: str = "NoSchedule") -> Self:
        """Add a taint."""
        self._spec.setdefault("taints", []).append({"key": key, "value": value, "effect": effect})
        return self

    def cordoned(self) -> Self:
        """Set spec.unschedulable."""
        self._spec["unschedulable"] = True
        return self

    def image(self, name: str, size_bytes: int) -> Self:
        """Add an image that the node has."""
        self._status.setdefault("images", []).append({"names": [name], "sizeBytes": size_bytes})
        return self

    def usage(self, **metrics: float) -> Self:
        """Measured usage, as ``node.usage`` shows it."""
        self.data.update(metrics)
        return self

    def build(self) -> Node:
        """The decoded Node."""
        return decode_as(Node, self.manifest)


class PodBuilder(_Builder):
    """A pod that grows by method calls."""

    def __init__(self, name: str, namespace: str = "default") -> None:
        super().__init__("Pod", name)
        self._meta["namespace"] = namespace
        self._spec["containers"] = [{"name": "main", "image": "", "resources": {"requests": {}}}]

    def requests(self, resources: dict[str, str] | None = None, /, **more: str) -> Self:
        """What the first container requests: ``requests(cpu="500m")``."""
        self._spec["containers"][0]["resources"]["requests"].update(resources or {}, **more)
        return self

    def image(self, image: str) -> Self:
        """The first container's image."""
        self._spec["containers"][0]["image"] = image
        return self

    def host_port(self, port: int, protocol: str = "TCP", ip: str = "") -> Self:
        """A host port of the first container."""
        wanted = {"hostPort": port, "containerPort": port, "protocol": protocol, "hostIP": ip}
        self._spec["containers"][0].setdefault("ports", []).append(wanted)
        return self

    def on(self, node: str) -> Self:
        """The node that the pod runs on."""
        self._spec["nodeName"] = node
        return self

    def nominated(self, node: str) -> Self:
        """The node that is promised to the pod."""
        self._status["nominatedNodeName"] = node
        return self

    def priority(self, priority: int) -> Self:
        """Set spec.priority."""
        self._spec["priority"] = priority
        return self

    def scheduler(self, name: str) -> Self:
        """Set spec.schedulerName."""
        self._spec["schedulerName"] = name
        return self

    def node_selector(self, selector: dict[str, str] | None = None, /, **more: str) -> Self:
        """Add to spec.nodeSelector."""
        self._spec.setdefault("nodeSelector", {}).update(selector or {}, **more)
        return self

    def tolerate(
        self, key: str, value: str = "", effect: str = "", operator: str = "Equal"
    ) -> Self:
        """Add a toleration."""
        self._spec.setdefault("tolerations", []).append(
            {"key": key, "operator": operator, "value": value, "effect": effect}
        )
        return self

    def spread(
        self, max_skew: int, topology_key: str, selector: dict[str, str], *, hard: bool = True
    ) -> Self:
        """Add a topology spread constraint."""
        self._spec.setdefault("topologySpreadConstraints", []).append(
            {
                "maxSkew": max_skew,
                "topologyKey": topology_key,
                "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
                "labelSelector": {"matchLabels": selector},
            }
        )
        return self

    def affinity(
        self, selector: dict[str, str], topology_key: str, *, anti: bool = False, weight: int = 0
    ) -> Self:
        """Add an inter-pod (anti-)affinity term: required, or preferred where it has a weight."""
        term = {"labelSelector": {"matchLabels": selector}, "topologyKey": topology_key}
        kind = "podAntiAffinity" if anti else "podAffinity"
        terms = self._spec.setdefault("affinity", {}).setdefault(kind, {})
        if weight:
            preferred = terms.setdefault("preferredDuringSchedulingIgnoredDuringExecution", [])
            preferred.append({"weight": weight, "podAffinityTerm": term})
        else:
            terms.setdefault("requiredDuringSchedulingIgnoredDuringExecution", []).append(term)
        return self

    def claim(self, name: str) -> Self:
        """Add a volume from a PersistentVolumeClaim."""
        self._spec.setdefault("volumes", []).append(
            {"name": name, "persistentVolumeClaim": {"claimName": name}}
        )
        return self

    def started(self, when: str) -> Self:
        """Set status.startTime."""
        self._status["startTime"] = when
        return self

    def terminating(self, since: str = "2026-01-01T00:00:00Z") -> Self:
        """Set the deletion timestamp."""
        self._meta["deletionTimestamp"] = since
        return self

    def build(self) -> Pod:
        """The decoded Pod."""
        return decode_as(Pod, self.manifest)


def make_node(name: str) -> NodeBuilder:
    """A node of 4 CPUs, 32 GiB and 110 pods, to be changed by method calls."""
    return NodeBuilder(name)


def make_pod(name: str, namespace: str = "default") -> PodBuilder:
    """A pod with one container that asks for nothing, to be changed by method calls."""
    return PodBuilder(name, namespace)
