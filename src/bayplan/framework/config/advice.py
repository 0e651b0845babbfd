"""What a profile may say without being refused, though hardly as meant: warnings that ``check-config`` prints.

Fed by ``expand`` with the file's plugin sets and what they come to.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from bayplan.framework.config.points import (
    DEFAULTS,
    NEEDS_PREFILTER,
    NEEDS_PRESCORE,
    POINT_TYPES,
    SPARING_PREEMPTION,
    UNUSED_POINTS,
)

if TYPE_CHECKING:
    from bayplan.framework.config.paths import Path
    from bayplan.framework.config.report import Report
    from bayplan.framework.config.types import Plugins


def advise(
    plugins: Plugins,
    running: Mapping[str, Sequence[str]],
    multi_point: Mapping[str, Collection[str]],
    path: Path,
    report: Report,
) -> None:
    """Warn about a profile.

    Args:
        plugins: what the file says.
        running: which plugins run at which point.
        multi_point: at which points each plugin of MultiPoint could run.
        path: where the file says it.
        report: takes the warnings.
    """
    for name in scores_without_prescore(running):
        report.warn(
            _taken_away(plugins, "preScore", name, path),
            f"{name} is not enabled at preScore, so its Score is skipped (kube-scheduler would fail every pod)",
        )
    for name in running["filter"]:
        if name in NEEDS_PREFILTER and name not in running["preFilter"]:
            report.warn(
                _taken_away(plugins, "preFilter", name, path),
                f"{name} is not enabled at preFilter, which its Filter needs (kube-scheduler would fail every pod)",
            )
    for point in UNUSED_POINTS:
        if plugins.at(point).enabled:
            report.warn((*path, point), "not used: pods of a group are placed one by one")
    _rival_preemption(running, path, report)
    _idle_disabled(plugins, multi_point, path, report)


def _rival_preemption(running: Mapping[str, Sequence[str]], path: Path, report: Report) -> None:
    """DefaultPreemption beside a plugin that is there to spare pods which it would evict."""
    at_work = running["postFilter"]
    for name in SPARING_PREEMPTION:
        if name in at_work and "DefaultPreemption" in at_work:
            report.warn(
                (*path, "postFilter"),
                f"DefaultPreemption is enabled beside {name} and evicts pods that {name} spares; "
                "disable it at postFilter",
            )


def scores_without_prescore(running: Mapping[str, Sequence[str]]) -> list[str]:
    """Plugins at ``score`` that miss what their PreScore would have computed."""
    return [
        name
        for name in running["score"]
        if name in NEEDS_PRESCORE and name not in running["preScore"]
    ]


def _taken_away(plugins: Plugins, point: str, name: str, path: Path) -> Path:
    """Where the file takes a plugin away from a point."""
    for index, plugin in enumerate(plugins.at(point).disabled):
        if plugin.name in {name, "*"}:
            return (*path, point, "disabled", index)
    return (*path, point)


def _idle_disabled(
    plugins: Plugins, multi_point: Mapping[str, Collection[str]], path: Path, report: Report
) -> None:
    """Upstream ignores a misspelt name under ``disabled``, and what it should stop goes on."""
    for point in ("multiPoint", *POINT_TYPES):
        if point == "multiPoint":
            there = set(DEFAULTS)
        else:
            there = {name for name, points in multi_point.items() if point in points}
        for index, plugin in enumerate(plugins.at(point).disabled):
            if plugin.name == "*" or plugin.name in there:
                continue
            message = f'"{plugin.name}" would not run here anyway'
            close = difflib.get_close_matches(plugin.name, sorted(there), n=1)
            hint = f'; did you mean "{close[0]}"?' if close else ""
            report.warn((*path, point, "disabled", index), message + hint)
