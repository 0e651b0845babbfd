"""Why the API server refuses to create a pod: the ResourceQuotas of its namespace.

Read by ``explain``, of a pod that does not exist yet. Placing pods has nothing to do with it: a pod that is there was
admitted. The words are those of the refusal (plugin/pkg/admission/resourcequota).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from bayplan.model import requests
from bayplan.model.amounts import quantity_text
from bayplan.model.quantity import nano_value

if TYPE_CHECKING:
    from bayplan.model.pod import Pod
    from bayplan.model.policy import ResourceQuota

_NANO: Final = 10**9
_SIDES: Final = ("requests", "limits")
#: Of these every container has to say how much it takes, where a quota limits them.
_NAMED: Final = ("cpu", "memory")
#: Of a pod's requests these have a name without ``requests.`` too.
_PLAIN: Final = ("cpu", "memory", "ephemeral-storage")


def standing(quotas: Iterable[ResourceQuota], namespace: str) -> Iterator[str]:
    """What is used of each quota of a namespace."""
    for quota in _of(quotas, namespace):
        used = quota.status.used
        parts = [
            f"{name} {used.get(name, 0)} of {hard}"
            for name, hard in sorted(quota.spec.hard.items())
        ]
        yield f"ResourceQuota {quota.name} of namespace {namespace}: {', '.join(parts)} used"


def refusals(pod: Pod, quotas: Iterable[ResourceQuota]) -> Iterator[str]:
    """What the API server says when the pod is created; nothing where it lets it in."""
    takes = _takes(pod)
    for quota in _of(quotas, pod.namespace):
        if not _applies(quota, pod, takes):
            continue
        unnamed = list(_unnamed(pod, quota))
        if unnamed:
            yield f"failed quota: {quota.name}: must specify {'; '.join(unnamed)}"
        hard, used = quota.spec.hard, quota.status.used
        over = [
            name
            for name in sorted(hard)
            if name in takes
            and nano_value(used.get(name, 0)) + takes[name] > nano_value(hard[name])
        ]
        if over:
            asked = ",".join(f"{name}={_written(name, takes[name])}" for name in over)
            so_far = ",".join(f"{name}={used.get(name, 0)}" for name in over)
            limits = ",".join(f"{name}={hard[name]}" for name in over)
            yield (
                f"exceeded quota: {quota.name}, requested: {asked}, used: {so_far}, limited: {limits}"
            )


def _of(quotas: Iterable[ResourceQuota], namespace: str) -> list[ResourceQuota]:
    mine = [quota for quota in quotas if quota.namespace == namespace]
    return sorted(mine, key=lambda quota: quota.name)


def _takes(pod: Pod) -> dict[str, int]:
    """What a pod counts for, by the names that quotas have; in billionths."""
    takes = {"pods": _NANO, "count/pods": _NANO}
    for side in _SIDES:
        amounts = requests.for_display(pod.spec, limits=side == "limits")
        for name, amount in amounts.items():
            takes[f"{side}.{name}"] = round(amount * _NANO)
            if side == "requests" and (name in _PLAIN or name.startswith("hugepages-")):
                takes[name] = takes[f"{side}.{name}"]
    return takes


def _written(name: str, amount: int) -> str:
    resource = name.rpartition(".")[2] if name.startswith(_SIDES) else name
    unit = _NANO // 1000 if resource == "cpu" else _NANO
    return quantity_text(resource, -(-amount // unit))


def _applies(quota: ResourceQuota, pod: Pod, takes: dict[str, int]) -> bool:
    """Whether the quota counts the pod. Pods that end by themselves (``Terminating``) are not kept by workloads."""
    named = any(name.startswith(_SIDES) and amount for name, amount in takes.items())
    best_effort = not named
    holds = {
        "BestEffort": best_effort,
        "NotBestEffort": not best_effort,
        "Terminating": False,
        "NotTerminating": True,
        "PriorityClass": bool(pod.spec.priority_class_name),
    }
    return all(holds.get(scope, True) for scope in quota.spec.scopes)


def _unnamed(pod: Pod, quota: ResourceQuota) -> Iterator[str]:
    """What is limited, and the containers that do not say how much of it they take."""
    for limited in sorted(quota.spec.hard):
        side, _, resource = limited.rpartition(".")
        if resource not in _NAMED or side not in ("", *_SIDES):
            continue
        silent = [
            container.name
            for container in pod.spec.containers
            if resource
            not in (
                container.resources.limits if side == "limits" else container.resources.requests
            )
        ]
        if silent:
            yield f"{limited} for: {','.join(sorted(silent))}"
