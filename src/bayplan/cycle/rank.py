"""How good the feasible nodes are: every score plugin's scores, and their sum.

Part of ``cycle.evaluation``. ``total`` is the sum of weighted scores; ``ranked`` is the same, with CLOSED on rows that
do not pass the filters, so that its maximum is the best node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.podinfo import PersonalPod
from bayplan.cycle.scoring import NodeScore, Score
from bayplan.cycle.undo import OldColumn, OldScores, OldWeights
from bayplan.errors import PluginError
from bayplan.framework.runner import call, check_range
from bayplan.framework.status import Rejected, Skip

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import Nodes
    from bayplan.cycle.ground import Changes, Ground
    from bayplan.framework.status import Mask

#: Below every total that plugins can reach.
CLOSED: Final = -(1 << 62)


class Rank:
    """The scores of all score plugins on all rows."""

    def __init__(self, pod: PodInfo, ground: Ground, feasible: Mask) -> None:
        self.plan = ground.plan
        self.nodes = ground.nodes
        self.open = feasible
        self.state = ground.state
        self.log = ground.log
        self.n = len(ground.nodes)
        #: Score plugins whose PreScore had nothing to say.
        self.skipped: set[str] = set()
        self.personal = False
        self.scores: list[Score] = []
        for plugin in self.plan.profile.prescore:
            self._prescore(plugin, pod)
        self.plan.laps.lap("PreScore")
        for step in self.plan.scores:
            part = Score(step) if step.columnar else NodeScore(step, self.n)
            if step.plugin.name not in self.skipped:
                self._score_all(part, pod)
            self.scores.append(part)
        self.plan.laps.lap("Score")
        self.total: NDArray[np.int64] = self._sum()
        self.ranked: NDArray[np.int64] = np.where(feasible, self.total, CLOSED)

    def _sum(self) -> NDArray[np.int64]:
        """The sum over the plugins that have a say; those that give all nodes the same are added up first."""
        same = 0
        total: NDArray[np.int64] | None = None
        for part in self.shown():
            weighted = part.weighted
            if isinstance(weighted, int):
                same += weighted
            else:
                total = weighted.copy() if total is None else np.add(total, weighted, out=total)
        if total is None:
            return np.full(self.n, same, np.int64)
        total += same
        return total

    def shown(self) -> list[Score]:
        """The plugins that have a say."""
        return [part for part in self.scores if part.plugin.name not in self.skipped]

    def depends_on_feasible(self) -> bool:
        """Whether a node's score may be another one when fewer nodes are feasible."""
        return any(
            (part.normalizes and not isinstance(part.raw, int))
            or part.plugin.name in self.plan.sized_by_feasible
            for part in self.shown()
        )

    def _prescore(self, plugin: Any, pod: PodInfo) -> None:
        answer = call(plugin, "PreScore", plugin.prescore, pod, self.nodes, self.open, self.state)
        if answer is None:
            self.skipped.discard(plugin.name)
        elif isinstance(answer, Skip):
            self.skipped.add(plugin.name)
        else:
            said = (
                answer.message
                if isinstance(answer, Rejected)
                else f"wants None or SKIP, got {answer!r}"
            )
            raise PluginError(plugin.name, "PreScore", said)

    def _score_all(self, part: Score, pod: PodInfo) -> None:
        if isinstance(part, NodeScore):
            rows = part.unknown(self.open)
            part.raw[rows] = self._ask(part, pod, rows)  # type: ignore[index]
        else:
            raw = part.score_all(pod, self.nodes, self.state)
            # A copy, since rows are replaced in place and the plugin may hand out an array of its own.
            part.raw = raw if isinstance(raw, int) else raw.copy()
        part.weighted = part.weigh_all(self.open, self.state)

    def _ask(self, part: NodeScore, pod: PodInfo, rows: list[int]) -> list[int]:
        """What a per-node plugin says of some nodes."""
        personal = PersonalPod(pod)
        scores = [part.score_node(personal, self.nodes, row) for row in rows]
        self.personal |= personal.personal or not part.plugin.cache
        return scores

    # --- keeping up ----------------------------------------------------------------------------------------------------

    def refresh(
        self,
        pod: PodInfo,
        changes: Changes,
        stale: set[str],
        flipped: list[int] | None,
    ) -> None:
        """Score again what changed.

        Plugins in ``stale`` have to be asked about all nodes; ``flipped`` rows became feasible or ceased to be (None: any may
        have).
        """
        few = changes.nodes
        hidden = frozenset(self.skipped)
        feasible_changed = flipped is None or bool(flipped)
        if feasible_changed and self.plan.sized_by_feasible:
            stale = stale | self.plan.sized_by_feasible
        if stale:
            for plugin in self.plan.profile.prescore:
                if plugin.name in stale:
                    self._prescore_again(plugin, pod)
        touched: set[int] | None = None if flipped is None else set(flipped)
        for part in self.scores:
            if part.plugin.name in self.skipped:
                continue
            if part.plugin.name in stale:
                self._rescore(part, pod, shown=part.plugin.name not in hidden)
                touched = None
            elif isinstance(part, NodeScore):
                touched = self._refresh_nodes(part, pod, changes, touched)
            else:
                changed = part.reads & changes.union and self._refresh_rows(part, pod, few)
                if part.normalizes and not isinstance(part.raw, int):
                    if changed or feasible_changed:
                        self._reweigh(part)
                        touched = None
                elif changed and touched is not None:
                    touched.update(few.rows.tolist())
        self._rank(touched)

    def _prescore_again(self, plugin: Any, pod: PodInfo) -> None:
        was_shown = plugin.name not in self.skipped
        self._prescore(plugin, pod)
        if was_shown and plugin.name in self.skipped:
            for part in self.scores:
                if part.plugin.name == plugin.name:
                    self.log.add(OldColumn(part, part.raw, part.weighted, shown=True))
                    self.total = self.total - part.weighted
                    part.raw = part.weighted = 0

    def _rescore(self, part: Score, pod: PodInfo, *, shown: bool) -> None:
        self.log.add(OldColumn(part, part.raw, part.weighted, shown=shown))
        old = part.weighted
        if isinstance(part, NodeScore):
            part.known[:] = False
            part.raw = np.zeros(self.n, np.int64)
        self._score_all(part, pod)
        self.total = self.total + (part.weighted - old)

    def _reweigh(self, part: Score) -> None:
        self.log.add(OldWeights(part, part.weighted))
        old = part.weighted
        part.weighted = part.weigh_all(self.open, self.state)
        self.total = self.total + (part.weighted - old)

    def _refresh_rows(self, part: Score, pod: PodInfo, few: Nodes) -> bool:
        """Score a few rows again; returns whether anything came out differently."""
        new = part.score_all(pod, few, self.state)
        if isinstance(part.raw, int):
            if isinstance(new, int) and new == part.raw:
                return False
            part.raw = np.full(self.n, part.raw, np.int64)
            part.weighted = np.full(self.n, part.weighted, np.int64)
        rows = few.rows
        if len(rows) == 1:
            row = int(rows[0])
            score = new if isinstance(new, int) else int(new[0])
            old = int(part.raw[row])
            if score == old:
                return False
            self._set(part, row, score, old)
            return True
        before = part.raw[rows]
        changed = np.flatnonzero(before != new)
        for i in changed.tolist():
            score = new if isinstance(new, int) else int(new[i])
            self._set(part, int(rows[i]), score, int(before[i]))
        return bool(len(changed))

    def _set(self, part: Score, row: int, score: int, old: int) -> None:
        raw, weighted = part.raw, part.weighted
        assert not isinstance(raw, int)
        assert not isinstance(weighted, int)
        before = int(weighted[row])
        self.log.add(OldScores(part, row, old, before))
        raw[row] = score
        if not part.normalizes:
            check_range(part.plugin, score)
            weighted[row] = score * part.weight
            self.total[row] += score * part.weight - before

    def _refresh_nodes(
        self,
        part: NodeScore,
        pod: PodInfo,
        changes: Changes,
        touched: set[int] | None,
    ) -> set[int] | None:
        if part.reads & changes.union:
            part.known[changes.rows(part.reads)] = False
        unknown = part.unknown(self.open)
        if not unknown:
            if part.normalizes and touched != set():
                self._reweigh(part)
                return None
            return touched
        raw = part.raw
        assert not isinstance(raw, int)
        for row, score in zip(unknown, self._ask(part, pod, unknown), strict=True):
            self._set(part, row, score, int(raw[row]))
        if part.normalizes:
            self._reweigh(part)
            return None
        return None if touched is None else touched.union(unknown)

    def _rank(self, touched: set[int] | None) -> None:
        if touched is None:
            self.ranked = np.where(self.open, self.total, CLOSED)
            return
        for row in touched:
            self.ranked[row] = self.total[row] if self.open[row] else CLOSED
