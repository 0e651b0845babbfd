"""Evaluations by class of alike pods, the least recently used dropped first.

Kept by the scheduler, one per profile; the cycle asks it for the evaluation of the pod in hand.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

from bayplan.cycle.evaluation import Evaluation
from bayplan.errors import PluginError
from bayplan.framework.plugin import Plugin

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import ClusterView
    from bayplan.framework.profile import Profile

#: Cells (nodes times classes) kept: some 50 bytes each.
CELLS: Final = 8_000_000
AT_LEAST: Final = 16


class Classes:
    """The evaluations of one profile."""

    def __init__(self, profile: Profile, view: ClusterView) -> None:
        self.profile = profile
        self.view = view
        self._evaluations: OrderedDict[Any, Evaluation] = OrderedDict()
        #: Plugins that tell pods apart by more than what makes pods alike.
        self._signers = [p for p in profile.plugins if type(p).sign is not Plugin.sign]
        #: A plugin that says nothing of what it depends on makes every attempt start afresh.
        self._fresh = any(p.reads is None and _is_columnar(p) for p in profile.plugins)
        self.hits = 0
        self.misses = 0

    def evaluation(self, pod: PodInfo) -> Evaluation:
        """What the profile says of every node for this pod, up to date."""
        key = pod.alike
        if self._signers:
            key = (key, *(plugin.sign(pod) for plugin in self._signers))
        found = self._evaluations.get(key)
        try:
            if found is not None and not self._fresh and found.catch_up(pod):
                self._evaluations.move_to_end(key)
                self.hits += 1
                return found
            self.misses += 1
            fresh = Evaluation(pod, self.profile, self.view)
        except PluginError:
            # Half brought up to date: not to be used again.
            self._evaluations.pop(key, None)
            raise
        self._evaluations[key] = fresh
        self._evaluations.move_to_end(key)
        if len(self._evaluations) > max(AT_LEAST, CELLS // max(1, len(fresh.names))):
            self._evaluations.popitem(last=False)
        return fresh

    def drop(self, pod: PodInfo) -> None:
        """Forget the pod's class: a plugin failed half way."""
        self._evaluations.clear()


def _is_columnar(plugin: Any) -> bool:
    """Whether the plugin answers for all nodes at once and therefore has to say what it reads."""
    from bayplan.framework.plugin import FilterPlugin, PreFilterPlugin, PreScorePlugin, ScorePlugin

    kind = type(plugin)
    return (
        isinstance(plugin, (PreFilterPlugin, PreScorePlugin))
        or (isinstance(plugin, FilterPlugin) and kind.filter is not FilterPlugin.filter)
        or (isinstance(plugin, ScorePlugin) and kind.score is not ScorePlugin.score)
    )
