"""NodeResourcesFit: nodes that have room for the pod, and which of them to prefer.

Upstream hands extended resources that no device plugin offers to DRA where a DeviceClass stands for them; no
DeviceClass is known here, so all of them are checked against the node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from bayplan.cluster.changes import Reads
from bayplan.errors import PluginError
from bayplan.framework.plugin import FilterPlugin, PreFilterPlugin, PreScorePlugin, ScorePlugin
from bayplan.framework.state import StateKey
from bayplan.model import requests
from bayplan.plugins.node_resources_fit.args import (
    NodeResourcesFitArgs,
    ScoringStrategy,
    complaints,
)
from bayplan.plugins.node_resources_fit.filtering import Asked
from bayplan.plugins.node_resources_fit.scoring import Ranked, Scorer
from bayplan.plugins.node_resources_fit.waking import WAKES_ON

if TYPE_CHECKING:
    from bayplan.cluster.nodes import NodeTable
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import ClusterView, Nodes
    from bayplan.framework.events import WakeOn
    from bayplan.framework.state import CycleState
    from bayplan.framework.status import Mask, Rejected, Scores, Verdicts

ASKED = StateKey[Asked]("NodeResourcesFit.asked")
PLAN = StateKey[tuple[Ranked, ...]]("NodeResourcesFit.plan")
_FOR_SCORING = "NodeResourcesFit.for_scoring"


class NodeResourcesFit(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Room for the pod's requests, and a rank by how much is left or used."""

    name: ClassVar[str] = "NodeResourcesFit"
    args_type = NodeResourcesFitArgs
    reads: ClassVar[Reads | None] = Reads.ALLOCATABLE | Reads.USAGE

    ignored_resources: tuple[str, ...] | None
    ignored_resource_groups: tuple[str, ...] | None
    scoring_strategy: ScoringStrategy

    @classmethod
    def check_args(cls, args: NodeResourcesFitArgs) -> Iterator[tuple[str, str]]:
        """kube-scheduler's complaints."""
        yield from complaints(args)

    def setup(self) -> None:
        """The strategy, ready to use."""
        self._ignored = frozenset(self.ignored_resources or ())
        self._ignored_groups = frozenset(self.ignored_resource_groups or ())
        self._scorer = Scorer(self.scoring_strategy)

    def wakes_on(self) -> Sequence[WakeOn]:
        """Pods that leave or shrink, nodes that come or grow."""
        return WAKES_ON

    def prefilter(self, pod: PodInfo, view: ClusterView, state: CycleState) -> None:
        """What the pod asks for."""
        asked = {
            name: amount
            for name, amount in pod.requests.items()
            if amount > 0 and not self._ignores(name)
        }
        state[ASKED] = Asked(asked, view.cluster.nodes)

    def _ignores(self, name: str) -> bool:
        if name not in self._ignored and name.partition("/")[0] not in self._ignored_groups:
            return False
        return requests.is_extended(name)

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Verdicts | Rejected | None:
        """Nodes with too little left say of what; where they offer too little, eviction is no cure."""
        asked = state.get(ASKED)
        if asked is None:
            message = 'error reading "PreFilterNodeResourcesFit" from cycleState: not found'
            raise PluginError(self.name, "Filter", message)
        return asked.judge(nodes)

    def prescore(self, pod: PodInfo, nodes: Nodes, feasible: Mask, state: CycleState) -> None:
        """What the pod counts for."""
        state[PLAN] = self._plan(pod, nodes.cluster.nodes)

    def _plan(self, pod: PodInfo, nodes: NodeTable) -> tuple[Ranked, ...]:
        memo = pod.shape.memo
        asked = memo.get(_FOR_SCORING)
        if asked is None:
            asked = memo[_FOR_SCORING] = requests.for_scoring(pod.spec)
        policy = pod.policy
        return self._scorer.plan(asked, nodes, policy.weights if policy is not None else ())

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores | int:
        """The strategy's score."""
        plan = state.get(PLAN)
        if plan is None:  # PreScore is switched off for this plugin
            plan = self._plan(pod, nodes.cluster.nodes)
        return self._scorer.score(nodes, plan)
