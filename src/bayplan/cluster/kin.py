"""Sharing what pods have in common: one Shape per spec, one Kin per namespace and set of labels.

Used by the cluster when a pod comes in. Entries live as long as a pod holds them: a churning cluster does not grow.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping

import msgspec

from bayplan.cluster.podinfo import Kin, PodInfo, Shape
from bayplan.model import requests
from bayplan.model.meta import controller_of
from bayplan.model.pod import Pod, PodSpec

_encode = msgspec.json.Encoder().encode


class KinTable:
    """Kins by namespace and labels; the number of a kin that died is given out again."""

    def __init__(self) -> None:
        self._kins: weakref.WeakValueDictionary[tuple[str, frozenset[tuple[str, str]]], Kin]
        self._kins = weakref.WeakValueDictionary()
        self._free: list[int] = []
        self._next = 0

    def get(self, namespace: str, labels: Mapping[str, str]) -> Kin:
        """The kin of pods with this namespace and these labels."""
        key = (namespace, frozenset(labels.items()))
        kin = self._kins.get(key)
        if kin is None:
            if self._free:
                number = self._free.pop()
            else:
                number, self._next = self._next, self._next + 1
            kin = self._kins[key] = Kin(number, namespace, dict(labels))
            weakref.finalize(kin, self._free.append, number).atexit = False
        return kin

    def __len__(self) -> int:
        return len(self._kins)


class ShapeTable:
    """Shapes by what plugins read of a spec, and of a running pod's resources."""

    def __init__(self) -> None:
        self._shapes: weakref.WeakValueDictionary[bytes, Shape] = weakref.WeakValueDictionary()
        self._next = 0

    def get(self, pod: Pod) -> Shape:
        """The shape that this pod shares with all that are specified alike."""
        spec = _essence(pod.spec)
        key = _encode(spec)
        placed = requests.placed_key(pod)
        if placed:
            key += placed
        shape = self._shapes.get(key)
        if shape is None:
            self._next += 1
            shape = self._shapes[key] = Shape(self._next, spec, requests.for_placed(pod))
        return shape

    def __len__(self) -> int:
        return len(self._shapes)


def _essence(spec: PodSpec) -> PodSpec:
    """The spec without what says nothing about where the pod may run."""
    volumes = spec.volumes
    if volumes:
        volumes = tuple(volume for volume in volumes if volume.matters)
    if spec.node_name or len(volumes) != len(spec.volumes):
        return msgspec.structs.replace(spec, node_name="", volumes=volumes)
    return spec


def pod_info(pod: Pod, kins: KinTable, shapes: ShapeTable) -> PodInfo:
    """A pod as the scheduler knows it; the decoded object can go."""
    meta, status = pod.metadata, pod.status
    info = PodInfo(meta.name, kins.get(meta.namespace, meta.labels), shapes.get(pod), uid=meta.uid)
    if meta.annotations:
        info.annotations = meta.annotations
    info.owner = controller_of(meta)
    if meta.creation_timestamp is not None:
        info.created = meta.creation_timestamp.timestamp()
    if status.start_time is not None:
        info.started = status.start_time.timestamp()
    info.terminating = meta.deletion_timestamp is not None
    info.disrupted = any(
        c.type == "DisruptionTarget" and c.status == "True" and c.reason == "PreemptionByScheduler"
        for c in status.conditions
    )
    info.finished = status.phase in {"Succeeded", "Failed"}
    info.node_name = pod.spec.node_name
    info.nominated_node = status.nominated_node_name
    info.resource_version = meta.resource_version
    return info
