"""What follows from a profile alone, worked out once instead of at every attempt.

Made by ``cycle.classes``; read by the stages of every evaluation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from bayplan.cluster.changes import CLUSTER_WIDE, ROW_LOCAL, Reads
from bayplan.cycle.laps import Laps
from bayplan.framework.plugin import (
    FilterPlugin,
    Plugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
)
from bayplan.framework.profile import Profile


class FilterStep(NamedTuple):
    """A filter plugin, and how it is run."""

    plugin: FilterPlugin
    #: It judges all nodes at once.
    columnar: bool
    #: Kinds of row changes that make a node be judged again (``Reads``, as a plain int: it is tested often).
    reads: int


class ScoreStep(NamedTuple):
    """A score plugin, and how it is run."""

    plugin: ScorePlugin
    columnar: bool
    reads: int
    weight: int
    #: Its raw scores are scaled over the feasible nodes.
    normalizes: bool


class WatchStep(NamedTuple):
    """A plugin whose verdicts depend on more than one row."""

    plugin: Plugin
    #: The topics; None where the plugin gives a stamp but no topics.
    reads: int | None


class Plan:
    """A profile, prepared."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        #: Told when a point is done.
        self.laps = Laps()
        self.filters = tuple(
            FilterStep(plugin, is_columnar_filter(plugin), _local(plugin))
            for plugin in profile.filter
        )
        self.scores = tuple(
            ScoreStep(
                plugin,
                type(plugin).score is not ScorePlugin.score,
                _local(plugin),
                profile.weights[plugin.name],
                type(plugin).normalize is not ScorePlugin.normalize,
            )
            for plugin in profile.score
        )
        self.watched = tuple(
            WatchStep(plugin, None if plugin.reads is None else int(plugin.reads))
            for plugin in profile.plugins
            if _is_watched(plugin)
        )
        #: Plugins whose scores depend on which nodes are feasible.
        self.sized_by_feasible = frozenset(
            plugin.name
            for plugin in (*profile.prescore, *profile.score)
            if plugin.reads is not None and plugin.reads & Reads.FEASIBLE
        )
        #: Plugins that tell pods apart by more than what makes pods alike.
        self.signers = [p for p in profile.plugins if type(p).sign is not Plugin.sign]
        #: A column plugin that does not say what it reads makes every attempt start afresh.
        self.never_kept = any(p.reads is None and _is_columnar(p) for p in profile.plugins)


def is_columnar_filter(plugin: FilterPlugin) -> bool:
    """Whether a filter judges all nodes at once."""
    return type(plugin).filter is not FilterPlugin.filter


def _is_watched(plugin: Plugin) -> bool:
    """Whether more than a node's own row may change what the plugin says.

    A per-node plugin that says nothing counts as pure in pod and node: the node object notes what it reads of its row.
    """
    if plugin.reads is None:
        return type(plugin).stamp is not Plugin.stamp
    return bool(plugin.reads & CLUSTER_WIDE)


def _local(plugin: Plugin) -> int:
    return int((plugin.reads or Reads.NOTHING) & ROW_LOCAL)


def _is_columnar(plugin: Any) -> bool:
    return (
        isinstance(plugin, (PreFilterPlugin, PreScorePlugin))
        or (isinstance(plugin, FilterPlugin) and is_columnar_filter(plugin))
        or (isinstance(plugin, ScorePlugin) and type(plugin).score is not ScorePlugin.score)
    )
