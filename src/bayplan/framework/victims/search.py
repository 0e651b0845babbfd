"""Trying nodes out: who would have to go so that the pod fits.

Fed by the plugin with the nodes in question, from a random one on; fills ``Candidates``. On each node all pods that may
go, those of lower priority as a rule, are taken away. If the pod fits then, they are put back one by one, the most important first, as long as it
still fits: those that cannot be put back are the victims.

Where every filter looks at a node's own row alone, this is done for many nodes at once: the k-th pods of all nodes are
put back together, and one call of the filters tells which of them may stay. All other nodes are tried one by one, on a
clone of the cycle state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.guests import Guests
from bayplan.cluster.thinned import too_big
from bayplan.framework.status import Rejected
from bayplan.framework.victims.candidates import Candidates, Trial
from bayplan.framework.victims.importance import by_importance
from bayplan.framework.victims.messages import NO_VICTIMS
from bayplan.framework.victims.protection import Protection
from bayplan.framework.victims.supposed import Supposed

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.thinned import LowerPods
    from bayplan.cluster.view import ClusterView
    from bayplan.framework.preemption import DryRun
    from bayplan.framework.state import CycleState

Rows = NDArray[np.intp]
#: Nodes tried at once at the least, where that is possible: fewer take hardly less time.
_AT_ONCE: Final = 128


class Search:
    """One pod's search for room."""

    def __init__(
        self,
        pod: PodInfo,
        view: ClusterView,
        state: CycleState,
        dry_run: DryRun,
        lower_pods: Callable[[Rows], LowerPods],
    ) -> None:
        """``lower_pods``: who may go, on some nodes."""
        self._lower_pods = lower_pods
        self._pod = pod
        self._view = view
        self._state = state
        self._dry_run = dry_run
        self._batch = dry_run.batch(pod, state)
        self._protection = Protection(view.cluster)
        self._promises = dry_run.promises(pod)

    def run(self, rows: Rows, found: Candidates) -> None:
        """Try rows in order until there are candidates enough."""
        start, at_once = 0, 0
        while start < len(rows) and not found.enough:
            # So many are needed at the very least, so none of them is tried in vain.
            at_once = (
                found.lacking if self._batch is None else max(4 * at_once, found.lacking, _AT_ONCE)
            )
            found.add(self._try(rows[start : start + at_once]))
            start += at_once

    def _try(self, rows: Rows) -> Trial:
        cluster = self._view.cluster
        lower = self._lower_pods(rows)
        trial = Trial(lower)
        alone = np.ones(len(rows), np.bool_)
        nodes: Supposed | None = None
        if self._batch is not None:
            guests = self._guests(rows)
            alone = ~guests.is_plain | too_big(cluster, rows)
            nodes = Supposed(cluster, lower, guests, self._batch)
            nodes.judge(trial)
        alone &= lower.counts > 0
        trial.objects(lower.counts == 0, NO_VICTIMS)
        if alone.any() or (trial.index == 0).any():
            order = by_importance(cluster.pods, lower)
            trial.rank(order, self._protection.protected(lower, order))
        if nodes is not None:
            nodes.let_stay(trial)
        for i in np.flatnonzero(alone).tolist():
            self._try_alone(i, trial)
        trial.settle(cluster)
        return trial

    def _guests(self, rows: Rows) -> Guests:
        """The pods to which some of these nodes are promised."""
        if not self._promises:
            return Guests({}, len(rows))
        promised = np.flatnonzero(np.isin(rows, list(self._promises))).tolist()
        return Guests({i: self._promises[int(rows[i])] for i in promised}, len(rows))

    # --- one node ------------------------------------------------------------------------------------------------------

    def _try_alone(self, i: int, trial: Trial) -> None:
        """Find the victims on one node, for every kind of filter."""
        victims: list[int] = []
        said = self._victims(i, trial, victims)
        if said is not None:
            trial.objects(np.arange(len(trial.index)) == i, said)
            return
        trial.clear(i)
        trial.victim[victims] = True

    def _victims(self, i: int, trial: Trial, victims: list[int]) -> Rejected | None:
        dry_run, pod, cluster = self._dry_run, self._pod, self._view.cluster
        lower = trial.lower
        nodes, state = self._view.trial(lower.rows[i : i + 1]), self._state.clone()
        name, first = nodes.name(0), int(lower.starts[i])
        others = [
            cluster.pods.info(row, name)
            for row in lower.pods[first : first + int(lower.counts[i])].tolist()
        ]
        for other in others:
            said = dry_run.remove_pod(pod, other, nodes, 0, state)
            if said is not None:
                return said
        said = dry_run.judge(pod, nodes, 0, state)
        if said is not None:
            return said
        for position in trial.turns(i).tolist():
            other = others[position - first]
            said = dry_run.add_pod(pod, other, nodes, 0, state)
            if said is not None:
                return said
            if not dry_run.fits(pod, nodes, 0, state):
                victims.append(position)
                said = dry_run.remove_pod(pod, other, nodes, 0, state)
                if said is not None:
                    return said
        return None
