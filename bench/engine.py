"""``make bench-engine``: the engine alone, one thread, decision record on; one JSON line per row.

Each row runs in a process of its own, so that ``rss_mb`` is its own. Figures of two machines compare by the row
``calibration``, a fixed loop of Python and NumPy. Name rows to run just these: ``python -m bench.engine basic spread``.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

from bayplan.cycle.attempt import attempt
from bayplan.cycle.desk import Desk
from bayplan.cycle.evaluation import Evaluation
from bayplan.cycle.outcome import Failed, Placed, Unplaced
from bayplan.testing import make_desk
from bench.workloads import Workload, cluster_of, pods, workloads

#: ``CLOCK=cpu`` counts the thread's CPU time, which other processes on the machine disturb less than the wall clock.
_CLOCK = time.thread_time if os.environ.get("CLOCK") == "cpu" else time.perf_counter


def main() -> None:
    """Run the rows that were asked for, each in a fresh process."""
    known = ["calibration", *workloads()]
    if len(sys.argv) == 3 and sys.argv[1] == "--row":
        print(json.dumps(_row(sys.argv[2])), flush=True)
        return
    for name in sys.argv[1:] or known:
        if name not in known:
            sys.exit(f"no row {name!r}: there are {', '.join(known)}")
        subprocess.run([sys.executable, "-m", "bench.engine", "--row", name], check=True)


def _row(name: str) -> dict[str, Any]:
    if name == "calibration":
        return _calibration()
    workload = workloads()[name]
    times = times_of(workload)
    return _line(name, workload.nodes, len(times), workload.classes, times)


def times_of(workload: Workload) -> list[float]:
    """Seconds for each pod, from its object to the node that it is assumed on."""
    gc.set_threshold(100_000, 50, 1000)
    cluster = cluster_of(workload)
    desk = make_desk(cluster, *workload.plugins)
    waiting = list(pods(workload.pods, workload.pod, classes=workload.classes))
    gc.collect()
    gc.freeze()
    times = _run(workload, desk, waiting)
    if workload.checked:
        _compare_with_fresh(desk, waiting[-1])
    return times


def _run(workload: Workload, desk: Desk, waiting: list[Any]) -> list[float]:
    """Decide and assume every pod; seconds per pod."""
    cluster, clock, times = desk.cluster, _CLOCK, []
    for pod in waiting:
        start = clock()
        info = cluster.info(pod)
        outcome = attempt(info, desk)
        if isinstance(outcome, Placed):
            cluster.assume(info, outcome.node)
            times.append(clock() - start)
            continue
        times.append(clock() - start)
        if isinstance(outcome, Failed):
            raise outcome.error
        if not workload.preempts or outcome.nominated is None:
            sys.exit(f"{info.key}: {outcome.message}")
        _evict(desk, outcome, info)
    return times


def _evict(desk: Desk, outcome: Unplaced, info: Any) -> None:
    """What follows a nomination, not timed: the victims go and the pod comes."""
    assert outcome.nominated is not None
    for victim in outcome.nominated.victims:
        desk.cluster.remove_pod(victim.namespace, victim.name, victim.uid)
    desk.cluster.assume(info, outcome.nominated.node)


def _compare_with_fresh(desk: Desk, pod: Any) -> None:
    """The evaluation kept up to date row by row equals one made from scratch."""
    info = desk.cluster.info(pod)
    info.name = "one-more"
    kept = desk.classes.evaluation(info).ranking(info).ranked
    fresh = Evaluation(info, desk.classes.plan, desk.view).ranking(info).ranked
    if not np.array_equal(kept, fresh):
        sys.exit("the evaluation that was kept up to date differs from a fresh one")


def _calibration() -> dict[str, Any]:
    """Some dictionary work and some column work, a thousand times."""
    rng = np.random.default_rng(0)
    free, wanted = rng.integers(0, 4000, 5000), 700
    times = []
    for _ in range(1000):
        start = _CLOCK()
        counts: dict[str, int] = {}
        for i in range(200):
            key = f"k{i % 17}"
            counts[key] = counts.get(key, 0) + i
        fits = free >= wanted
        score = np.where(fits, (free * 100) // 4000, -1)
        int(np.flatnonzero(score == score.max())[0])
        times.append(_CLOCK() - start)
    return _line("calibration", 5000, 1000, 0, times)


def _line(
    name: str, nodes: int, pod_count: int, classes: int, times: list[float]
) -> dict[str, Any]:
    microseconds = np.array(times) * 1e6
    return {
        "row": name,
        "nodes": nodes,
        "pods": pod_count,
        "classes": classes,
        "pods_per_s": round(pod_count / sum(times), 1),
        "p50_us": round(float(np.percentile(microseconds, 50)), 1),
        "p99_us": round(float(np.percentile(microseconds, 99)), 1),
        "rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }


if __name__ == "__main__":
    main()
