"""Many nodes at once, as they would be without their pods of lower priority.

A node that is promised to other pods has to suit with them and without them: they may end up elsewhere. Filled by
``search`` with the nodes that are tried; says what stands in the way, and which pods may stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.thinned import ThinnedNodes

if TYPE_CHECKING:
    from bayplan.cluster.guests import Guests
    from bayplan.cluster.tables import Tables
    from bayplan.cluster.thinned import LowerPods
    from bayplan.framework.preemption import BatchDryRun
    from bayplan.framework.victims.candidates import Trial


class Supposed:
    """The nodes of one trial, once or, where some are promised, twice."""

    def __init__(
        self, cluster: Tables, lower: LowerPods, guests: Guests, batch: BatchDryRun
    ) -> None:
        self._lower = lower
        self._batch = batch
        self._without = ThinnedNodes(cluster, lower)
        self._both = [self._without]
        if len(guests):
            self._both.insert(0, ThinnedNodes(cluster, lower, guests))

    def judge(self, trial: Trial) -> None:
        """Note the first objection to each node; one that is heard with the promised pods goes first."""
        for nodes in self._both:
            verdicts = self._batch.judge(nodes)
            new = (trial.index == 0) & (verdicts.index != 0)
            trial.index[new] = verdicts.index[new] + len(trial.outcomes)
            trial.outcomes.extend(verdicts.outcomes)

    def let_stay(self, trial: Trial) -> None:
        """Put pods back in rounds, one on each node where the pod fits; who cannot stay is a victim."""
        lower, in_play = self._lower, trial.index == 0
        turns = trial.all_turns()
        for turn in range(int(lower.counts.max(where=in_play, initial=0))):
            whose = np.flatnonzero(in_play & (lower.counts > turn))
            pods = turns[lower.starts[whose] + turn]
            for nodes in self._both:
                nodes.put_back(pods)
            stays = self._fits()[whose]
            for nodes in self._both:
                nodes.take_away(pods[~stays])
        trial.victim[:] = self._without.absent & in_play[lower.owner]

    def _fits(self) -> NDArray[np.bool_]:
        fits = self._batch.fits(self._both[0])
        for nodes in self._both[1:]:
            fits &= self._batch.fits(nodes)
        return fits
