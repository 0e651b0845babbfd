"""Gangs in a workload: the groups to create, what has to be switched on for them, and whether any was bound in part.

A pod's gang follows from its number, so that the pods that are watched need not be decoded further than others are. Used by
``scene``, ``trial`` and ``subjects``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from bayplan.bench.recorder import Seen

VERSION: Final = "scheduling.k8s.io/v1alpha2"
GATES: Final = "GenericWorkload=true,GangScheduling=true"

#: For kube-apiserver and for kube-scheduler.
API_FLAGS: Final = (f"--feature-gates={GATES}", f"--runtime-config={VERSION}=true")
SCHEDULER_FLAGS: Final = (f"--feature-gates={GATES}",)


def name_of(number: int, size: int) -> str:
    """The gang of the pod with that number."""
    return f"gang-{number // size}"


def groups_in(namespace: str, count: int, size: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The groups of so many pods, each with the path that it is created at."""
    path = f"/apis/{VERSION}/namespaces/{namespace}/podgroups"
    for number in range(0, count, size):
        meta = {"name": name_of(number, size), "namespace": namespace}
        spec = {"schedulingPolicy": {"gang": {"minCount": min(size, count - number)}}}
        body = {"apiVersion": VERSION, "kind": "PodGroup", "metadata": meta, "spec": spec}
        yield path, body


def completed(pods: Mapping[tuple[str, str], Seen], size: int) -> list[float]:
    """When each gang that is complete became so; ascending."""
    return sorted(
        max(seen.bound for seen in gang)
        for gang in _gangs(pods, size).values()
        if all(seen.bound for seen in gang)
    )


def partial(pods: Mapping[tuple[str, str], Seen], size: int) -> list[str]:
    """Gangs of which some members are bound and others are not."""
    return [
        f"{name} has {bound} of {len(gang)} members bound"
        for name, gang in _gangs(pods, size).items()
        if 0 < (bound := sum(1 for seen in gang if seen.bound)) < len(gang)
    ]


def _gangs(pods: Mapping[tuple[str, str], Seen], size: int) -> dict[str, list[Seen]]:
    gangs: defaultdict[str, list[Seen]] = defaultdict(list)
    for (_, name), seen in pods.items():
        gangs[name_of(int(name.rpartition("-")[2]), size)].append(seen)
    return gangs
