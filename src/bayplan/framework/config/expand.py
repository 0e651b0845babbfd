"""Which plugins run at which point, in which order and with which weight.

Fed with one profile as the file has it; the answer goes into ``resolved.ProfileConfig``. Three layers meet here: the
default MultiPoint set, the profile's MultiPoint set, and what the profile says about single points, which beats both.
(apis/config/v1/default_plugins.go: mergePlugins; framework/runtime/framework.go: NewFramework, updatePluginList,
expandMultiPointPlugins, getValidScoreWeights.)
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayplan.errors import ConfigError
from bayplan.framework.config.advice import advise, scores_without_prescore
from bayplan.framework.config.fields import invalid
from bayplan.framework.config.points import (
    DEFAULTS,
    POINT_TYPES,
    REMOVED,
    UNUSED_POINTS,
    removal,
)
from bayplan.framework.config.resolved import PluginRef
from bayplan.framework.plugin import MAX_SCORE, POINTS

if TYPE_CHECKING:
    from bayplan.framework.config.paths import Path
    from bayplan.framework.config.report import Report
    from bayplan.framework.config.types import Plugins, PluginSet
    from bayplan.framework.plugin import Plugin
    from bayplan.framework.registry import Registry

_MAX_TOTAL: Final = 2**63 - 1
#: How much a name must be like a known one to pass for its misspelling: CustomPlugin is not CustomScorePlugin.
_ALIKE: Final = 0.85
#: The three ways in which a plugin of one's own is found.
_WHERE_FOUND: Final = (
    "install its package, name its directory with --plugin-dir or pluginDirs, or write module:Class"
)


@dataclass(frozen=True, slots=True)
class Setting:
    """What is the same for all profiles of a file."""

    registry: Registry
    report: Report
    #: As the file has it.
    api_version: str
    #: A plugin directory could not be read. That is told, and not which plugins are missing in consequence.
    dirs_failed: bool = False

    def plugin(self, name: str, path: Path) -> type[Plugin] | None:
        """The class of that name; None where there is none or, with a report, where it cannot be imported."""
        try:
            return self.registry.get(name)
        except ConfigError as error:
            for problem in error.problems:
                self.report.error(path, problem.message)
            self.report.hush(path)
            return None


@dataclass(frozen=True, slots=True)
class _Enabled:
    """A plugin in a set, and where the file puts it there."""

    name: str
    weight: int | None
    path: Path


@dataclass(frozen=True, slots=True)
class Expansion:
    """What a profile comes to."""

    plugins: dict[str, tuple[PluginRef, ...]]
    order: tuple[str, ...]
    #: Where each plugin is enabled.
    paths: dict[str, Path]


class _Expander:
    """The work on one profile."""

    def __init__(self, plugins: Plugins, path: Path, setting: Setting) -> None:
        self._path = (*path, "plugins")
        self._setting = setting
        self._report = setting.report
        self._plugins = plugins
        self._sets = {
            point: _entries(plugins.at(point), (*self._path, point)) for point in POINT_TYPES
        }
        self._disabled = {
            point: {plugin.name for plugin in plugins.at(point).disabled} for point in POINT_TYPES
        }
        self._multi = _merge_defaults(plugins.multi_point, (*self._path, "multiPoint"))
        #: The points of every plugin that is known.
        self._implemented: dict[str, tuple[str, ...]] = {}
        self._twice: set[str] = set()
        #: Whether every plugin is known.
        self._complete = True

    def expand(self, scheduler_name: str) -> Expansion:
        self._look_up()
        plugins = {point: self._point(point) for point in POINT_TYPES}
        multi_point = {
            entry.name: self._implemented[entry.name]
            for entry in self._multi
            if entry.name in self._implemented
        }
        advise(self._plugins, plugins, multi_point, self._path, self._report)
        for name in scores_without_prescore(plugins):
            plugins["score"].remove(name)
        self._check_counts(plugins, scheduler_name)
        weights = self._weights()
        refs = {
            point: tuple(
                PluginRef(name, weights.get(name, 1) if point == "score" else 0)
                for name in plugins[point]
            )
            for point in POINTS
        }
        everyone = [*self._multi, *(entry for entries in self._sets.values() for entry in entries)]
        paths: dict[str, Path] = {}
        for entry in everyone:
            if entry.name in self._implemented:
                paths.setdefault(entry.name, entry.path)
        return Expansion(refs, tuple(paths), paths)

    def _look_up(self) -> None:
        for point, entries in [("multiPoint", self._multi), *self._sets.items()]:
            for entry in entries:
                found = self._setting.plugin(entry.name, entry.path)
                if found is not None:
                    self._implemented[entry.name] = found.points()
                else:
                    self._complete = False
                    if not self._setting.dirs_failed:
                        self._report.error(entry.path, self._absence(entry.name, point))

    def _absence(self, name: str, point: str) -> str:
        if name in REMOVED:
            return removal(name, self._setting.api_version)
        # Of a plugin in MultiPoint upstream says that it misses it at the first point it goes through.
        interface = POINT_TYPES.get(point, "PreFilterPlugin")
        message = f'{interface} "{name}" does not exist'
        close = difflib.get_close_matches(name, list(self._setting.registry), n=1, cutoff=_ALIKE)
        return f'{message}; did you mean "{close[0]}"?' if close else f"{message}; {_WHERE_FOUND}"

    def _implements(self, name: str, point: str) -> bool:
        return point in self._implemented[name] or name in UNUSED_POINTS.get(point, ())

    def _point(self, point: str) -> list[str]:
        """The names that run at a point, in order."""
        enabled = self._enabled_at(point)
        if "*" in self._disabled[point]:
            return enabled
        overridden, multi = set(), []
        for entry in self._multi:
            if entry.name not in self._implemented or not self._implements(entry.name, point):
                continue
            if entry.name in self._disabled[point]:
                continue
            if entry.name in enabled:
                overridden.add(entry.name)
            elif entry.name in multi:
                self._registered_twice(entry, point)
            else:
                multi.append(entry.name)
        # What overrides MultiPoint goes first, in its own order; what only this point names goes last.
        first = [name for name in enabled if name in overridden]
        return first + multi + [name for name in enabled if name not in overridden]

    def _enabled_at(self, point: str) -> list[str]:
        names: list[str] = []
        for entry in self._sets[point]:
            if entry.name not in self._implemented:
                continue
            if not self._implements(entry.name, point):
                found = ", ".join(self._implemented[entry.name]) or "no point"
                message = f'plugin "{entry.name}" does not extend {POINT_TYPES[point]} plugin'
                self._report.error(entry.path, f"{message}; it implements {found}")
            elif entry.name in names:
                self._report.error(
                    entry.path,
                    f'plugin "{entry.name}" already registered as "{POINT_TYPES[point]}"',
                )
            else:
                names.append(entry.name)
        return names

    def _registered_twice(self, entry: _Enabled, point: str) -> None:
        """Said once per plugin: every point of it would repeat it."""
        if entry.name not in self._twice:
            self._twice.add(entry.name)
            self._report.error(
                entry.path, f'plugin "{entry.name}" already registered as "{POINT_TYPES[point]}"'
            )

    def _check_counts(self, plugins: Mapping[str, list[str]], scheduler_name: str) -> None:
        if not self._complete:
            return  # an unknown plugin may be just the one that is missing
        profile = f'for profile with scheduler name "{scheduler_name}"'
        if len(plugins["queueSort"]) != 1:
            self._report.error(
                (*self._path, "queueSort"),
                f"only one queue sort plugin required {profile}, but got {len(plugins['queueSort'])}",
            )
        if not plugins["bind"]:
            self._report.error(
                (*self._path, "bind"), f"at least one bind plugin is needed {profile}"
            )
        if len(plugins["placementGenerate"]) > 1:
            self._report.error(
                (*self._path, "placementGenerate"),
                f"at most one placement generate plugin is allowed {profile}",
            )

    def _weights(self) -> dict[str, int]:
        weights: dict[str, int] = {}
        for entry in [*self._sets["score"], *self._multi]:
            scores = entry.name in self._implemented and self._implements(entry.name, "score")
            if not scores or entry.name in weights:
                continue
            weights[entry.name] = self._weight(entry)
        if total_overflows(weights.values()):
            self._report.error(
                (*self._path, "score"), "score plugins: total score of Score plugins could overflow"
            )
        return weights

    def _weight(self, entry: _Enabled) -> int:
        weight = entry.weight or 1
        place = (*entry.path, "weight")
        if entry.weight == 0:
            # Upstream cannot tell it from no weight and takes 1; refusing it would refuse files that it runs.
            self._report.warn(
                place,
                f"a weight of 0 counts as 1, as in kube-scheduler; to leave {entry.name} out, disable it at score",
            )
        if weight < 0:
            # Upstream takes a negative weight and then ranks nodes backwards, or not at all.
            self._report.error(place, invalid(weight, "should not be a negative value"))
        return weight


def expand(plugins: Plugins, path: Path, scheduler_name: str, setting: Setting) -> Expansion:
    """What a profile's plugins come to; what is wrong with them is in the report."""
    return _Expander(plugins, path, setting).expand(scheduler_name)


def total_overflows(weights: Iterable[int]) -> bool:
    """Whether a node's total score might not fit an int64."""
    return sum(weights) * MAX_SCORE > _MAX_TOTAL


def _entries(plugins: PluginSet, path: Path) -> list[_Enabled]:
    return [
        _Enabled(plugin.name, plugin.weight, (*path, "enabled", index))
        for index, plugin in enumerate(plugins.enabled)
    ]


def _merge_defaults(custom: PluginSet, path: Path) -> list[_Enabled]:
    """The profile's MultiPoint set laid over the default one, which keeps its order."""
    disabled = {plugin.name for plugin in custom.disabled}
    entries = _entries(custom, path)
    latest = {entry.name: entry for entry in entries}
    merged, used = [], set()
    for name, weight in DEFAULTS.items() if "*" not in disabled else ():
        if name in disabled:
            continue  # if it is enabled as well it goes to the end
        if name in latest:
            used.add(latest[name].path)
        merged.append(latest.get(name, _Enabled(name, weight, path)))
    return merged + [entry for entry in entries if entry.path not in used]
