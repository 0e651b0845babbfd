"""AppSpread: pods of one application spread over nodes, by the label that names the application.

Reads:  the label ``label`` (``AppID``) of the pod, and of the pods on each node in the same namespace.
Says:   with ``maxPerNode``, turns down nodes that run so many of them already; as score, the fewer the better.
        Pods without the label go anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bayplan import (
    Action,
    CycleState,
    FilterPlugin,
    Mask,
    NodeInfo,
    Nodes,
    PodInfo,
    Reads,
    Rejected,
    Resource,
    ScorePlugin,
    Scores,
    WakeOn,
    scale_reversed,
)

ENOUGH = Rejected("node(s) run enough pods of the application")


class AppSpread(FilterPlugin, ScorePlugin):
    """Keeps an application's pods apart."""

    reads = Reads.LOCAL_PODS
    rejection = ENOUGH

    label: str = "AppID"
    #: 0: as many as there is room for.
    max_per_node: int = 0

    @classmethod
    def check_args(cls, args: Any) -> Iterator[tuple[str, str]]:
        if not args.label:
            yield "label", "Required value: the label that names a pod's application"
        if args.max_per_node < 0:
            yield "maxPerNode", f"Invalid value: {args.max_per_node}: must not be negative"

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Mask | None:
        app = pod.labels.get(self.label)
        if not self.max_per_node or app is None:
            return None
        return self._counts(pod, app, nodes) < self.max_per_node

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        app = pod.labels.get(self.label)
        if not self.max_per_node or app is None:
            return None
        return ENOUGH if self._count(pod, app, node) >= self.max_per_node else None

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores | int:
        app = pod.labels.get(self.label)
        return 0 if app is None else self._counts(pod, app, nodes)

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        app = pod.labels.get(self.label)
        return 0 if app is None else self._count(pod, app, node)

    def normalize(self, raw: Scores, feasible: Mask, state: CycleState) -> Scores:
        return scale_reversed(raw, feasible)

    def wakes_on(self) -> Sequence[WakeOn]:
        return (
            WakeOn(Resource.NODE, Action.ADD),
            WakeOn(Resource.ASSIGNED_POD, Action.DELETE | Action.UPDATE_POD_LABEL),
            WakeOn(Resource.POD, Action.UPDATE_POD_LABEL),
        )

    def _count(self, pod: PodInfo, app: str, node: NodeInfo) -> int:
        return sum(
            other.namespace == pod.namespace and other.labels.get(self.label) == app
            for other in node.pods
        )

    def _counts(self, pod: PodInfo, app: str, nodes: Nodes) -> Scores:
        return nodes.count_pods(
            lambda namespace, labels: namespace == pod.namespace and labels.get(self.label) == app
        )
