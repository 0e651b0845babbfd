"""NodeAffinity: nodes that the pod selects by their labels or names, because it must or because it would rather.

Reads:  ``nodeSelector`` and node affinity of the pod, ``addedAffinity`` of the profile; the nodes' labels and names.
Says:   from PreFilter the only nodes worth a look, where the pod asks for nodes by name; one verdict per node,
        UNRESOLVABLE since evicting pods changes no label; as score the weights of the preferred terms that match.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bayplan.cluster.changes import Reads
from bayplan.cluster.node_matching import matcher_mask, required_nodes, term_mask
from bayplan.errors import SelectorError
from bayplan.framework.events import Action, Hint, Resource, WakeOn
from bayplan.framework.plugin import FilterPlugin, PreFilterPlugin, PreScorePlugin, ScorePlugin
from bayplan.framework.scoring import scale
from bayplan.framework.status import (
    SKIP,
    Code,
    Mask,
    OnlyNodes,
    Rejected,
    Scores,
    Skip,
    Verdicts,
    unresolvable,
)
from bayplan.model.pod import NodeAffinity as NodeAffinityRules
from bayplan.model.selectors import (
    NodeMatcher,
    NodePreferences,
    compile_node_selector,
    compile_preferred_terms,
    named_nodes,
)

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo, Shape
    from bayplan.cluster.view import ClusterView, Nodes
    from bayplan.framework.state import CycleState
    from bayplan.model.node import Node

NOT_SELECTED: Final = unresolvable("node(s) didn't match Pod's node affinity/selector")
NOT_ENFORCED: Final = unresolvable("node(s) didn't match scheduler-enforced node affinity")
CONFLICT: Final = unresolvable("pod affinity terms conflict")

_REQUIRED: Final = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"


class NodeAffinity(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Matches nodes with node selectors."""

    name = "NodeAffinity"
    reads = Reads.LABELS
    reason = NOT_SELECTED.message
    rejection = NOT_SELECTED

    #: Holds for every pod of the profile, beside what the pod says itself.
    added_affinity: NodeAffinityRules | None = None

    def setup(self) -> None:
        added = self.added_affinity
        self._enforced: NodeMatcher | None = None
        self._added: NodePreferences | None = None
        if added is not None and added.required is not None:
            self._enforced = compile_node_selector(added.required)
        if added is not None and added.preferred:
            self._added = compile_preferred_terms(added.preferred)

    @classmethod
    def check_args(cls, args: Any) -> Iterator[tuple[str, str]]:
        added = args.added_affinity
        if added is None:
            return
        if added.required is not None:
            error = compile_node_selector(added.required, _REQUIRED).error
            if error:
                yield _REQUIRED, error
        try:
            compile_preferred_terms(added.preferred, _PREFERRED)
        except SelectorError as error:
            yield _PREFERRED, error.message

    def prefilter(
        self, pod: PodInfo, view: ClusterView, state: CycleState
    ) -> Skip | Rejected | OnlyNodes | None:
        rules = _rules(pod.shape)
        required = rules.required if rules is not None else None
        if required is None:
            return SKIP if self._enforced is None and not pod.spec.node_selector else None
        names = named_nodes(required)
        if names is None:
            return None
        return OnlyNodes(names) if names else CONFLICT

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Mask | Verdicts | None:
        selected = required_nodes(pod.shape).mask(nodes)
        if self._enforced is None:
            return selected
        enforced = matcher_mask(nodes, self._enforced)
        index = np.zeros(len(nodes), np.int16)
        if selected is not None:
            index[~selected] = 2
        index[~enforced] = 1
        return Verdicts(index, (NOT_ENFORCED, NOT_SELECTED))

    def prescore(
        self, pod: PodInfo, nodes: Nodes, feasible: Mask, state: CycleState
    ) -> Skip | Rejected | None:
        try:
            preferred = _preferences(pod.shape)
        except SelectorError as error:
            return Rejected(error.message, code=Code.ERROR)
        return SKIP if preferred is None and self._added is None else None

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores | int:
        total: Scores | None = None
        for preferences in (self._added, _preferences(pod.shape)):
            for weight, term in preferences.terms if preferences is not None else ():
                matched = term_mask(nodes, term)
                if matched.any():
                    worth = matched * np.int64(weight)
                    total = worth if total is None else np.add(total, worth, out=total)
        return 0 if total is None else total

    def normalize(self, raw: Scores, feasible: Mask, state: CycleState) -> Scores:
        return scale(raw, feasible)

    def wakes_on(self) -> Sequence[WakeOn]:
        return (
            WakeOn(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, self._becomes_eligible),
        )

    def _becomes_eligible(self, pod: PodInfo, old: Node | None, new: Node | None) -> Hint:
        if new is None or not self._enforces(new) or not self._selects(pod, new):
            return Hint.SKIP
        return Hint.QUEUE if old is None or not self._selects(pod, old) else Hint.SKIP

    def _enforces(self, node: Node) -> bool:
        return self._enforced is None or self._enforced.matches(node.labels, node.name)

    def _selects(self, pod: PodInfo, node: Node) -> bool:
        return required_nodes(pod.shape).matches(node.labels, node.name)


def _rules(shape: Shape) -> NodeAffinityRules | None:
    affinity = shape.spec.affinity
    return affinity.node_affinity if affinity is not None else None


def _preferences(shape: Shape) -> NodePreferences | None:
    """The pod's preferred terms, compiled once and kept with its shape; None where it has none.

    Raises:
        SelectorError: if any of them does not parse.
    """
    rules = _rules(shape)
    if rules is None or not rules.preferred:
        return None
    preferences: NodePreferences | None = shape.memo.get(NodePreferences)
    if preferences is None:
        preferences = shape.memo[NodePreferences] = compile_preferred_terms(rules.preferred)
    return preferences
