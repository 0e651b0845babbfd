"""Nodes promised to other pods: filters are run there twice, with the promised pods counted in and without them.

Part of an attempt. A pod may not take room that a pod of equal or higher priority has been promised (it evicted others
for it).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayplan.errors import PluginError
from bayplan.framework.status import Code, Rejected

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cycle.desk import Desk
    from bayplan.cycle.evaluation import Evaluation


def turned_down_by_promises(
    pod: PodInfo, evaluation: Evaluation, desk: Desk
) -> dict[int, Rejected]:
    """Rows with promised pods that do not pass, and why; this goes before what the rows' own verdicts say."""
    turned_down: dict[int, Rejected] = {}
    if not len(desk.cluster.nominations) or evaluation.feasible is None:
        return turned_down
    engine = desk.engine(evaluation)
    only = evaluation.prefilter.only_nodes
    for row in engine.promised_rows(pod):
        if only is not None and evaluation.names[row] not in only:
            continue
        trial = desk.view.trial(np.array([row], np.intp))
        rejected = engine.judge(pod, trial, 0, evaluation.state)
        if rejected is not None:
            if rejected.code is Code.ERROR:
                raise PluginError(rejected.plugin, "Filter", rejected.message)
            turned_down[row] = rejected
    return turned_down
