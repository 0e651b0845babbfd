"""TaintToleration: nodes keep away pods that do not tolerate their taints, firmly or by preference.

Reads:  the nodes' taints, the pod's tolerations.
Says:   one bool per node, UNRESOLVABLE since evicting pods removes no taint; and as score the number of untolerated
        PreferNoSchedule taints, the fewer the better.
Nodes share few sets of taints, so each set is judged once and its verdict looked up for all nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.cluster.changes import Reads
from bayplan.framework.events import Action, Hint, Resource, WakeOn
from bayplan.framework.plugin import FilterPlugin, PreScorePlugin, ScorePlugin
from bayplan.framework.scoring import scale_reversed
from bayplan.framework.status import Mask, Scores, unresolvable

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import Nodes
    from bayplan.framework.state import CycleState
    from bayplan.model.node import Node, Taint
    from bayplan.model.pod import Pod, Toleration

    Tolerations = tuple[Toleration, ...]

FIRM: Final = frozenset({"NoSchedule", "NoExecute"})
PREFERENCE: Final = "PreferNoSchedule"
#: So many different lists of tolerations are remembered; when there are more, all are judged anew.
REMEMBERED: Final = 4096


class TaintToleration(FilterPlugin, PreScorePlugin, ScorePlugin):
    """Matches taints with tolerations."""

    name = "TaintToleration"
    reads = Reads.TAINTS
    reason = "node(s) had untolerated taint(s)"
    rejection = unresolvable(reason)

    def setup(self) -> None:
        self._verdicts: dict[Tolerations, _Verdicts] = {}

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Mask | None:
        tolerated = self._judge(pod, nodes).tolerated
        return None if tolerated.all() else tolerated.take(nodes.taint_set)

    def prescore(self, pod: PodInfo, nodes: Nodes, feasible: Mask, state: CycleState) -> None:
        """Present because Kubernetes' plugin has this point; ``score`` needs no preparation."""

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Scores | int:
        disliked = self._judge(pod, nodes).disliked
        return disliked.take(nodes.taint_set) if disliked.any() else 0

    def normalize(self, raw: Scores, feasible: Mask, state: CycleState) -> Scores:
        return scale_reversed(raw, feasible)

    def wakes_on(self) -> Sequence[WakeOn]:
        return (
            WakeOn(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT, _becomes_tolerable),
            WakeOn(Resource.POD, Action.UPDATE_POD_TOLERATION, _own_update),
        )

    def _judge(self, pod: PodInfo, nodes: Nodes) -> _Verdicts:
        """What these tolerations make of every set of taints, those included that came up since last time."""
        tolerations = pod.spec.tolerations
        verdicts = self._verdicts.get(tolerations)
        if verdicts is None:
            if len(self._verdicts) >= REMEMBERED:
                self._verdicts.clear()
            verdicts = self._verdicts[tolerations] = _Verdicts(tolerations)
        sets = nodes.cluster.nodes.taint_sets.values
        if verdicts.known < len(sets):
            verdicts.extend(sets)
        return verdicts


class _Verdicts:
    """By id of a set of taints: may the pod go there, and how many of its preferences does that go against."""

    __slots__ = ("_tolerations", "disliked", "tolerated")

    def __init__(self, tolerations: Tolerations) -> None:
        self._tolerations = tolerations
        self.tolerated = np.zeros(0, np.bool_)
        self.disliked = np.zeros(0, np.int64)

    @property
    def known(self) -> int:
        """How many sets are judged."""
        return len(self.tolerated)

    def extend(self, sets: Sequence[tuple[Taint, ...]]) -> None:
        """Judge the sets that are new."""
        new = sets[self.known :]
        tolerated = [not any(untolerated(taints, self._tolerations, FIRM)) for taints in new]
        disliked = [
            sum(1 for _ in untolerated(taints, self._tolerations, {PREFERENCE})) for taints in new
        ]
        self.tolerated = np.append(self.tolerated, np.array(tolerated, np.bool_))
        self.disliked = np.append(self.disliked, np.array(disliked, np.int64))


def untolerated(
    taints: Iterable[Taint], tolerations: Tolerations, effects: frozenset[str] | set[str]
) -> Iterable[Taint]:
    """The taints with one of these effects that no toleration covers."""
    return (
        taint
        for taint in taints
        if taint.effect in effects and not any(one.tolerates(taint) for one in tolerations)
    )


def _becomes_tolerable(pod: PodInfo, old: Node | None, new: Node | None) -> Hint:
    if new is None or not _may_go(pod, new):
        return Hint.SKIP
    return Hint.QUEUE if old is None or not _may_go(pod, old) else Hint.SKIP


def _may_go(pod: PodInfo, node: Node) -> bool:
    return not any(untolerated(node.spec.taints, pod.spec.tolerations, FIRM))


def _own_update(pod: PodInfo, old: Pod | None, new: Pod | None) -> Hint:
    return Hint.QUEUE if new is not None and new.uid == pod.uid else Hint.SKIP
