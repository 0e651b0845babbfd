"""The plugin: which of its parts answers at which point.

Reads:  the pod's pod affinity and anti-affinity, those of placed pods, placed pods by selector and domain, namespaces.
Says:   Unresolvable for a node that is not near the pods wanted, Unschedulable for one that is near unwanted pods or
        pods that do not want this one; scores nodes by the preferred terms they serve.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from bayplan.cluster.changes import Reads
from bayplan.cluster.view import ClusterView
from bayplan.framework.events import Action, Resource, WakeOn
from bayplan.framework.plugin import FilterPlugin, PreFilterPlugin, PreScorePlugin, ScorePlugin
from bayplan.framework.status import (
    SKIP,
    Code,
    Mask,
    Rejected,
    Scores,
    Skip,
    Verdicts,
    unresolvable,
)
from bayplan.plugins.inter_pod_affinity import filtering, scoring, waking
from bayplan.plugins.inter_pod_affinity.filtering import REQUIRED
from bayplan.plugins.inter_pod_affinity.plan import plan_of
from bayplan.plugins.inter_pod_affinity.scoring import WORTH

if TYPE_CHECKING:
    from bayplan.cluster.nodeinfo import NodeInfo
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import Nodes
    from bayplan.framework.state import CycleState

_MAX_WEIGHT = 100


class InterPodAffinityArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """InterPodAffinityArgs of kubescheduler.config.k8s.io/v1."""

    #: What a placed pod's required affinity is worth to the pods that it wants near.
    hard_pod_affinity_weight: int | None = None
    #: Whether a pod without preferences of its own is scored without looking at those of placed pods.
    ignore_preferred_terms_of_existing_pods: bool = False

    def __post_init__(self) -> None:
        if self.hard_pod_affinity_weight is None:
            msgspec.structs.force_setattr(self, "hard_pod_affinity_weight", 1)


class InterPodAffinity(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Keeps pods near some and away from others."""

    name = "InterPodAffinity"
    args_type = InterPodAffinityArgs
    reads = (
        Reads.LABELS
        | Reads.ALL_NODES
        | Reads.ALL_PODS
        | Reads.AFFINITY_TERMS
        | Reads.NAMESPACES
        | Reads.NODE_LABELS
    )

    hard_pod_affinity_weight: int
    ignore_preferred_terms_of_existing_pods: bool

    @classmethod
    def check_args(cls, args: Any) -> Iterator[tuple[str, str]]:
        weight = args.hard_pod_affinity_weight
        if not 0 <= weight <= _MAX_WEIGHT:
            what = f"Invalid value: {weight}: not in valid range [0, {_MAX_WEIGHT}]"
            yield "hardPodAffinityWeight", what

    def stamp(self, pod: PodInfo, view: ClusterView, state: CycleState) -> Any:
        counts, plan = view.cluster.counts, plan_of(pod)
        interest = counts.interest(pod.kin)
        if not interest.carriers and not plan.groups:
            return interest.generation
        return (
            interest.generation,
            counts.topology,
            view.cluster.namespaces.version if plan.asks_namespaces else None,
            *[counts.tally(terms).version for terms in plan.groups],
            *[carrier.version for carrier in interest.carriers],
        )

    # --- filter --------------------------------------------------------------------------------------------------------

    def prefilter(
        self, pod: PodInfo, view: ClusterView, state: CycleState
    ) -> Skip | Rejected | None:
        plan = plan_of(pod)
        if plan.error:
            return unresolvable(f"parsing pod: {plan.error}")
        required = filtering.count(plan, pod, view, state.get(REQUIRED))
        if required is None:
            return SKIP
        state[REQUIRED] = required
        return None

    def add_pod(
        self, pod: PodInfo, added: PodInfo, node: NodeInfo, view: ClusterView, state: CycleState
    ) -> None:
        state[REQUIRED].change(added, node.row, +1)

    def remove_pod(
        self, pod: PodInfo, removed: PodInfo, node: NodeInfo, view: ClusterView, state: CycleState
    ) -> None:
        state[REQUIRED].change(removed, node.row, -1)

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Verdicts | None:
        return filtering.judge(state[REQUIRED], nodes)

    # --- score ---------------------------------------------------------------------------------------------------------

    def prescore(
        self, pod: PodInfo, nodes: Nodes, feasible: Mask, state: CycleState
    ) -> Skip | Rejected | None:
        plan = plan_of(pod)
        if self.ignore_preferred_terms_of_existing_pods and not plan.preferred:
            return SKIP
        if plan.error:
            return Rejected(f"failed to parse pod: {plan.error}", code=Code.ERROR)
        view, weight = ClusterView(nodes.cluster), self.hard_pod_affinity_weight
        worth = scoring.count(plan, pod, view, weight, state.get(WORTH))
        if worth is None:
            return SKIP
        state[WORTH] = worth
        return None

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores | int:
        return scoring.score(state[WORTH], nodes)

    def normalize(self, raw: Scores, feasible: Mask, state: CycleState) -> Scores:
        return scoring.normalize(raw, feasible)

    # --- waking --------------------------------------------------------------------------------------------------------

    def wakes_on(self) -> Sequence[WakeOn]:
        return (
            WakeOn(
                Resource.POD,
                Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE,
                waking.after_pod_change,
            ),
            WakeOn(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, waking.after_node_change),
        )
