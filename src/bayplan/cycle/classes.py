"""Evaluations by class of alike pods, the least recently used dropped first.

Kept by the scheduler, one per profile; the cycle asks it for the evaluation of the pod in hand.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

from bayplan.cycle.evaluation import Evaluation
from bayplan.cycle.plan import Plan
from bayplan.errors import PluginError
from bayplan.framework.runner import call

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import ClusterView
    from bayplan.framework.plugin import Plugin
    from bayplan.framework.profile import Profile

#: Cells (nodes times classes) kept: some 50 bytes each.
CELLS: Final = 8_000_000
AT_LEAST: Final = 16
#: Evaluations take some 15 KB each beside their cells. Pods with labels of their own (jobs, stateful sets) are each a class.
AT_MOST: Final = 4_000


def _sign(plugin: Plugin, pod: PodInfo) -> Any:
    """What the plugin adds to what makes pods alike; it has to be hashable."""
    signature = plugin.sign(pod)
    hash(signature)
    return signature


class Classes:
    """The evaluations of one profile."""

    def __init__(self, profile: Profile, view: ClusterView) -> None:
        self.plan = Plan(profile)
        self.view = view
        self._evaluations: OrderedDict[Any, Evaluation] = OrderedDict()
        self.hits = 0
        self.misses = 0

    def __len__(self) -> int:
        return len(self._evaluations)

    def evaluation(self, pod: PodInfo) -> Evaluation:
        """What the profile says of every node for this pod, up to date."""
        key = pod.alike
        if self.plan.signers:
            key = (key, *(call(plugin, "Sign", _sign, plugin, pod) for plugin in self.plan.signers))
        found = self._evaluations.get(key)
        try:
            if found is not None and not self.plan.never_kept and found.catch_up(pod):
                self._evaluations.move_to_end(key)
                self.hits += 1
                return found
            self.misses += 1
            fresh = Evaluation(pod, self.plan, self.view)
        except PluginError:
            # Half brought up to date: not to be used again.
            self._evaluations.pop(key, None)
            raise
        self._evaluations[key] = fresh
        self._evaluations.move_to_end(key)
        if len(self._evaluations) > min(max(AT_LEAST, CELLS // max(1, len(fresh.names))), AT_MOST):
            self._evaluations.popitem(last=False)
        return fresh
