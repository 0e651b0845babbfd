"""Rows of figures from the runs: medians of the rounds, and ratios between schedulers of one workload and mode.

Fed by ``campaign``; written as JSON, one row per workload, mode and scheduler, and as a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from rich.table import Table

from bayplan.bench.trial import Result


@dataclass(frozen=True, slots=True)
class Row:
    """One scheduler on one workload in one mode."""

    workload: str
    mode: str
    scheduler: str
    rounds: int
    pods_per_s: float
    #: The median of one-second samples.
    p50_pods_per_s: float
    #: Of kube-scheduler as it comes; None where that was not run.
    ratio_to_stock: float | None
    share_of_ceiling: float | None
    first_bind_s: float
    p50_ms: float
    p99_ms: float
    #: Of the scheduler, over the whole run; for one bound pod in microseconds beside it.
    cpu_s: float
    cpu_us_per_pod: float
    rss_mb: float
    api_cpu_s: float
    api_rss_mb: float
    wanted: int
    bound: int
    #: Gangs that are complete, and when the first was; None where there are no gangs.
    gangs: int | None
    first_gang_s: float | None
    #: The same as a part of what kube-scheduler took; below 1 is sooner.
    first_gang_to_stock: float | None
    #: ``clean``, or what is wrong.
    audit: str


#: By workload, mode and scheduler.
Figures = dict[tuple[str, str, str], float]


def rows(results: Iterable[Result]) -> list[Row]:
    """One row per workload, mode and scheduler, in the order of their first run."""
    groups: dict[tuple[str, str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.workload, result.mode, result.scheduler), []).append(result)
    speeds = {key: median(_speed(r) for r in group) for key, group in groups.items()}
    firsts = {key: first for key, group in groups.items() if (first := _first_gang(group))}
    return [_row(group, speeds, firsts) for group in groups.values()]


def _first_gang(group: Sequence[Result]) -> float | None:
    found = [result.gangs[0] for result in group if result.gangs]
    return median(found) if found else None


def _row(group: Sequence[Result], speeds: Figures, firsts: Figures) -> Row:
    workload, mode, scheduler = group[0].workload, group[0].mode, group[0].scheduler
    speed = speeds[workload, mode, scheduler]
    gangs = [result.gangs for result in group if result.gangs is not None]
    first = firsts.get((workload, mode, scheduler))
    wrong = [problem for result in group for problem in result.wrong]
    return Row(
        workload=workload,
        mode=mode,
        scheduler=scheduler,
        rounds=len(group),
        pods_per_s=round(speed, 1),
        p50_pods_per_s=round(median(_per_second(r.times) for r in group), 1),
        ratio_to_stock=_ratio(speed, speeds.get((workload, mode, "stock"))),
        share_of_ceiling=_ratio(speed, speeds.get((workload, mode, "ceiling"))),
        first_bind_s=round(median(r.times[0] if r.times else 0.0 for r in group), 3),
        p50_ms=round(median(_at(r.latencies, 0.5) for r in group) * 1000, 1),
        p99_ms=round(median(_at(r.latencies, 0.99) for r in group) * 1000, 1),
        cpu_s=round(median(r.scheduler_cost.cpu_s for r in group), 2),
        cpu_us_per_pod=round(
            median(r.scheduler_cost.cpu_s / max(r.bound, 1) for r in group) * 1e6, 1
        ),
        rss_mb=round(median(r.scheduler_cost.rss_mb for r in group), 1),
        api_cpu_s=round(median(r.api_cost.cpu_s for r in group), 2),
        api_rss_mb=round(median(r.api_cost.rss_mb for r in group), 1),
        wanted=group[0].wanted,
        bound=min(r.bound for r in group),
        gangs=min(map(len, gangs)) if gangs else None,
        first_gang_s=round(first, 3) if first else None,
        first_gang_to_stock=_ratio(first or 0.0, firsts.get((workload, mode, "stock"))) or None,
        audit="clean" if not wrong else f"{len(wrong)} wrong: {wrong[0]}",
    )


def _speed(result: Result) -> float:
    """Pods per second from the first bound pod to the last."""
    times = result.times
    if len(times) < 2 or times[-1] <= times[0]:
        return 0.0
    if result.from_start:
        return len(times) / times[-1]
    return (len(times) - 1) / (times[-1] - times[0])


def _per_second(times: Sequence[float]) -> float:
    """The median of whole seconds; the first, in which a scheduler warms up, does not count where there are others."""
    if not times:
        return 0.0
    samples = [0] * (int(times[-1] - times[0]) + 1)
    for time in times:
        samples[int(time - times[0])] += 1
    # The last second is not over when the last pod is bound.
    whole = samples[1:-1] or samples[:-1] or samples
    return float(median(whole))


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else 0.0


def _ratio(speed: float, other: float | None) -> float | None:
    return round(speed / other, 2) if other else None


def as_json(found: Iterable[Row]) -> list[dict[str, Any]]:
    """As plain values."""
    return [asdict(row) for row in found]


def table(found: Iterable[Row]) -> Table:
    """For a terminal."""
    shown = Table(title="median of the rounds")
    columns: tuple[str, ...] = ("workload", "mode", "scheduler", "pods/s", "to stock", "of ceiling")
    columns += (
        "first s",
        "p50 ms",
        "p99 ms",
        "cpu s",
        "µs/pod",
        "MB",
        "api cpu s",
        "bound",
        "audit",
    )
    found = list(found)
    with_gangs = any(row.gangs is not None for row in found)
    if with_gangs:
        columns = (*columns[:-2], "gangs", "first gang s", "of stock", *columns[-2:])
    for name in columns:
        shown.add_column(name, justify="left" if name in columns[:3] else "right")
    before = ""
    for row in found:
        if before not in ("", row.workload + row.mode):
            shown.add_section()
        before = row.workload + row.mode
        figures = [row.pods_per_s, row.ratio_to_stock, row.share_of_ceiling, row.first_bind_s]
        figures += [
            row.p50_ms,
            row.p99_ms,
            row.cpu_s,
            row.cpu_us_per_pod,
            row.rss_mb,
            row.api_cpu_s,
        ]
        if with_gangs:
            figures += [row.gangs, row.first_gang_s, row.first_gang_to_stock]
        cells = ["" if figure is None else f"{figure:,}" for figure in figures]
        bound = f"{row.bound}/{row.wanted}"
        shown.add_row(row.workload, row.mode, row.scheduler, *cells, bound, row.audit)
    return shown
