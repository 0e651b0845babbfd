"""The plugin under scrutiny: its class, its source, its arguments, and desks at which it decides.

Made by ``report`` from a file; every check takes one.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from bayplan.cluster.cluster import Cluster
from bayplan.cycle.desk import Desk
from bayplan.errors import ConfigError, Problem
from bayplan.framework.plugin import BindPlugin, FilterPlugin, Plugin, QueueSortPlugin, ScorePlugin
from bayplan.framework.registry import Registry
from bayplan.plugins import default_plugins
from bayplan.testing.forms import has, per_node_form
from bayplan.testing.scheduler import desk_of_profile


@dataclass(frozen=True)
class Subject:
    """One plugin of a file."""

    plugin: type[Plugin]
    path: Path
    args: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def tree(self) -> ast.Module:
        """The file as Python reads it."""
        return ast.parse(self.path.read_text(encoding="utf-8"), str(self.path))

    @property
    def filters_nodes(self) -> bool:
        """Whether it has the per-node form of Filter."""
        return self._has(FilterPlugin, "filter_node")

    @property
    def filters_columns(self) -> bool:
        """Whether it has the column form of Filter."""
        return self._has(FilterPlugin, "filter")

    @property
    def scores_nodes(self) -> bool:
        """Whether it has the per-node form of Score."""
        return self._has(ScorePlugin, "score_node")

    @property
    def scores_columns(self) -> bool:
        """Whether it has the column form of Score."""
        return self._has(ScorePlugin, "score")

    @property
    def normalizes(self) -> bool:
        """Whether scores are scaled after all are known."""
        return self._has(ScorePlugin, "normalize")

    @property
    def claims_to_be_pure(self) -> bool:
        """Whether the scheduler may remember what the per-node methods say."""
        return bool(getattr(self.plugin, "cache", True))

    def _has(self, point: type[Plugin], method: str) -> bool:
        return has(self.plugin, point, method)

    def per_node(self) -> type[Plugin]:
        """The plugin without its column forms, where it has both."""
        return per_node_form(self.plugin)

    def desk(self, cluster: Cluster, plugin: type[Plugin] | None = None) -> Desk:
        """A desk at which the plugin decides alone: no other filter hides what it says of a node."""
        plugin = plugin or self.plugin
        alone = [plugin.name]
        if not issubclass(plugin, QueueSortPlugin):
            alone.append("PrioritySort")
        if not issubclass(plugin, BindPlugin):
            alone.append("DefaultBinder")
        enabled = {"disabled": [{"name": "*"}], "enabled": [{"name": name} for name in alone]}
        return self._desk(cluster, plugin, {"plugins": {"multiPoint": enabled}})

    def desk_beside_defaults(self, cluster: Cluster) -> Desk:
        """A desk with the default profile and the plugin, as a cluster would run it."""
        enabled = {"enabled": [{"name": self.plugin.name}]}
        return self._desk(cluster, self.plugin, {"plugins": {"multiPoint": enabled}})

    def _desk(self, cluster: Cluster, plugin: type[Plugin], profile: dict[str, Any]) -> Desk:
        others = [other for other in default_plugins() if other.name != plugin.name]
        if self.args:
            profile["pluginConfig"] = [{"name": plugin.name, "args": dict(self.args)}]
        return desk_of_profile(cluster, profile, Registry([*others, plugin]))


def subjects(reference: str, args: Mapping[str, Any] | None = None) -> list[Subject]:
    """The plugins that ``FILE`` holds, or the one that ``FILE:Class`` names.

    Raises:
        ConfigError: where the file cannot be imported or holds no such plugin.
    """
    text, _, name = reference.rpartition(":")
    if not text or not text.endswith(".py"):
        text, name = reference, ""
    path = Path(text)
    if not path.is_file():
        raise _wrong(path, "there is no such file")
    found = Registry().add_file(path)
    if name:
        found = [plugin for plugin in found if name in (plugin.__name__, plugin.name)]
    if not found:
        what = (
            f"plugin {name}"
            if name
            else "plugin: a class that inherits from FilterPlugin and the like"
        )
        raise _wrong(path, f"there is no {what} in it")
    return [Subject(plugin, path, args or {}) for plugin in found]


def _wrong(path: Path, message: str) -> ConfigError:
    return ConfigError([Problem("", message)], str(path))
