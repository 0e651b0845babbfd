"""TenantIsolation: every tenant on nodes of its own pool or on shared ones, and never on another tenant's.

Reads:  the tenant of a pod: the label ``label`` of its namespace, or else its own (who may create pods may not be who
        may label namespaces, so the namespace has the last word); the tenant and tier of nodes by their labels.
Says:   turns down nodes that are another tenant's, nodes outside the pool for tenants in ``dedicated``, and nodes kept
        for a better tier than the pod's (``tiers``, best first). 100 for a node of the tenant's own, 50 for others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bayplan import (
    Action,
    CycleState,
    FilterPlugin,
    NodeInfo,
    Nodes,
    PodInfo,
    Reads,
    Rejected,
    Resource,
    ScorePlugin,
    Scores,
    Verdicts,
    WakeOn,
    unresolvable,
)

ANOTHERS = unresolvable("node(s) belong to another tenant")
NOT_IN_POOL = unresolvable("node(s) are outside the tenant's pool")
BETTER_TIER = unresolvable("node(s) are kept for a better tier")
OUTCOMES = (ANOTHERS, NOT_IN_POOL, BETTER_TIER)

OWN, SHARED = 100, 50


class TenantIsolation(FilterPlugin, ScorePlugin):
    """Keeps tenants apart."""

    reads = Reads.LABELS | Reads.NAMESPACES

    label: str = "tenant"
    tier_label: str = "tenant-tier"
    #: Tenants whose pods go to nodes of their pool alone.
    dedicated: tuple[str, ...] = ()
    #: Best first. A node with a tier takes pods of that tier and of better ones; a pod without one has the last.
    tiers: tuple[str, ...] = ("gold", "silver", "bronze")

    @classmethod
    def check_args(cls, args: Any) -> Iterator[tuple[str, str]]:
        if len(set(args.tiers)) != len(args.tiers):
            yield "tiers", "Duplicate value: a tier is listed twice"

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Verdicts:
        tenant, rank = self._of(pod, self.label), self._rank(self._of(pod, self.tier_label))
        index = nodes.by_label(self.label, lambda owner: self._owned(tenant, owner))
        tiers = nodes.by_label(self.tier_label, lambda tier: bool(tier) and self._rank(tier) < rank)
        return Verdicts(np.where((index == 0) & (tiers > 0), 3, index).astype(np.int16), OUTCOMES)

    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        number = self._owned(self._of(pod, self.label), node.labels.get(self.label, ""))
        if number:
            return OUTCOMES[number - 1]
        tier = node.labels.get(self.tier_label, "")
        rank = self._rank(self._of(pod, self.tier_label))
        return BETTER_TIER if tier and self._rank(tier) < rank else None

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores:
        tenant = self._of(pod, self.label)
        return nodes.by_label(
            self.label, lambda owner: OWN if tenant and owner == tenant else SHARED
        ).astype(np.int64)

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        tenant = self._of(pod, self.label)
        return OWN if tenant and node.labels.get(self.label, "") == tenant else SHARED

    def wakes_on(self) -> Sequence[WakeOn]:
        return (
            WakeOn(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
            WakeOn(Resource.NAMESPACE, Action.ADD | Action.UPDATE),
            WakeOn(Resource.POD, Action.UPDATE_POD_LABEL),
        )

    def _of(self, pod: PodInfo, label: str) -> str:
        """A label of the pod's namespace, or else of the pod."""
        namespace = self.handle.view.namespace_labels(pod.namespace)
        return namespace.get(label) or pod.labels.get(label, "")

    def _rank(self, tier: str) -> int:
        return self.tiers.index(tier) if tier in self.tiers else len(self.tiers) - 1

    def _owned(self, tenant: str, owner: str) -> int:
        """0 where the tenant may go to a node with this owner, else the number of what is in the way."""
        if owner and owner != tenant:
            return 1
        return 2 if not owner and tenant in self.dedicated else 0
