"""AdaptiveSchedulingPlugin: weighs resources by what a namespace asks for and by what the cluster is short of.

Reads:  the requests of all placed pods, per namespace; what is requested and offered on all nodes.
Says:   the free share of each resource after placement, weighed. The weights begin as ``resourceWeights``; a resource
        weighs more the more a namespace asks of it and the less of it is left, in steps of ``step`` percent, never
        below ``minWeight`` nor above ``maxWeight``. Namespaces in ``pinned`` keep the weights given there.

The weights are looked at again after every ``updateEvery`` changes of the placed pods. They follow from the cluster as it
is then and from nothing else: the same events give the same weights, and a load that goes away takes its change with
it. Every change is logged with its reason and kept in ``changes``.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from bayplan import (
    ClusterView,
    CycleState,
    NodeInfo,
    Nodes,
    PodInfo,
    Reads,
    ScorePlugin,
    Scores,
)

log = logging.getLogger(__name__)

Weights = dict[str, int]


class Change(NamedTuple):
    """One namespace's weights, before and after, and why."""

    namespace: str
    old: Mapping[str, int]
    new: Mapping[str, int]
    why: str


class AdaptiveSchedulingPlugin(ScorePlugin):
    """Ranks nodes by weights that follow the load."""

    reads = Reads.USAGE | Reads.ALLOCATABLE | Reads.ALL_PODS

    #: In percent.
    resource_weights: Mapping[str, int] = MappingProxyType({"cpu": 50, "memory": 50})
    min_weight: int = 10
    max_weight: int = 90
    step: int = 5
    update_every: int = 100
    pinned: Mapping[str, Mapping[str, int]] = MappingProxyType({})

    @classmethod
    def check_args(cls, args: Any) -> Iterator[tuple[str, str]]:
        if not 0 <= args.min_weight <= args.max_weight <= 100:
            yield "minWeight", f"Invalid value: {args.min_weight}: from 0 to maxWeight, at most 100"
        for path, value in (("step", args.step), ("updateEvery", args.update_every)):
            if value < 1:
                yield path, f"Invalid value: {value}: must be at least 1"
        given = {"resourceWeights": args.resource_weights}
        given |= {f"pinned[{namespace}]": weights for namespace, weights in args.pinned.items()}
        for path, weights in given.items():
            if not weights or min(weights.values()) < 0 or not sum(weights.values()) > 0:
                yield path, "Invalid value: at least one resource with a weight above 0"

    def setup(self) -> None:
        self.changes: deque[Change] = deque(maxlen=1000)
        self._period = -1
        self._weights: dict[str, Weights] = {}
        self._initial: Weights = dict(self.resource_weights)
        self._pinned = {namespace: dict(weights) for namespace, weights in self.pinned.items()}

    def weights_of(self, namespace: str) -> Weights:
        """The weights that hold for a namespace now."""
        return self._pinned.get(namespace) or self._weights.get(namespace, self._initial)

    def stamp(self, pod: PodInfo, view: ClusterView, state: CycleState) -> Any:
        """While the weights stay as they are, so do the scores."""
        self._look(view)
        return tuple(self.weights_of(pod.namespace).items())

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores:
        weights = self._now(pod)
        total = np.zeros(len(nodes))
        for resource, weight in weights.items():
            free = nodes.free(resource) - pod.requests.get(resource, 0)
            share = free / np.maximum(nodes.allocatable(resource), 1)
            total = total + weight * np.clip(share, 0.0, 1.0)
        return (total * 100 / sum(weights.values())).astype(np.int64)

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        weights, total = self._now(pod), 0.0
        for resource, weight in weights.items():
            free = node.free[resource] - pod.requests.get(resource, 0)
            total = total + weight * min(max(free / max(node.allocatable[resource], 1), 0.0), 1.0)
        return total * 100 / sum(weights.values())

    def _now(self, pod: PodInfo) -> Weights:
        if self._period < 0:
            self._look(self.handle.view)
        return self.weights_of(pod.namespace)

    def _look(self, view: ClusterView) -> None:
        """Work out the weights anew where it is time."""
        period = view.versions(Reads.ALL_PODS)[0] // self.update_every
        if period == self._period:
            return
        self._period = period
        nodes, names = view.nodes, tuple(self._initial)
        offered = {r: max(int(nodes.allocatable(r)[nodes.alive].sum()), 1) for r in names}
        used = {r: int(nodes.requested(r)[nodes.alive].sum()) / offered[r] for r in names}
        asked = {r: view.requested_by_namespace(r) for r in names}
        for namespace in sorted(set().union(self._weights, *asked.values())):
            shares = {r: asked[r].get(namespace, 0) / offered[r] for r in names}
            self._change(namespace, self._balanced(shares, used), shares, used)

    def _balanced(self, shares: Mapping[str, float], used: Mapping[str, float]) -> Weights:
        """Weights for a namespace that holds these shares of the cluster, of which so much is in use."""
        whole = sum(shares.values())
        if not whole:
            return dict(self._initial)
        pull = {
            r: weight * (1 + shares[r] / whole) * (1 + min(used[r], 1.0))
            for r, weight in self._initial.items()
        }
        every = sum(pull.values())
        steps = {r: round(100 * p / every / self.step) * self.step for r, p in pull.items()}
        return {r: min(max(w, self.min_weight), self.max_weight) for r, w in steps.items()}

    def _change(
        self, namespace: str, new: Weights, shares: Mapping[str, float], used: Mapping[str, float]
    ) -> None:
        old = self._weights.get(namespace, self._initial)
        if new == old or namespace in self._pinned or not sum(new.values()):
            return
        self._weights[namespace] = new
        why = "; ".join(
            f"{r}: the namespace holds {shares[r]:.1%} of the cluster's, {used[r]:.1%} are in use"
            for r in new
        )
        self.changes.append(Change(namespace, old, new, why))
        log.info("Weights of namespace %s go from %s to %s: %s", namespace, old, new, why)
