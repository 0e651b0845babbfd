"""What pods request and may use, pod by pod: the series of ``/metrics/resources``.

Reads the cluster's table of placed pods and the pending pods; used by ``app``. Alike pods share their amounts. The listing is
written in pieces, and pods come and go in between: a pod that is gone by then is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from bayplan.model import requests
from bayplan.telemetry.exposition import ListPodResources, PodResource

if TYPE_CHECKING:
    from bayplan.cluster.cluster import Cluster
    from bayplan.cluster.podinfo import Kin, PodInfo, Shape


def pod_resources(cluster: Cluster, pending: Mapping[str, PodInfo]) -> ListPodResources:
    """Lists all pods; ``pending`` are those that the API server shows without a node, by key."""

    def listed(limits: bool) -> Iterator[PodResource]:  # noqa: FBT001 - as the exposition asks for it
        pods = cluster.pods
        for key, row in list(pods.row_of.items()):
            kin, shape = pods.kins[row], pods.shapes[row]
            # On its way to a node a pod has none yet, as everybody else sees it.
            if pods.row_of.get(key) == row and kin and shape and not pods.is_assumed(row):
                node = cluster.nodes.names[int(pods.node_row.data[row])]
                yield from _rows(kin, pods.names[row], shape, node, limits=limits)
        for pod in list(pending.values()):
            yield from _rows(pod.kin, pod.name, pod.shape, "", limits=limits)

    return listed


def _rows(kin: Kin, name: str, shape: Shape, node: str, *, limits: bool) -> Iterator[PodResource]:
    spec = shape.spec
    priority = "" if spec.priority is None else str(spec.priority)
    for resource, amount in _amounts(shape, limits=limits).items():
        yield PodResource(
            kin.namespace, name, node, spec.scheduler_name, priority, resource, amount
        )


def _amounts(shape: Shape, *, limits: bool) -> Mapping[str, float]:
    key = ("pod_resources", limits)
    amounts: Mapping[str, float] | None = shape.memo.get(key)
    if amounts is None:
        amounts = shape.memo[key] = requests.for_display(shape.spec, limits=limits)
    return amounts
