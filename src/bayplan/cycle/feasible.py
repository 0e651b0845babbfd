"""Which nodes pass all filters: every filter plugin's verdicts, kept together.

Part of ``cycle.evaluation``. ``fails`` counts the plugins that turn a row down; a row is ``open`` where none does.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.podinfo import PersonalPod
from bayplan.cycle.filtering import Fixed, NodeVerdict, Verdict, error_among, raise_if_error
from bayplan.cycle.undo import OldIndex, OldVerdicts
from bayplan.framework.status import unresolvable

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cycle.ground import Changes, Ground
    from bayplan.cycle.prefilter import PreFilterResult

NO_NODE: Final = unresolvable("node does not exist")


class Feasible:
    """The verdicts of all filter plugins on all rows."""

    def __init__(self, pod: PodInfo, ground: Ground, prefilter: PreFilterResult) -> None:
        self.nodes = ground.nodes
        self.state = ground.state
        self.log = ground.log
        self.n = len(ground.nodes)
        #: In the order in which a node meets them: the first that fails gives the reason.
        self.verdicts: list[Verdict] = []
        self.fails: NDArray[np.int16] = np.zeros(self.n, np.int16)
        #: Rows whose openness changed in the last refresh; None: any may have.
        self.flipped: list[int] | None = None
        #: A plugin's verdict on some row is an error. While another plugin turns the row down before it, nobody hears of
        #: it; whether that is still so is found out anew at each attempt.
        self.errs = False
        #: A per-node plugin read what sets one pod apart from the next.
        self.personal = False
        self._add(Fixed(ground.nodes.alive, NO_NODE))
        only = prefilter.only_nodes
        if only is not None:
            asked_for = np.fromiter((name in only for name in ground.names), np.bool_, self.n)
            self._add(Fixed(asked_for, prefilter.left_out))
        for plugin, columnar, reads in ground.plan.filters:
            if plugin.name not in prefilter.skipped:
                part = Verdict(plugin, reads) if columnar else NodeVerdict(plugin, self.n)
                self._judge_all(part, pod)
                self._add(part)
        self.open: NDArray[np.bool_] = self.fails == 0
        self._per_node = [
            (i, part) for i, part in enumerate(self.verdicts) if isinstance(part, NodeVerdict)
        ]

    def _add(self, part: Verdict) -> None:
        self.verdicts.append(part)
        if part.index is not None:
            self.fails += part.index != 0

    def _judge_all(self, part: Verdict, pod: PodInfo) -> None:
        """A plugin's first verdicts; ``fails`` counts the plugins before it."""
        if isinstance(part, NodeVerdict):
            self._judge_nodes(part, pod, np.flatnonzero(self.fails == 0).tolist())
            return
        part.index = part.judge_all(pod, self.nodes, self.state)
        if part.index is not None:
            raise_if_error(part, part.index[self.fails == 0])
            self.errs |= error_among(part, part.index) is not None

    def _judge_nodes(self, part: NodeVerdict, pod: PodInfo, rows: list[int]) -> None:
        personal = PersonalPod(pod)
        assert part.index is not None
        for row in rows:
            part.index[row] = part.judge_node(personal, self.nodes, row)
        self.personal |= personal.personal or not part.plugin.cache
        raise_if_error(part, part.index[rows])

    # --- keeping up ----------------------------------------------------------------------------------------------------

    def rejudge(self, pod: PodInfo, plugins: Container[str]) -> None:
        """All verdicts of some plugins anew: something cluster-wide has changed for them."""
        for part in self.verdicts:
            if part.plugin.name not in plugins:
                continue
            if isinstance(part, NodeVerdict):
                part.known[:] = False
                continue
            old, new = part.index, part.judge_all(pod, self.nodes, self.state)
            if old is None and new is None:
                continue
            self.log.add(OldIndex(part, old))
            if old is not None:
                self.fails -= old != 0
            if new is not None:
                self.fails += new != 0
            part.index = new
            if new is not None:
                self.errs |= error_among(part, new) is not None
            self.flipped = None
        if self.flipped is None:
            np.equal(self.fails, 0, out=self.open)

    def refresh(self, pod: PodInfo, changes: Changes) -> None:
        """Judge the rows that changed again, by the plugins that read what changed."""
        few = changes.nodes
        for part in self.verdicts:
            if not part.reads & changes.union:
                continue
            if isinstance(part, NodeVerdict):
                part.known[changes.rows(part.reads)] = False
            else:
                self._replace(part, few.rows, part.judge(pod, few, self.state))

    def _replace(self, part: Verdict, rows: NDArray[np.intp], new: NDArray[np.int16] | int) -> None:
        if part.index is None:
            if isinstance(new, int) and new == 0:
                return
            part.index = np.zeros(self.n, np.int16)
        if len(rows) == 1:
            row = int(rows[0])
            number = new if isinstance(new, int) else int(new[0])
            old = int(part.index[row])
            if old != number:
                self.log.add(OldVerdicts(part, row, old))
                part.index[row] = number
                self._count(row, (number != 0) - (old != 0))
        else:
            before = part.index[rows]
            changed = np.flatnonzero(before != new)
            if len(changed):
                self.log.add(OldVerdicts(part, rows[changed], before[changed]))
                part.index[rows] = new
                delta = (part.index[rows[changed]] != 0).astype(np.int8) - (before[changed] != 0)
                for row, change in zip(rows[changed].tolist(), delta.tolist(), strict=True):
                    self._count(row, change)
        self.errs |= error_among(part, new) is not None

    def _count(self, row: int, change: int) -> None:
        if not change:
            return
        fails = int(self.fails[row]) + change
        self.fails[row] = fails
        if self.open[row] != (fails == 0):
            self.open[row] = fails == 0
            if self.flipped is not None:
                self.flipped.append(row)

    def judge_unknown(self, pod: PodInfo) -> None:
        """Ask the per-node plugins about nodes that are in play and not known."""
        for position, part in self._per_node:
            if part.known.all():
                continue
            in_play = ~part.known
            for earlier in self.verdicts[:position]:
                if earlier.index is not None:
                    in_play &= earlier.index == 0
            rows = np.flatnonzero(in_play)
            if len(rows):
                assert part.index is not None
                before = part.index[rows]
                self._judge_nodes(part, pod, rows.tolist())
                after = part.index[rows]
                part.index[rows] = before  # so that _replace sees the change
                self._replace(part, rows, after)
