"""The pod that a workload would create next: what ``explain`` looks at where a workload is named and pods of it are missing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from bayplan.errors import SelectorError
from bayplan.model.meta import ObjectMeta, OwnerReference
from bayplan.model.pod import Pod
from bayplan.model.selectors import compile_label_selector

if TYPE_CHECKING:
    from bayplan.model.workloads import Deployment, ReplicaSet, StatefulSet

    Workload = Deployment | ReplicaSet | StatefulSet


def next_pod(workload: Workload) -> Pod:
    """As its template has it."""
    template = workload.spec.template
    meta: ObjectMeta = msgspec.structs.replace(
        template.metadata,
        name=f"{workload.name}-next",
        namespace=workload.namespace,
        owner_references=(
            OwnerReference(
                api_version="apps/v1",
                kind=workload.kind,
                name=workload.name,
                uid=workload.uid,
                controller=True,
            ),
        ),
    )
    return Pod(metadata=meta, spec=template.spec)


def how_many(workload: Workload, pods: Iterable[Pod]) -> str:
    """How many pods it wants, and how many there are."""
    wanted = 1 if workload.spec.replicas is None else workload.spec.replicas
    try:
        selector = compile_label_selector(workload.spec.selector)
    except SelectorError as error:
        return f"{workload.kind} {workload.key} has a selector that cannot be read: {error}"
    there = [
        pod
        for pod in pods
        if pod.namespace == workload.namespace
        and not pod.is_finished
        and selector.matches(pod.metadata.labels)
    ]
    placed = sum(bool(pod.spec.node_name) for pod in there)
    return (
        f"{workload.kind} {workload.key} wants {wanted} pods; {len(there)} exist, {placed} of them on nodes; "
        "this is about the next one"
    )
