"""The engine behind ``handle.dry_run``: a profile's filters on supposed states of nodes.

Made once per attempt from the filters that PreFilter left in play (``Chain``); used by PostFilter plugins to try
evictions out, and by the attempt for nodes that are promised to other pods. It knows no plugin by name: whether a
filter can be run over many nodes at once follows from what the plugin says it reads.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.changes import Reads
from bayplan.errors import DataMissing, PluginError
from bayplan.framework.plugin import FilterPlugin, PreFilterPlugin
from bayplan.framework.runner import Index, call, index_of, without_data
from bayplan.framework.status import Code, Rejected, Verdicts

if TYPE_CHECKING:
    from bayplan.cluster.nominations import Nominations
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.tables import Tables
    from bayplan.cluster.view import ClusterView, Nodes, TrialNodes
    from bayplan.framework.preemption import PreemptExtender
    from bayplan.framework.profile import Profile
    from bayplan.framework.state import CycleState

#: What pods that come and go change, and a thinned set of nodes shows column by column.
_SHOWN: Final = Reads.USAGE | Reads.PORTS | Reads.LOCAL_PODS
#: What they change beyond that: filters that read it are judged node by node, on a clone of the state.
_COUPLED: Final = Reads.VOLUMES | Reads.ALL_PODS | Reads.AFFINITY_TERMS | Reads.STORAGE
#: What a set of nodes shows too, and yet depends on what happens anywhere.
_EVERYWHERE: Final = Reads.QUOTAS


@dataclass(frozen=True, slots=True)
class Chain:
    """The filters in play for one pod, in order, and the PreFilter plugins that keep state for them."""

    filters: tuple[FilterPlugin, ...]
    prefilters: tuple[PreFilterPlugin, ...]

    @classmethod
    def of(cls, profile: Profile, skipped: Container[str]) -> Chain:
        """A profile's plugins without those whose PreFilter had nothing to say."""
        return cls(
            tuple(plugin for plugin in profile.filter if plugin.name not in skipped),
            tuple(plugin for plugin in profile.prefilter if plugin.name not in skipped),
        )

    @property
    def is_columnar(self) -> bool:
        """Whether nodes can be judged together, each as if pods moved there alone: sets of nodes show all that filters read."""
        return all(_is_shown(plugin) for plugin in self.filters) and not any(
            _keeps_count(plugin) for plugin in self.prefilters
        )

    @property
    def is_row_local(self) -> bool:
        """Whether besides no filter looks beyond a node's own row: what moves elsewhere makes no difference there."""
        return self.is_columnar and not any(
            plugin.reads is None or plugin.reads & _EVERYWHERE for plugin in self.filters
        )


def _is_columnar(plugin: FilterPlugin) -> bool:
    return type(plugin).filter is not FilterPlugin.filter


def _is_shown(plugin: FilterPlugin) -> bool:
    return _is_columnar(plugin) and plugin.reads is not None and not plugin.reads & _COUPLED


def _is_swayed(plugin: FilterPlugin) -> bool:
    """Whether the plugin's answer can change when pods come and go."""
    return plugin.reads is None or bool(plugin.reads & (_SHOWN | _COUPLED | _EVERYWHERE))


def _keeps_count(plugin: PreFilterPlugin) -> bool:
    """Whether the plugin wants to hear of pods that come and go."""
    kind = type(plugin)
    return (
        kind.add_pod is not PreFilterPlugin.add_pod
        or kind.remove_pod is not PreFilterPlugin.remove_pod
    )


class DryRunEngine:
    """Node by node: exact for every plugin."""

    def __init__(
        self,
        chain: Chain,
        view: ClusterView,
        nominations: Nominations,
        extenders: Sequence[PreemptExtender] = (),
    ) -> None:
        self.chain = chain
        self.view = view
        self.nominations = nominations
        self.extenders = extenders
        self._counters = [plugin for plugin in chain.prefilters if _keeps_count(plugin)]
        self._swayed = [plugin for plugin in chain.filters if _is_swayed(plugin)]

    def judge(self, pod: PodInfo, trial: TrialNodes, i: int, state: CycleState) -> Rejected | None:
        """None if ``pod`` passes all filters on node ``i``; the first objection otherwise.

        Pods of its priority or a higher one to which the node is promised count as running there. It must pass without
        them, too: they may end up elsewhere, and an affinity to them would then be in vain.
        """
        return self._judge(self.chain.filters, pod, trial, i, state)

    def fits(self, pod: PodInfo, trial: TrialNodes, i: int, state: CycleState) -> bool:
        """Whether a node that ``judge`` has let pass still does, other pods being there now."""
        return self._judge(self._swayed, pod, trial, i, state) is None

    def _judge(
        self,
        filters: Sequence[FilterPlugin],
        pod: PodInfo,
        trial: TrialNodes,
        i: int,
        state: CycleState,
    ) -> Rejected | None:
        promised = self._promised(pod, trial.name(i))
        if promised:
            with_them, their_state = trial.fork(), state.clone()
            for other in promised:
                failed = self.add_pod(pod, other, with_them, i, their_state)
                if failed is not None:
                    return failed
            objection = _objection(filters, pod, with_them, i, their_state)
            if objection is not None:
                return objection
        return _objection(filters, pod, trial, i, state)

    def add_pod(
        self, pod: PodInfo, added: PodInfo, trial: TrialNodes, i: int, state: CycleState
    ) -> Rejected | None:
        """Put a pod on node ``i`` of the trial and tell the PreFilter plugins."""
        trial.add_pod(i, added)
        node = trial.node(i)
        for plugin in self._counters:
            answer = call(plugin, "AddPod", plugin.add_pod, pod, added, node, self.view, state)
            if answer is not None:
                return _failure("AddPod", plugin, answer)
        return None

    def remove_pod(
        self, pod: PodInfo, removed: PodInfo, trial: TrialNodes, i: int, state: CycleState
    ) -> Rejected | None:
        """Take a pod off node ``i`` of the trial and tell the PreFilter plugins."""
        trial.remove_pod(i, removed)
        node = trial.node(i)
        for plugin in self._counters:
            answer = call(
                plugin, "RemovePod", plugin.remove_pod, pod, removed, node, self.view, state
            )
            if answer is not None:
                return _failure("RemovePod", plugin, answer)
        return None

    def promises(self, pod: PodInfo) -> Mapping[int, Sequence[PodInfo]]:
        """Rows of the nodes where promises to other pods count against ``pod``, and these pods."""
        cluster = self.view.cluster
        found = cluster.promises.at_least(pod.priority).by_row
        mine = own_row(pod, cluster)
        if mine not in found:
            return found
        without = dict(found)
        without[mine] = self._promised(pod, cluster.nodes.names[mine])
        if not without[mine]:
            del without[mine]
        return without

    def batch(self, pod: PodInfo, state: CycleState) -> ColumnDryRun | None:
        """The dry run over many nodes at once, or None where a filter in play couples nodes or judges one by one."""
        return ColumnDryRun(self.chain.filters, pod, state) if self.chain.is_columnar else None

    def _promised(self, pod: PodInfo, node: str) -> list[PodInfo]:
        mine = pod.uid or pod.key
        return [
            other
            for other in self.nominations.on(node)
            if other.priority >= pod.priority and (other.uid or other.key) != mine
        ]


class ColumnDryRun:
    """Many nodes at once, for filters that look at a node's own row in columns."""

    def __init__(self, filters: Sequence[FilterPlugin], pod: PodInfo, state: CycleState) -> None:
        self._filters = filters
        self._swayed = [plugin for plugin in filters if _is_swayed(plugin)]
        self._pod = pod
        self._state = state

    def judge(self, trial: Nodes) -> Verdicts:
        """The first objection to each node."""
        first: Index = np.zeros(len(trial), np.int16)
        said: list[Rejected] = []
        for plugin in self._filters:
            outcomes: list[Rejected] = []
            numbers = self._numbers(plugin, trial, outcomes)
            if isinstance(numbers, int):
                if not numbers:
                    continue
                numbers = np.full(len(trial), numbers, np.int16)
            new = (first == 0) & (numbers != 0)
            first[new] = numbers[new] + len(said)
            said += (_signed(plugin, outcome) for outcome in outcomes)
        return Verdicts(first, said)

    def fits(self, trial: Nodes) -> NDArray[np.bool_]:
        """Whether nodes that ``judge`` has let pass still do, other pods being there now."""
        fits = np.ones(len(trial), np.bool_)
        for plugin in self._swayed:
            numbers = self._numbers(plugin, trial, [])
            fits &= np.equal(numbers, 0)
        return fits

    def _numbers(self, plugin: FilterPlugin, trial: Nodes, outcomes: list[Rejected]) -> Index | int:
        answer = call(plugin, "Filter", plugin.filter, self._pod, trial, self._state)
        return index_of(plugin, answer, len(trial), outcomes)


def own_row(pod: PodInfo, cluster: Tables) -> int:
    """The row that is promised to this very pod, -1 where none is."""
    own = cluster.nominations.node_of(pod.key)
    return cluster.nodes.row_of.get(own, -1) if own else -1


def _objection(
    filters: Sequence[FilterPlugin], pod: PodInfo, trial: TrialNodes, i: int, state: CycleState
) -> Rejected | None:
    """What the first filter says that turns the node down."""
    for plugin in filters:
        if _is_columnar(plugin):
            answer = _column_answer(plugin, pod, trial, i, state)
        else:
            answer = _node_answer(plugin, pod, trial, i)
        if answer is not None:
            return _signed(plugin, answer)
    return None


def _column_answer(
    plugin: FilterPlugin, pod: PodInfo, trial: TrialNodes, i: int, state: CycleState
) -> Rejected | None:
    outcomes: list[Rejected] = []
    answer = call(plugin, "Filter", plugin.filter, pod, trial, state)
    numbers = index_of(plugin, answer, len(trial), outcomes)
    number = numbers if isinstance(numbers, int) else int(numbers[i])
    return outcomes[number - 1] if number else None


def _node_answer(plugin: FilterPlugin, pod: PodInfo, trial: TrialNodes, i: int) -> Rejected | None:
    try:
        answer: Any = call(plugin, "Filter", plugin.filter_node, pod, trial.node(i))
    except PluginError as error:
        if isinstance(error.__cause__, DataMissing):
            return without_data(plugin, error.__cause__)
        raise
    if answer is not None and not isinstance(answer, Rejected):
        raise PluginError(plugin.name, "Filter", f"wants None or Rejected, got {answer!r}")
    return answer


def _signed(plugin: FilterPlugin, answer: Rejected) -> Rejected:
    if answer.code is Code.ERROR:
        return _failed(f'running "{plugin.name}" filter plugin: {answer.message}', plugin.name)
    return answer.by(plugin.name)


def _failure(point: str, plugin: PreFilterPlugin, answer: Rejected) -> Rejected:
    text = f'running {point} on PreFilter plugin "{plugin.name}": {answer.message}'
    return _failed(text, plugin.name)


def _failed(text: str, plugin: str) -> Rejected:
    return Rejected(text, code=Code.ERROR, plugin=plugin)
