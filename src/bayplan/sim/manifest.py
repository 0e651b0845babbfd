"""A pod from a person's file, as the API server would have stored it.

Read by ``explain``. What the scheduler sees of a pod is what admission has made of it: a limit without a request is a
request, a class is a priority, and every pod bears with a node that is away for five minutes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from bayplan.errors import DecodeError
from bayplan.model.decode import decode_as
from bayplan.model.node import Taint
from bayplan.model.pod import Container, Pod, PodSpec, Toleration
from bayplan.model.policy import PriorityClass
from bayplan.sim.documents import Unreadable, documents
from bayplan.sim.dump import STDIN, DumpError

_replace = msgspec.structs.replace

DEFAULT_NAMESPACE: Final = "default"
#: Classes that every cluster has.
_SYSTEM_CLASSES: Final = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
_AWAY: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_PATIENCE_S: Final = 300


def read_pod(path: Path, stdin: IO[bytes] | None = None) -> Pod:
    """The one pod in a file.

    Raises:
        DumpError: the file cannot be read, or does not hold one pod.
        DecodeError: the pod is malformed.
    """
    found: list[Mapping[str, Any]] = []
    others: list[str] = []
    for value in _values(path, stdin):
        kind = value.get("kind") if isinstance(value, Mapping) else None
        if kind == "Pod":
            found.append(value)
        else:
            others.append(str(kind or "something without a kind"))
    if len(found) != 1:
        what = f"{len(found)} pods" if found else "no Pod"
        but = f", but {', '.join(sorted(set(others)))}" if others and not found else ""
        raise DumpError(f"{path}: one Pod is expected here, and there is {what}{but}")
    raw = found[0]
    meta = raw.get("metadata")
    if isinstance(meta, Mapping) and not meta.get("name"):
        # A pod that is to be created under a generated name is explained as well.
        raw = {**raw, "metadata": {**meta, "name": f"{meta.get('generateName') or 'pod-'}x"}}
    try:
        return decode_as(Pod, raw)
    except DecodeError as error:
        raise DumpError(f"{path}: {error}") from error


def _values(path: Path, stdin: IO[bytes] | None) -> Iterable[Any]:
    try:
        data = stdin.read() if str(path) == STDIN and stdin is not None else path.read_bytes()
        values = list(documents(data, yaml_only=path.suffix.lower() in {".yaml", ".yml"}))
    except OSError as error:
        raise DumpError(f"{path}: {error.strerror or error}") from error
    except Unreadable as error:
        raise DumpError(f"{path}: {error}") from error
    for value in values:
        items = value.get("items") if isinstance(value, Mapping) else None
        yield from items if isinstance(items, list) else [value]


def admitted(pod: Pod, classes: Mapping[str, PriorityClass]) -> tuple[Pod, list[str]]:
    """The pod with the API server's defaults, and what could not be found out."""
    spec, notes = pod.spec, list[str]()
    spec = _replace(
        spec,
        scheduler_name=spec.scheduler_name or "default-scheduler",
        containers=tuple(map(_with_requests, spec.containers)),
        init_containers=tuple(map(_with_requests, spec.init_containers)),
        tolerations=(*spec.tolerations, *_patience(spec)),
    )
    if spec.priority is None:
        spec, notes = _with_priority(spec, classes)
    meta = pod.metadata
    if not meta.namespace:
        meta = _replace(meta, namespace=DEFAULT_NAMESPACE)
    return _replace(pod, metadata=meta, spec=spec), notes


def _with_requests(container: Container) -> Container:
    resources = container.resources
    requests = {**resources.limits, **resources.requests}
    return _replace(container, resources=_replace(resources, requests=requests))


def _patience(spec: PodSpec) -> list[Toleration]:
    return [
        Toleration(key, "Exists", "", "NoExecute", _PATIENCE_S)
        for key in _AWAY
        if not any(t.tolerates(Taint(key, effect="NoExecute")) for t in spec.tolerations)
    ]


def _with_priority(
    spec: PodSpec, classes: Mapping[str, PriorityClass]
) -> tuple[PodSpec, list[str]]:
    name = spec.priority_class_name
    found = classes.get(name) if name else _default_class(classes)
    if found is not None:
        policy = spec.preemption_policy or found.preemption_policy
        return _replace(spec, priority=found.value, preemption_policy=policy), []
    if name in _SYSTEM_CLASSES:
        return _replace(spec, priority=_SYSTEM_CLASSES[name]), []
    if name:
        return spec, [f"the dump has no PriorityClass {name}: the priority counts as 0"]
    return spec, []


def _default_class(classes: Mapping[str, PriorityClass]) -> PriorityClass | None:
    return next((c for c in classes.values() if c.global_default), None)
