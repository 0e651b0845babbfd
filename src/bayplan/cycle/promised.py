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
    only = evaluation.prefilter.only_nodes
    promises = {
        row: others
        for row, others in engine.promises(pod).items()
        if only is None or evaluation.names[row] in only
    }
    turned_down: dict[int, Rejected] = {}
    alone: Collection[int] = promises
    batch = engine.batch(pod, evaluation.state) if promises else None
    if batch is not None:
        turned_down, alone = _all_at_once(promises, batch, desk.view)
    for row in alone:
        trial = desk.view.trial(np.array([row], np.intp))
        rejected = engine.judge(pod, trial, 0, evaluation.state)
        if rejected is not None:
            turned_down[row] = rejected
    for rejected in turned_down.values():
        if rejected.code is Code.ERROR:
            raise PluginError(rejected.plugin, "Filter", rejected.message)
    return turned_down


def _all_at_once(
    promises: Mapping[int, Sequence[PodInfo]], batch: BatchDryRun, view: ClusterView
) -> tuple[dict[int, Rejected], list[int]]:
    """Who is turned down where every filter looks at a node's own row alone, and the rows that columns cannot show.

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
    return turned_down, rows[alone].tolist()
