"""The plugin: which of its parts answers at which point.

Reads:  the pod's spread constraints or the default ones; labels of nodes (and taints, where a constraint honors them);
        placed pods by selector and domain.
Says:   Unresolvable for a node without a label that is spread over, Unschedulable for one whose domain has too many
        matching pods; scores the feasible nodes, the fewer matching pods around a node the better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bayplan.cluster.changes import Reads
from bayplan.cluster.view import ClusterView
from bayplan.framework.events import Action, Hint, Resource, WakeOn
from bayplan.framework.plugin import FilterPlugin, PreFilterPlugin, PreScorePlugin, ScorePlugin
from bayplan.framework.status import SKIP, Code, Mask, Rejected, Scores, Skip, Verdicts
from bayplan.plugins.pod_topology_spread import filtering, scoring, waking
from bayplan.plugins.pod_topology_spread.args import (
    SYSTEM,
    SYSTEM_DEFAULTS,
    DefaultConstraint,
    PodTopologySpreadArgs,
    complaints,
)
from bayplan.plugins.pod_topology_spread.constraints import Planner
from bayplan.plugins.pod_topology_spread.filtering import HARD
from bayplan.plugins.pod_topology_spread.scoring import SOFT

if TYPE_CHECKING:
    from bayplan.cluster.nodeinfo import NodeInfo
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import Nodes
    from bayplan.framework.state import CycleState
    from bayplan.model.node import Node
    from bayplan.model.pod import Pod


class PodTopologySpread(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Spreads pods over topology domains."""

    name = "PodTopologySpread"
    args_type = PodTopologySpreadArgs
    reads = (
        Reads.LABELS
        | Reads.ALL_NODES
        | Reads.ALL_PODS
        | Reads.NODE_LABELS
        | Reads.NODE_TAINTS
        | Reads.WORKLOADS
        | Reads.FEASIBLE
    )

    default_constraints: tuple[DefaultConstraint, ...] | None
    defaulting_type: str

    @classmethod
    def check_args(cls, args: Any) -> Iterator[tuple[str, str]]:
        yield from complaints(args)

    def setup(self) -> None:
        system = self.defaulting_type == SYSTEM
        defaults = SYSTEM_DEFAULTS if system else self.default_constraints or ()
        self._planner = Planner(defaults, system=system)

    def sign(self, pod: PodInfo) -> str | None:
        """A workload is known by its API version too."""
        return pod.owner.api_version if pod.owner is not None else None

    def stamp(self, pod: PodInfo, view: ClusterView, state: CycleState) -> Any:
        plan = self._planner.plan(pod, view)
        if plan is None:
            return None
        counts = view.cluster.counts
        taints = view.versions(Reads.NODE_TAINTS) if plan.honors_taints else None
        # The plan itself is part of it: another one has other constraints.
        return (
            plan,
            counts.topology,
            taints,
            *[counts.tally(c.counted, staying=True).version for c in plan.constraints],
        )

    # --- filter --------------------------------------------------------------------------------------------------------

    def prefilter(
        self, pod: PodInfo, view: ClusterView, state: CycleState
    ) -> Skip | Rejected | None:
        plan = self._planner.plan(pod, view)
        if plan is None:
            return SKIP
        if plan.hard_error:
            return Rejected(f"get constraints from pod: {plan.hard_error}", code=Code.ERROR)
        if not plan.hard:
            return SKIP
        state[HARD] = filtering.count(plan, view, state.get(HARD))
        return None

    def add_pod(
        self, pod: PodInfo, added: PodInfo, node: NodeInfo, view: ClusterView, state: CycleState
    ) -> None:
        state[HARD].change(pod, added, node.row, +1)

    def remove_pod(
        self, pod: PodInfo, removed: PodInfo, node: NodeInfo, view: ClusterView, state: CycleState
    ) -> None:
        state[HARD].change(pod, removed, node.row, -1)

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Verdicts | None:
        return filtering.judge(state[HARD], nodes)

    # --- score ---------------------------------------------------------------------------------------------------------

    def prescore(
        self, pod: PodInfo, nodes: Nodes, feasible: Mask, state: CycleState
    ) -> Skip | Rejected | None:
        view = ClusterView(nodes.cluster)
        plan = self._planner.plan(pod, view)
        if plan is None or not view.node_count:
            return SKIP
        if plan.soft_error:
            return Rejected(f"calculating preScoreState: {plan.soft_error}", code=Code.ERROR)
        if not plan.soft:
            return SKIP
        state[SOFT] = scoring.count(plan, view, feasible, state.get(SOFT))
        return None

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores | int:
        return scoring.score(state[SOFT], nodes)

    def normalize(self, raw: Scores, feasible: Mask, state: CycleState) -> Scores:
        return scoring.normalize(state[SOFT], raw, feasible)

    # --- waking --------------------------------------------------------------------------------------------------------

    def wakes_on(self) -> Sequence[WakeOn]:
        return (
            WakeOn(
                Resource.POD,
                Action.ADD | Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION | Action.DELETE,
                self._after_pod_change,
            ),
            WakeOn(
                Resource.NODE,
                Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT,
                self._after_node_change,
            ),
        )

    def _after_pod_change(self, pod: PodInfo, old: Pod | None, new: Pod | None) -> Hint:
        plan = self._planner.plan(pod, self.handle.view)
        return waking.after_pod_change(pod, plan.hard if plan is not None else (), old, new)

    def _after_node_change(self, pod: PodInfo, old: Node | None, new: Node | None) -> Hint:
        plan = self._planner.plan(pod, self.handle.view)
        return waking.after_node_change(plan.hard if plan is not None else (), old, new)
