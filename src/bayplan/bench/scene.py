"""The objects of a workload, as the API server wants them.

Fed by ``workload``; ``filling`` creates what comes out of it, in this order: classes and namespaces, nodes, the pods that are
there before, the measured ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bayplan.bench.gangs import groups_in, name_of
from bayplan.bench.openb import trace_nodes, trace_pods
from bayplan.bench.workload import Namespaces, NodeGroup, Pods, PodShape, Workload

Obj = dict[str, Any]

#: Where a pod tells, in stream mode, that the scheduler is up.
PROBE: Final = "probe"
ZONE: Final = "topology.kubernetes.io/zone"
_CAPACITY: Final = {"cpu": "4", "memory": "32Gi", "pods": "110"}


@dataclass(frozen=True, slots=True)
class New:
    """An object to create, and where."""

    path: str
    body: Obj


@dataclass(frozen=True, slots=True)
class Scene:
    """A workload with all its objects spelt out; made anew each time they are asked for."""

    workload: Workload

    def foundation(self) -> Iterator[New]:
        """What pods refer to: priority classes and namespaces."""
        shapes = self.workload.pods.values()
        for priority in sorted({shape.priority for shape in shapes if shape.priority}):
            body = {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": f"priority-{priority}"},
                "value": priority,
            }
            yield New("/apis/scheduling.k8s.io/v1/priorityclasses", body)
        for namespace in self._namespaces():
            for name in _numbered(namespace.name, namespace.count):
                body = {
                    "apiVersion": "v1",
                    "kind": "Namespace",
                    "metadata": {"name": name, "labels": namespace.labels},
                }
                yield New("/api/v1/namespaces", body)

    def groups(self) -> Iterator[New]:
        """The gangs of the measured pods."""
        for pods in self.workload.measured:
            if pods.gang:
                for path, body in groups_in(pods.namespace, pods.count, pods.gang):
                    yield New(path, body)

    def nodes(self) -> Iterator[New]:
        """The nodes, ready."""
        if self.workload.trace is not None:
            for name, capacity, labels in trace_nodes(self.workload.trace.nodes):
                yield New("/api/v1/nodes", node(name, capacity, labels=labels))
            return
        number = 0
        for group in self.workload.nodes:
            for i in range(group.count):
                yield New("/api/v1/nodes", _grouped_node(group, number, i))
                number += 1

    def before(self) -> Iterator[New]:
        """The pods that are there already: each has its node, the nodes taken in turn."""
        nodes = [new.body["metadata"]["name"] for new in self.nodes()]
        number = 0
        for pods in self.workload.before:
            for new in self._pods("before", pods):
                new.body["spec"]["nodeName"] = nodes[number % len(nodes)]
                number += 1
                yield new

    def measured(self) -> Iterator[New]:
        """The pods that the scheduler is to place."""
        if self.workload.trace is not None:
            for name, shape in trace_pods(self.workload.trace.pods):
                yield New(pods_in("measured"), pod("measured", name, shape))
            return
        for pods in self.workload.measured:
            yield from self._pods("measured", pods)

    def _pods(self, prefix: str, pods: Pods) -> Iterator[New]:
        shape = self.workload.shape(pods.pod)
        spaces = self._spread(pods.namespace)
        for i in range(pods.count):
            namespace = spaces[i % len(spaces)]
            body = pod(namespace, f"{prefix}-{pods.pod}-{i}", shape, i)
            if pods.gang:
                body["spec"]["schedulingGroup"] = {"podGroupName": name_of(i, pods.gang)}
            yield New(pods_in(namespace), body)

    def _spread(self, namespace: str) -> Sequence[str]:
        for group in self._namespaces():
            if group.name == namespace:
                return list(_numbered(group.name, group.count))
        return [namespace]

    def _namespaces(self) -> list[Namespaces]:
        known = {group.name for group in self.workload.namespaces}
        used = [pods.namespace for pods in (*self.workload.before, *self.workload.measured)]
        used += [what.namespace for what in self.workload.meanwhile if what.namespace]
        used += [self.workload.namespace, PROBE]
        extra = [Namespaces(name=name) for name in dict.fromkeys(used) if name not in known]
        return [*self.workload.namespaces, *extra]


def node(
    name: str,
    capacity: dict[str, str],
    *,
    labels: dict[str, str] | None = None,
    taints: list[dict[str, str]] | None = None,
) -> Obj:
    """A node that is ready."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {"taints": taints} if taints else {},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def pod(namespace: str, name: str, shape: PodShape, number: int = 0) -> Obj:
    """A pod of a shape, without a node."""
    requests = {key.replace("{i}", str(number)): value for key, value in shape.requests.items()}
    container: Obj = {
        "name": "pause",
        "image": "pause:3.10",
        "ports": [{"containerPort": 80}],
    }
    if requests:
        container["resources"] = {"requests": requests, "limits": requests}
    spec: Obj = {"containers": [container], **shape.spec}
    if shape.priority:
        spec["priorityClassName"] = f"priority-{shape.priority}"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": shape.labels},
        "spec": spec,
    }


def _grouped_node(group: NodeGroup, number: int, index: int) -> Obj:
    labels = {ZONE: group.zones[index % len(group.zones)]} if group.zones else {}
    own = {key.replace("{i}", str(number)): value for key, value in group.capacity.items()}
    return node(f"node-{number}", _CAPACITY | own, labels=labels, taints=group.taints)


def pods_in(namespace: str) -> str:
    """The path of a namespace's pods."""
    return f"/api/v1/namespaces/{namespace}/pods"


def _numbered(name: str, count: int) -> Iterator[str]:
    return (name.replace("{i}", str(i)) for i in range(count))
