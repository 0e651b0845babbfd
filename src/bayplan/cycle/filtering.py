"""One filter plugin's verdicts on every node, kept up to date row by row.

Part of ``cycle.evaluation``. A verdict is a small number: 0 passes, k is the k-th thing the plugin has said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.changes import Reads
from bayplan.cluster.podinfo import PersonalPod
from bayplan.errors import BayplanError, DataMissing, PluginError
from bayplan.framework.plugin import FilterPlugin
from bayplan.framework.runner import Index, call, index_of, without_data
from bayplan.framework.status import Code, Rejected
from bayplan.framework.stopwatch import Stopwatch

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import Nodes
    from bayplan.framework.state import CycleState


class Verdict:
    """Column form: the verdicts of one plugin. ``index`` is None as long as every node passes."""

    __slots__ = ("index", "outcomes", "plugin", "reads")

    def __init__(self, plugin: FilterPlugin, reads: int) -> None:
        self.plugin = plugin
        self.index: Index | None = None
        self.outcomes: list[Rejected] = []
        #: Kinds of row changes that make a node be judged again.
        self.reads = reads

    def judge_all(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Index | None:
        """Fresh verdicts on all nodes; None where all pass."""
        n = len(nodes)
        answer = call(self.plugin, "Filter", self.plugin.filter, pod, nodes, state)
        index = index_of(self.plugin, answer, n, self.outcomes)
        if isinstance(index, int):
            return np.full(n, index, np.int16) if index else None
        return index

    def judge(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Index | int:
        """Fresh verdicts on a few nodes."""
        answer = call(self.plugin, "Filter", self.plugin.filter, pod, nodes, state)
        return index_of(self.plugin, answer, len(nodes), self.outcomes)

    def outcome(self, number: int) -> Rejected:
        """What verdict ``number`` says, signed by the plugin."""
        return self.outcomes[number - 1].by(self.plugin.name)


class NodeVerdict(Verdict):
    """Per-node form: nodes are judged when they are in play, and remembered until something they read changes."""

    __slots__ = ("known",)

    def __init__(self, plugin: FilterPlugin, n: int) -> None:
        super().__init__(plugin, reads=0)
        self.index = np.zeros(n, np.int16)
        #: Rows whose verdict still holds.
        self.known: NDArray[np.bool_] = np.zeros(n, np.bool_)

    def forget_all(self) -> None:
        """Judge every node anew."""
        self.known[:] = False

    def judge_node(self, pod: PersonalPod, nodes: Nodes, row: int) -> int:
        """One node's verdict, asked of the plugin."""
        node = nodes.node(row)
        answer: Any
        try:
            watch, method = Stopwatch.current, self.plugin.filter_node
            if watch is None:
                answer = method(pod, node)
            else:
                answer = watch.time(self.plugin, "Filter", method, pod, node)
        except DataMissing as missing:
            answer = without_data(self.plugin, missing)
        except PluginError:
            raise
        except BayplanError as error:
            raise PluginError(
                self.plugin.name, "Filter", f"on node {node.name}: {error}"
            ) from error
        except Exception as error:  # see framework.runner.call
            what = f"on node {node.name}: {type(error).__name__}: {error}"
            raise PluginError(self.plugin.name, "Filter", what) from error
        finally:
            self.reads |= int(node.reads)
        if answer is not None and not isinstance(answer, Rejected):
            what = f"on node {node.name}: wants None or Rejected, got {answer!r}"
            raise PluginError(self.plugin.name, "Filter", what)
        self.known[row] = True
        number = index_of(self.plugin, answer, 1, self.outcomes)
        assert isinstance(number, int)
        return number


class Fixed(Verdict):
    """Verdicts that no plugin gives: rows without a node, and nodes that PreFilter left out."""

    __slots__ = ("signed",)

    def __init__(self, passes: NDArray[np.bool_], outcome: Rejected) -> None:
        super().__init__(_NOBODY, reads=0)
        self.index = np.where(passes, np.int16(0), np.int16(1))
        self.outcomes = [outcome]

    def outcome(self, number: int) -> Rejected:
        """The one thing there is to say; nobody signs it."""
        return self.outcomes[number - 1]


class _Nobody(FilterPlugin):
    name = ""
    reads = Reads.NOTHING


_NOBODY = _Nobody()


def raise_if_error(part: Verdict, numbers: NDArray[np.int16] | int) -> None:
    """An Error verdict on a node in play fails the whole attempt, as in Kubernetes."""
    error = error_among(part, numbers)
    if error is not None:
        raise PluginError(part.plugin.name, "Filter", error.message)


def error_among(part: Verdict, numbers: NDArray[np.int16] | int) -> Rejected | None:
    """The Error among some verdicts of a plugin."""
    for i, outcome in enumerate(part.outcomes):
        if outcome.code is Code.ERROR and np.any(np.asarray(numbers) == i + 1):
            return outcome
    return None
