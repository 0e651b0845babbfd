"""What a profile says of every node for one class of alike pods, kept true while the cluster changes.

Built in full for the first pod of a class; for the next one only the rows that changed since are judged and scored
again (``catch_up``). Both ways run the same plugin code, on all rows or on a few.

Fed by ``cycle.classes``; read by ``cycle.attempt`` and ``cycle.record``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bayplan.cycle.feasible import Feasible
from bayplan.cycle.ground import Changes, Ground
from bayplan.cycle.known_promises import KnownPromises
from bayplan.cycle.prefilter import PreFilterResult, ask, run_prefilters
from bayplan.cycle.rank import Rank
from bayplan.cycle.undo import UndoLog
from bayplan.framework.runner import call
from bayplan.framework.state import CycleState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import ClusterView
    from bayplan.cycle.plan import Plan, WatchStep
    from bayplan.framework.plugin import Plugin

#: With more changed rows than this share of all, a fresh evaluation is cheaper.
TOO_MANY: Final = 0.25


class Watch:
    """A plugin that depends on more than one row: as of which state of the cluster its verdicts hold."""

    __slots__ = ("plugin", "reads", "stamp", "versions")

    def __init__(self, step: WatchStep, stamp: Any, versions: tuple[int, ...]) -> None:
        self.plugin, self.reads = step
        #: What the plugin itself says its verdicts depend on.
        self.stamp = stamp
        #: The topics that it reads: while they stand still, there is no need to ask for the stamp.
        self.versions = versions


class Evaluation:
    """Verdicts and scores of all nodes for one class of pods."""

    def __init__(self, pod: PodInfo, plan: Plan, view: ClusterView) -> None:
        self.plan = plan
        self.view = view
        journal = view.cluster.journal
        #: Rows do not come, go or change hands within the life of an evaluation.
        self.node_set = journal.node_set
        self.names: tuple[str, ...] = view.cluster.nodes.row_names()
        self.position = journal.end
        self.state = CycleState()
        self.log = UndoLog()
        #: What nodes promised to other pods come to; the count is of changes in what plugins see of the whole cluster.
        self.promises = KnownPromises()
        self.restated = 0
        self.prefilter: PreFilterResult = run_prefilters(pod, plan.profile, view, self.state)
        plan.laps.lap("PreFilter")
        #: None where PreFilter turned the pod down whole.
        self.feasible: Feasible | None = None
        #: None until somebody asks for a ranking.
        self.rank: Rank | None = None
        if self.prefilter.rejection is None:
            self.feasible = Feasible(pod, self._ground(), self.prefilter)
            plan.laps.lap("Filter")
        self._watches = [
            Watch(
                step,
                self._stamp(step.plugin, pod),
                () if step.reads is None else journal.versions(step.reads),
            )
            for step in plan.watched
        ]

    def _stamp(self, plugin: Plugin, pod: PodInfo) -> Any:
        return call(plugin, "Stamp", plugin.stamp, pod, self.view, self.state)

    def _ground(self) -> Ground:
        return Ground(self.plan, self.view.nodes, self.names, self.state, self.log)

    def ranking(self, pod: PodInfo) -> Rank:
        """Scores of all nodes; computed when first asked for."""
        if self.rank is None:
            assert self.feasible is not None
            self.rank = Rank(pod, self._ground(), self.feasible.open)
        return self.rank

    def ranking_without(self, pod: PodInfo, rows: Iterable[int]) -> Rank:
        """Scores for a pod that may not have some of the nodes; those of its class where that makes no difference."""
        rank = self.ranking(pod)
        left = rank.open.copy()
        left[list(rows)] = False
        if not rank.depends_on_feasible() or (left == rank.open).all():
            return rank
        ground = Ground(self.plan, self.view.nodes, self.names, self.state.fork(), UndoLog())
        return Rank(pod, ground, left)

    def catch_up(self, pod: PodInfo) -> bool:
        """Bring everything up to date for the next pod; False where only a fresh evaluation will do."""
        journal = self.view.cluster.journal
        if journal.node_set != self.node_set or self.is_personal() or self._errs():
            return False
        news = journal.since(self.position)
        if news is None or len(news[0]) > 16 + TOO_MANY * len(self.names):
            return False
        self.position = journal.end
        stale = self._stale(pod)
        if stale and not self._prefilter_again(pod, stale):
            return False
        self.plan.laps.lap("PreFilter")
        if self.feasible is not None:
            self._refresh(pod, stale, *news)
        return not (self.is_personal() or self._errs())

    def is_personal(self) -> bool:
        """Whether a plugin has asked what sets the pod apart from alike ones."""
        return (self.feasible is not None and self.feasible.personal) or (
            self.rank is not None and self.rank.personal
        )

    def _errs(self) -> bool:
        return self.feasible is not None and self.feasible.errs

    def _stale(self, pod: PodInfo) -> set[str]:
        """Plugins for which something cluster-wide has changed."""
        stale: set[str] = set()
        versions_of = self.view.cluster.journal.versions
        for watch in self._watches:
            if watch.reads is not None:
                versions = versions_of(watch.reads)
                if versions == watch.versions:
                    continue
                watch.versions = versions
            stamp = self._stamp(watch.plugin, pod)
            if stamp != watch.stamp:
                watch.stamp = stamp
                stale.add(watch.plugin.name)
        self.restated += bool(stale)
        return stale

    def _prefilter_again(self, pod: PodInfo, stale: set[str]) -> bool:
        """PreFilter anew for some plugins; False where an answer is of another kind than before."""
        for plugin in self.plan.profile.prefilter:
            # One that was not asked comes after one that turned the pod down for good.
            if plugin.name in stale and plugin.name in self.prefilter.answers:
                answer = ask(plugin, pod, self.view, self.state)
                if answer != self.prefilter.answers[plugin.name]:
                    return False
        return True

    def _refresh(self, pod: PodInfo, stale: set[str], rows: list[int], kinds: list[int]) -> None:
        feasible = self.feasible
        assert feasible is not None
        changes = _changes(self.view, rows, kinds)
        feasible.flipped = []
        if stale:
            feasible.rejudge(pod, stale)
        if rows:
            feasible.refresh(pod, changes)
        feasible.judge_unknown(pod)
        self.plan.laps.lap("Filter")
        if feasible.errs:
            return
        if self.rank is not None:
            self.rank.refresh(pod, changes, stale, feasible.flipped)
            self.plan.laps.lap("Score")


def _changes(view: ClusterView, rows: list[int], kinds: list[int]) -> Changes:
    if len(rows) > 1:
        merged: dict[int, int] = {}
        for row, kind in zip(rows, kinds, strict=True):
            merged[row] = merged.get(row, 0) | int(kind)
        rows, kinds = list(merged), list(merged.values())
    union = 0
    for kind in kinds:
        union |= kind
    return Changes(view.rows(np.array(rows, np.intp)), kinds, union)
