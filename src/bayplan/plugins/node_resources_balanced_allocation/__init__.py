"""NodeResourcesBalancedAllocation: nodes whose resources the pod brings closer to being evenly used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec
import numpy as np

from bayplan.cluster.changes import Reads
from bayplan.framework.plugin import PreScorePlugin, ScorePlugin
from bayplan.framework.state import StateKey
from bayplan.framework.status import SKIP, Mask, Scores, Skip
from bayplan.model.label_syntax import quote
from bayplan.model.requests import is_counted, is_scalar
from bayplan.plugins.node_resources_balanced_allocation.balance import (
    Weighed,
    columns_of,
    score_columns,
    score_each,
)
from bayplan.plugins.node_resources_balanced_allocation.standing import Standing

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import Nodes
    from bayplan.framework.state import CycleState

#: Up to so many nodes, plain numbers are faster than columns.
FEW: Final = 8


class ResourceSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A resource that is to be balanced; the weight can only be 1."""

    name: str
    weight: int = 1

    def __post_init__(self) -> None:
        if self.weight == 0:
            msgspec.structs.force_setattr(self, "weight", 1)


class NodeResourcesBalancedAllocationArgs(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"
):
    """Which resources are to be balanced."""

    resources: tuple[ResourceSpec, ...] | None = None

    def __post_init__(self) -> None:
        if not self.resources:
            default = (ResourceSpec("cpu"), ResourceSpec("memory"))
            msgspec.structs.force_setattr(self, "resources", default)


PLAN = StateKey[tuple[Weighed, ...]]("NodeResourcesBalancedAllocation.plan")


class NodeResourcesBalancedAllocation(PreScorePlugin, ScorePlugin):
    """Even use of a node's resources."""

    name: ClassVar[str] = "NodeResourcesBalancedAllocation"
    args_type = NodeResourcesBalancedAllocationArgs
    reads: ClassVar[Reads | None] = Reads.ALLOCATABLE | Reads.USAGE

    resources: tuple[ResourceSpec, ...]

    @classmethod
    def check_args(cls, args: NodeResourcesBalancedAllocationArgs) -> Iterator[tuple[str, str]]:
        """kube-scheduler's complaints."""
        seen: set[str] = set()
        for i, resource in enumerate(args.resources or ()):
            if resource.name in seen:
                yield f"resources[{i}].name", f"Duplicate value: {quote(resource.name)}"
            seen.add(resource.name)
            if resource.weight != 1:
                yield f"resources[{i}].weight", f"Invalid value: {resource.weight}: must be 1"

    def setup(self) -> None:
        """Names that no node is accounted for drop out."""
        self._standing = Standing()
        self._names = tuple(r.name for r in self.resources if is_counted(r.name))

    def prescore(
        self, pod: PodInfo, nodes: Nodes, feasible: Mask, state: CycleState
    ) -> Skip | None:
        """A pod that asks for none of the resources would pile up on one node: no score for it."""
        plan = self._plan(pod, nodes)
        if not plan:
            return SKIP
        state[PLAN] = plan
        return None

    def _plan(self, pod: PodInfo, nodes: Nodes) -> tuple[Weighed, ...]:
        """The resources to balance, a vendor's only if the pod asks for them; none if it asks for none."""
        # Unlike NodeResourcesFit, upstream counts requests of the pod as a whole and resizes here.
        asked = pod.shape.placed.requests
        if not any(asked.get(name, 0) for name in self._names):
            return ()
        return tuple(
            Weighed(nodes.cluster.nodes.resource_id(name), asked.get(name, 0))
            for name in self._names
            if asked.get(name, 0) or not is_scalar(name)
        )

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores | int:
        """What the pod does to each node's balance."""
        plan = state.get(PLAN)
        if plan is None:  # PreScore is switched off for this plugin
            plan = self._plan(pod, nodes)
            if not plan:
                return 0
        if len(nodes) > FEW:
            return score_columns(nodes, plan, self._standing)
        scores = score_each(columns_of(nodes, plan), [w.amount for w in plan])
        return scores[0] if len(scores) == 1 else np.array(scores, np.int64)
