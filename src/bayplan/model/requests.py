"""What a pod asks of a node and what it takes from it, from its spec and, where it was resized, from its status.

Read by the cluster, which keeps the answers with the shape that alike pods share, and by the plugins that count
resources. There are three readings of one pod, as in Kubernetes:

* ``for_filter``: what a pod that is to be placed asks for. Its status says nothing.
* ``for_placed``: what a pod on a node takes. A container that is being resized counts the larger of what it had, has
  and wants; one whose resize the node cannot fulfil counts what it has.
* ``for_scoring``: what NodeResourcesFit ranks nodes by. A container without a request counts 100m CPU or 200 MiB, and
  requests of the pod as a whole do not count.

Sums are made to the billionth and rounded up once, at the end, as Kubernetes does: two requests of 1.5m are 3m. What
does not fit into 64 bits is the largest number that does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec

from bayplan.model import label_syntax, quantity

if TYPE_CHECKING:
    from bayplan.model.pod import Container, ContainerStatus, Pod, PodSpec, PodStatus
    from bayplan.model.quantity import ResourceList

#: What scoring counts for a container that does not request the resource.
DEFAULT_MILLI_CPU: Final = 100
DEFAULT_MEMORY: Final = 200 * 1024 * 1024

#: Resource name to amount, in billionths.
_Amounts = dict[str, int]
_DEFAULTS: Final[_Amounts] = {
    "cpu": DEFAULT_MILLI_CPU * 10**6,
    "memory": DEFAULT_MEMORY * 10**9,
}
_NONE_MISSING: Final[_Amounts] = {}

_FIRST = frozenset({"cpu", "memory", "ephemeral-storage"})
_HUGE_PAGES: Final = "hugepages-"
_VOLUMES: Final = "attachable-volumes-"
_NATIVE: Final = "kubernetes.io/"
_QUOTA: Final = "requests."


@dataclass(frozen=True, slots=True)
class Placed:
    """What a pod takes from the node it is on."""

    #: Resource name to amount; CPU in milli-units.
    requests: dict[str, int]
    #: For scoring: a container without a request counts 100m.
    nonzero_cpu: int
    #: For scoring: a container without a request counts 200 MiB.
    nonzero_memory: int


def for_filter(spec: PodSpec) -> dict[str, int]:
    """What a pod to be placed asks of a node; CPU in milli-units."""
    return _counted(_total(spec))


def for_placed(pod: Pod) -> Placed:
    """What a pod takes from the node it is on."""
    resized = _resized(pod)
    requests = _total(pod.spec, resized)
    missing = _DEFAULTS
    if _pod_level(pod.spec):
        # Where the pod as a whole has requests, a default stands in only for what nobody asks for.
        missing = {name: amount for name, amount in _DEFAULTS.items() if name not in requests}
    nonzero = _total(pod.spec, resized, missing) if missing else requests
    return Placed(
        _counted(requests),
        _rounded("cpu", nonzero.get("cpu", 0)),
        _rounded("memory", nonzero.get("memory", 0)),
    )


def for_scoring(spec: PodSpec) -> dict[str, int]:
    """What NodeResourcesFit ranks nodes by; CPU in milli-units."""
    return _counted(_total(spec, missing=_DEFAULTS, pod_level=False))


def for_display(spec: PodSpec, *, limits: bool = False) -> dict[str, float]:
    """What a pod requests, or may at most use, in cores, bytes and pieces; every resource that it names."""
    amounts = _total(_limits_as_requests(spec)) if limits else _total(spec)
    if limits:
        # What is not limited is not limited by the overhead either.
        overhead = _nano(spec.overhead)
        _add(amounts, {name: overhead[name] for name in overhead if amounts.get(name)})
    return {name: amount / 1e9 for name, amount in amounts.items()}


def _limits_as_requests(spec: PodSpec) -> PodSpec:
    def turned(container: Container) -> Container:
        resources = msgspec.structs.replace(
            container.resources, requests=container.resources.limits
        )
        return msgspec.structs.replace(container, resources=resources)

    whole = spec.resources
    if whole is not None:
        whole = msgspec.structs.replace(whole, requests=whole.limits)
    return msgspec.structs.replace(
        spec,
        containers=tuple(map(turned, spec.containers)),
        init_containers=tuple(map(turned, spec.init_containers)),
        resources=whole,
        overhead={},
    )


def placed_key(pod: Pod) -> bytes:
    """What of a pod's status changes ``for_placed``; empty where the spec says it all."""
    resized = _resized(pod)
    return msgspec.json.encode((resized.containers, resized.pod)) if resized else b""


@lru_cache(maxsize=4096)
def is_counted(name: str) -> bool:
    """Whether the scheduler keeps account of a resource; it drops names that it cannot read."""
    return (
        name in _FIRST
        or name.startswith((_HUGE_PAGES, _VOLUMES))
        or _NATIVE in name
        or is_extended(name)
    )


def is_scalar(name: str) -> bool:
    """Whether a resource is one of those that only pods which ask for it are ranked by."""
    return name not in _FIRST and is_counted(name)


@lru_cache(maxsize=4096)
def is_extended(name: str) -> bool:
    """Whether a resource is a vendor's: ``nvidia.com/gpu``."""
    if "/" not in name or _NATIVE in name or name.startswith(_QUOTA):
        return False
    return not label_syntax.key_problems(_QUOTA + name)


# --- sums ------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Resized:
    """Requests that differ from the spec's, by container; ``pod`` for the pod as a whole."""

    containers: dict[str, _Amounts]
    pod: _Amounts | None = None

    def __bool__(self) -> bool:
        return bool(self.containers) or self.pod is not None


_NOT_RESIZED: Final = _Resized({})


def _total(
    spec: PodSpec,
    resized: _Resized = _NOT_RESIZED,
    missing: _Amounts = _NONE_MISSING,
    *,
    pod_level: bool = True,
) -> _Amounts:
    amounts = _containers(spec, resized.containers, missing)
    if pod_level:
        whole = _pod_level(spec)
        for name in whole:
            amounts[name] = whole[name] if resized.pod is None else resized.pod.get(name, 0)
    if spec.overhead:
        _add(amounts, _nano(spec.overhead))
    return amounts


def _containers(spec: PodSpec, resized: Mapping[str, _Amounts], missing: _Amounts) -> _Amounts:
    """The containers that run side by side, or more where an init container needs more before they start."""

    def requests(container: Container) -> _Amounts:
        own = resized.get(container.name)
        own = _nano(container.resources.requests) if own is None else own
        return {**missing, **own} if missing else own

    running: _Amounts = {}
    for container in spec.containers:
        _add(running, requests(container))
    sidecars: _Amounts = {}
    peak: _Amounts = {}
    for container in spec.init_containers:
        needs = dict(requests(container))
        if container.restart_policy == "Always":
            _add(running, needs)
            _add(sidecars, needs)
            needs = sidecars
        else:
            _add(needs, sidecars)
        _raise_to(peak, needs)
    _raise_to(running, peak)
    return running


def _pod_level(spec: PodSpec) -> _Amounts:
    """Requests of the pod as a whole, which take the place of the containers' sums."""
    if spec.resources is None or not spec.resources.requests:
        return _NONE_MISSING
    return {
        name: quantity.nano_value(amount)
        for name, amount in spec.resources.requests.items()
        if name in ("cpu", "memory") or name.startswith(_HUGE_PAGES)
    }


def _nano(resources: ResourceList) -> _Amounts:
    return {name: quantity.nano_value(amount) for name, amount in resources.items()}


def _add(amounts: _Amounts, more: _Amounts) -> None:
    for name, amount in more.items():
        amounts[name] = amounts.get(name, 0) + amount


def _raise_to(amounts: _Amounts, least: _Amounts) -> None:
    for name, amount in least.items():
        if name not in amounts or amount > amounts[name]:
            amounts[name] = amount


def _counted(amounts: _Amounts) -> dict[str, int]:
    return {name: _rounded(name, amount) for name, amount in amounts.items() if is_counted(name)}


def _rounded(name: str, amount: int) -> int:
    unit = 10**6 if name == "cpu" else 10**9
    return min(max(-(-amount // unit), 0), quantity.MAX)


# --- resizes ---------------------------------------------------------------------------------------------------------


def _resized(pod: Pod) -> _Resized:
    status = pod.status
    if not (status.container_statuses or status.init_container_statuses or status.resources):
        return _NOT_RESIZED
    infeasible = _is_infeasible(status)
    reported = {s.name: s for s in _statuses(status) if s.resources is not None}
    resized = _Resized({})
    for container in _long_running(pod.spec):
        seen = reported.get(container.name)
        if seen is not None and seen.resources is not None:
            own = container.resources.requests
            effective = _effective(
                own, seen.resources.requests, seen.allocated_resources, infeasible=infeasible
            )
            if effective is not None:
                resized.containers[container.name] = effective
    if status.resources is not None and _pod_level(pod.spec) and pod.spec.resources is not None:
        resized.pod = _effective(
            pod.spec.resources.requests,
            status.resources.requests,
            status.allocated_resources,
            infeasible=infeasible,
        )
    return resized


def _effective(
    wanted: ResourceList, actual: ResourceList, allocated: ResourceList, *, infeasible: bool
) -> _Amounts | None:
    """What counts of what is wanted, in use and set aside; None where that is what is wanted."""
    if wanted == actual and (not allocated or allocated == wanted):
        return None
    want = _nano(wanted)
    amounts = {} if infeasible else dict(want)
    _raise_to(amounts, _nano(actual))
    _raise_to(amounts, _nano(allocated))
    return None if amounts == want else amounts


def _is_infeasible(status: PodStatus) -> bool:
    for condition in status.conditions:
        if condition.type == "PodResizePending":
            return condition.reason == "Infeasible"
    return False


def _statuses(status: PodStatus) -> Iterable[ContainerStatus]:
    yield from status.container_statuses
    yield from status.init_container_statuses


def _long_running(spec: PodSpec) -> Iterable[Container]:
    """Containers that can be resized: an init container that ends never is."""
    yield from spec.containers
    yield from (c for c in spec.init_containers if c.restart_policy == "Always")
