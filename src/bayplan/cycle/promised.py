"""Nodes promised to other pods: filters are run there twice, with the promised pods counted in and without them.

Part of an attempt. A pod may not take room that a pod of equal or higher priority has been promised (it evicted others
for it).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayplan.cluster.guests import Guests
from bayplan.cluster.thinned import NOBODY, LowerPods, ThinnedNodes, too_big
from bayplan.cycle.preempt import own_row
from bayplan.errors import PluginError
from bayplan.framework.status import Code, Rejected

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import ClusterView
    from bayplan.cycle.desk import Desk
    from bayplan.cycle.evaluation import Evaluation
    from bayplan.framework.preemption import BatchDryRun


def turned_down_by_promises(
    pod: PodInfo, evaluation: Evaluation, desk: Desk
) -> dict[int, Rejected]:
    """Rows with promised pods that do not pass, and why; this goes before what the rows' own verdicts say."""
    if not len(desk.cluster.nominations) or evaluation.feasible is None:
        return {}
    engine = desk.engine(evaluation)
    batch = engine.batch(pod, evaluation.state)
    promises = engine.promises(pod)
    turned_down: dict[int, Rejected] = {}
    alone = set(promises)
    if batch is not None:
        turned_down, alone = _as_known(pod, evaluation, batch, desk.view)
        mine = own_row(pod, desk.cluster)
        if mine >= 0:
            # What is promised to the pod itself does not count against it, so what holds for its class does not hold for it.
            turned_down.pop(mine, None)
            alone = (alone - {mine}) | (promises.keys() & {mine})
    for row in _asked_for(alone, evaluation):
        trial = desk.view.trial(np.array([row], np.intp))
        rejected = engine.judge(pod, trial, 0, evaluation.state)
        if rejected is not None:
            turned_down[row] = rejected
            _raise_if_error(rejected)
    return turned_down


def _as_known(
    pod: PodInfo, evaluation: Evaluation, batch: BatchDryRun, view: ClusterView
) -> tuple[dict[int, Rejected], set[int]]:
    """Who is turned down where every filter looks at a node's own row alone, and the rows that columns cannot show."""
    cluster, known = view.cluster, evaluation.promises
    source = cluster.promises.at_least(pod.priority)
    rows = _asked_for(known.outdated(source, cluster.journal, evaluation.restated), evaluation)
    if rows:
        try:
            known.learn(*_all_at_once({row: source.by_row[row] for row in rows}, batch, view))
        except PluginError:
            known.forget()
            raise
    return dict(known.turned_down), known.alone


def _asked_for(rows: Collection[int], evaluation: Evaluation) -> list[int]:
    """Those of the rows to which PreFilter has not closed the way; in order."""
    only = evaluation.prefilter.only_nodes
    if only is not None:
        rows = [row for row in rows if evaluation.names[row] in only]
    return sorted(rows)


def _all_at_once(
    promises: Mapping[int, Sequence[PodInfo]], batch: BatchDryRun, view: ClusterView
) -> tuple[dict[int, Rejected], set[int]]:
    """Judge rows together.

    With the promised pods only: without them a node passes or not as it does for this pod anyway.
    """
    rows = np.fromiter(promises, np.intp, len(promises))
    guests = Guests(dict(enumerate(promises.values())), len(rows))
    alone = too_big(view.cluster, rows) | ~guests.is_plain
    nodes = ThinnedNodes(view.cluster, LowerPods(view.cluster, rows, NOBODY), guests)
    verdicts = batch.judge(nodes)
    turned_down = {
        int(rows[i]): verdicts.outcomes[int(verdicts.index[i]) - 1]
        for i in np.flatnonzero((verdicts.index != 0) & ~alone).tolist()
    }
    for rejected in turned_down.values():
        _raise_if_error(rejected)
    return turned_down, set(rows[alone].tolist())


def _raise_if_error(rejected: Rejected) -> None:
    if rejected.code is Code.ERROR:
        raise PluginError(rejected.plugin, "Filter", rejected.message)
