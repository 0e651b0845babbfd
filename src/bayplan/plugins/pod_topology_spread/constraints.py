"""A pod's spread constraints, compiled: whom they count, on which nodes, and by how much they may differ.

Made by ``Planner`` once per kind of pod; read by ``filtering`` (the hard ones) and ``scoring`` (the soft ones).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.node_matching import RequiredNodes, required_nodes
from bayplan.cluster.terms import Term, in_namespace
from bayplan.errors import SelectorError
from bayplan.model.selectors import (
    NOTHING,
    Selector,
    compile_label_selector,
    selector_from_map,
)
from bayplan.plugins.pod_topology_spread.args import (
    DO_NOT_SCHEDULE,
    SCHEDULE_ANYWAY,
    DefaultConstraint,
)

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import Kin, PodInfo, Shape
    from bayplan.cluster.view import ClusterView
    from bayplan.model.pod import Toleration, TopologySpreadConstraint

HONOR: Final = "Honor"
#: Effects of taints that keep pods away.
_KEEPS_AWAY: Final = frozenset(("NoSchedule", "NoExecute"))
#: Plans that are remembered.
_REMEMBERED: Final = 1_024


@dataclass(frozen=True, slots=True, eq=False)
class Constraint:
    """One constraint of one kind of pod."""

    max_skew: int
    key: str
    min_domains: int
    selector: Selector
    #: The placed pods that are counted. An empty selector counts none, though it matches all
    #: (podtopologyspread/common.go, countPodsMatchSelector).
    counted: tuple[Term, ...]
    #: 1 where the pod is one of those that its selector matches.
    own: int
    #: Whether nodes that the pod may not run on are left out, by labels and by taints.
    honors_affinity: bool
    honors_taints: bool


class Admission:
    """Nodes that count for one pod, by its node affinity and its tolerations where a constraint honors them."""

    __slots__ = ("_required", "_tolerations", "_view", "key", "taints")

    def __init__(
        self,
        view: ClusterView,
        required: RequiredNodes | None,
        tolerations: tuple[Toleration, ...] | None,
    ) -> None:
        self._view = view
        self._required = required
        self._tolerations = tolerations
        self.key: Hashable = (required, tolerations)
        self.taints = tolerations is not None

    def mask(self, rows: NDArray[np.intp] | None) -> NDArray[np.bool_]:
        """For all rows or some: whether they count."""
        nodes = self._view.nodes if rows is None else self._view.rows(rows)
        mask = self._required.mask(nodes) if self._required is not None else None
        if self._tolerations is None:
            return np.ones(len(nodes), np.bool_) if mask is None else mask
        tolerations = self._tolerations
        tolerated = np.array(
            [
                all(
                    any(toleration.tolerates(taint) for toleration in tolerations)
                    for taint in taints
                    if taint.effect in _KEEPS_AWAY
                )
                for taints in self._view.taint_sets
            ]
        )[nodes.taint_set]
        return tolerated if mask is None else tolerated & mask


class Plan:
    """What PodTopologySpread has to do for pods of one kind."""

    __slots__ = (
        "constraints",
        "hard",
        "hard_error",
        "hard_keys",
        "honors_taints",
        "kin",
        "selector",
        "shape",
        "soft",
        "soft_error",
        "soft_keys",
    )

    def __init__(self, pod: PodInfo, selector: Selector | None) -> None:
        self.shape: Shape = pod.shape
        self.kin: Kin = pod.kin
        #: The selector of the pod's workload, where default constraints apply.
        self.selector = selector
        self.hard: tuple[Constraint, ...] = ()
        self.soft: tuple[Constraint, ...] = ()
        self.constraints: tuple[Constraint, ...] = ()
        #: Why the constraints cannot be read.
        self.hard_error = self.soft_error = ""
        self.hard_keys: frozenset[str] = frozenset()
        #: Labels without which a node is not scored.
        self.soft_keys: frozenset[str] = frozenset()
        self.honors_taints = False

    def admission(self, constraint: Constraint, view: ClusterView) -> Admission | None:
        """Which nodes count; None: all."""
        required: RequiredNodes | None = None
        if constraint.honors_affinity:
            required = required_nodes(self.shape)
            if not required.labels and required.affinity is None:
                required = None
        tolerations = self.shape.spec.tolerations if constraint.honors_taints else None
        if required is None and tolerations is None:
            return None
        return Admission(view, required, tolerations)


class Planner:
    """Compiles pods' constraints, or the default ones."""

    def __init__(self, defaults: tuple[DefaultConstraint, ...], *, system: bool) -> None:
        self._defaults = defaults
        self._system = system
        self._plans: dict[tuple[int, int], Plan] = {}

    def plan(self, pod: PodInfo, view: ClusterView) -> Plan | None:
        """What there is to do for this pod; None: nothing."""
        shape, kin = pod.shape, pod.kin
        selector = None
        if not shape.spec.topology_spread_constraints:
            if not self._defaults:
                return None
            selector = view.cluster.workloads.selector_for(pod)
            if selector is None:
                return None
        known = self._plans.get((shape.id, kin.id))
        # Numbers of shapes and kins that died are given out again.
        if known is not None and known.shape is shape and known.kin is kin:
            if known.selector is selector:
                return known
            if known.selector == selector:
                known.selector = selector  # the same, found anew: quicker to tell next time
                return known
        if len(self._plans) >= _REMEMBERED:
            self._plans.clear()
        plan = self._plans[shape.id, kin.id] = self._compile(pod, selector)
        return plan

    def _compile(self, pod: PodInfo, selector: Selector | None) -> Plan:
        plan = Plan(pod, selector)
        given: Iterable[TopologySpreadConstraint | DefaultConstraint]
        given = self._defaults if selector is not None else pod.spec.topology_spread_constraints
        which = "default " if selector is not None else ""
        what = "setting" if selector is not None else "obtaining pod's"
        try:
            plan.hard = _compile(given, pod, DO_NOT_SCHEDULE, selector)
        except SelectorError as error:
            plan.hard_error = f"{what} {which}hard topology spread constraints: {error}"
        try:
            plan.soft = _compile(given, pod, SCHEDULE_ANYWAY, selector)
        except SelectorError as error:
            plan.soft_error = f"{what} {which}soft topology spread constraints: {error}"
        plan.hard_keys = frozenset(constraint.key for constraint in plan.hard)
        if selector is None or not self._system:
            plan.soft_keys = frozenset(constraint.key for constraint in plan.soft)
        plan.constraints = (*plan.hard, *plan.soft)
        plan.honors_taints = any(c.honors_taints for c in plan.constraints)
        return plan


def _compile(
    constraints: Iterable[TopologySpreadConstraint | DefaultConstraint],
    pod: PodInfo,
    action: str,
    workload: Selector | None,
) -> tuple[Constraint, ...]:
    return tuple(
        _constraint(constraint, pod, workload)
        for constraint in constraints
        if constraint.when_unsatisfiable == action
    )


def _constraint(
    constraint: TopologySpreadConstraint | DefaultConstraint,
    pod: PodInfo,
    workload: Selector | None,
) -> Constraint:
    selector = workload
    if selector is None:
        selector = compile_label_selector(constraint.label_selector)
        same = _labels(pod.labels, constraint.match_label_keys)
        if same:
            selector = selector_from_map(same) & selector
    return Constraint(
        max_skew=constraint.max_skew,
        key=constraint.topology_key,
        min_domains=1 if constraint.min_domains is None else constraint.min_domains,
        selector=selector,
        counted=(in_namespace(pod.namespace, NOTHING if selector.empty else selector),),
        own=int(selector.matches(pod.labels)),
        honors_affinity=(constraint.node_affinity_policy or HONOR) == HONOR,
        honors_taints=constraint.node_taints_policy == HONOR,
    )


def _labels(labels: Mapping[str, str], keys: Iterable[str]) -> dict[str, str]:
    return {key: labels[key] for key in keys if key in labels}
