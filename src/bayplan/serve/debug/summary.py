"""``/debug/summary``: what ``bayplan top`` shows: counts, counters to make rates of, what pods wait for, nodes by load.

Read from the queue, the metrics and the columns; small whatever the size of the cluster.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bayplan.queueing.entry import Place
from bayplan.serve.debug.queue import by_plugin
from bayplan.serve.debug.times import Times

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bayplan.cluster.nodes import NodeTable
    from bayplan.runtime.scheduler import Scheduler

#: Pods whose reasons are counted: a full cluster has a hundred thousand, and this page is asked for every other second.
_LOOKED_AT: Final = 2000
_SHOWN: Final = 20


def summary(scheduler: Scheduler, *, leading: bool, nodes: int = _SHOWN) -> dict[str, Any]:
    """The page."""
    board = scheduler.board
    times = Times(board.clock)
    reasons, oldest, looked_at = _reasons(scheduler)
    return {
        "time": times.at(times.now),
        "monotonic": times.now,
        "leading": leading,
        "profiles": sorted(scheduler.counters),
        "queue": board.queue.pending(),
        "inFlight": len(board.chronicle.under_way()),
        "binding": scheduler.binder.sending,
        "attempts": board.metrics.attempts_by_result(),
        "unschedulable": by_plugin(scheduler),
        "reasons": [{"reason": text, "pods": count} for text, count in reasons.most_common(_SHOWN)],
        "reasonsOf": looked_at,
        "oldest": None if oldest is None else times.age(oldest),
        "nodes": _nodes(board.cluster.nodes, nodes),
        "pods": len(board.cluster.pods),
    }


def _reasons(scheduler: Scheduler) -> tuple[Counter[str], float | None, int]:
    """What was last said of the pods that wait, since when the first of them waits, and how many were looked at."""
    reasons: Counter[str] = Counter()
    oldest: float | None = None
    looked_at = 0
    for queued in islice(scheduler.board.queue.pods(), _LOOKED_AT):
        looked_at += 1
        moves, attempts = queued.history.moves, queued.history.attempts
        if moves and (oldest is None or moves[0].at < oldest):
            oldest = moves[0].at
        if queued.place is Place.GATED:
            reasons[f"gated by {queued.gating_plugin}"] += 1
        elif attempts:
            reasons[attempts[-1].message] += 1
    return reasons, oldest, looked_at


def _nodes(table: NodeTable, most: int) -> dict[str, Any]:
    """The fullest nodes, and all of them together."""
    used = table.rows.used
    alive = table.alive.data[:used]
    rows = np.flatnonzero(alive)
    shares = {name: _share(table, name, used) for name in ("cpu", "memory")}
    load = np.maximum(shares["cpu"], shares["memory"])[rows]
    fullest = rows[np.argsort(-load, kind="stable")[:most]]
    return {
        "count": len(rows),
        "cordoned": int(np.count_nonzero(table.unschedulable.data[:used] & alive)),
        "cpu": _together(table, "cpu", rows),
        "memory": _together(table, "memory", rows),
        "pods": [int(table.pod_count.data[rows].sum()), int(table.max_pods.data[rows].sum())],
        "fullest": [
            {
                "node": table.names[row],
                "cpu": round(float(shares["cpu"][row]), 4),
                "memory": round(float(shares["memory"][row]), 4),
                "pods": int(table.pod_count.data[row]),
                "maxPods": int(table.max_pods.data[row]),
                "cordoned": bool(table.unschedulable.data[row]),
            }
            for row in fullest.tolist()
        ],
    }


def _share(table: NodeTable, resource: str, used: int) -> NDArray[np.float64]:
    number = table.resource_id(resource)
    offered = table.allocatable[number].data[:used].astype(np.float64)
    asked = table.requested[number].data[:used].astype(np.float64)
    return np.divide(asked, offered, out=np.zeros(used), where=offered > 0)


def _together(table: NodeTable, resource: str, rows: NDArray[np.intp]) -> list[float]:
    """Requested and allocatable, CPU in milli-units."""
    number = table.resource_id(resource)
    columns = table.requested[number].data, table.allocatable[number].data
    return [float(column[rows].astype(np.float64).sum()) for column in columns]
