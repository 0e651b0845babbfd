"""One score plugin's scores of every node, raw and weighted, kept up to date row by row.

Part of ``cycle.evaluation``. Scores that are equal for all nodes are one number: most are, and it costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayplan.errors import BayplanError, DataMissing, PluginError
from bayplan.framework.runner import call, check_range, normalized_scores, raw_scores, whole
from bayplan.framework.scoring import NEUTRAL, UNKNOWN
from bayplan.framework.stopwatch import Stopwatch

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PersonalPod, PodInfo
    from bayplan.cluster.view import Nodes
    from bayplan.cycle.plan import ScoreStep
    from bayplan.framework.state import CycleState
    from bayplan.framework.status import Mask

Values = NDArray[np.int64] | int
_ONE_NODE = np.ones(1, np.bool_)


class Score:
    """Column form: raw and weighted scores of one plugin."""

    __slots__ = ("normalizes", "plugin", "raw", "reads", "weight", "weighted")

    def __init__(self, step: ScoreStep) -> None:
        self.plugin = step.plugin
        self.weight = step.weight
        self.normalizes = step.normalizes
        self.reads = step.reads
        self.raw: Values = 0
        self.weighted: Values = 0

    def score_all(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Values:
        """Fresh raw scores of all nodes."""
        answer = call(self.plugin, "Score", self.plugin.score, pod, nodes, state)
        return raw_scores(self.plugin, answer, len(nodes))

    def weigh_all(self, feasible: Mask, state: CycleState) -> Values:
        """Normalised and weighted scores of all nodes, from ``raw``."""
        raw = self.raw
        if not self.normalizes:
            check_range(self.plugin, raw, feasible)
            return raw * self.weight if self.weight != 1 else raw
        if isinstance(raw, int):
            scaled = self._normalize(np.array([raw], np.int64), _ONE_NODE, state)
            check_range(self.plugin, int(scaled[0]))
            return int(scaled[0]) * self.weight
        scaled = self._normalize(raw, feasible, state)
        check_range(self.plugin, scaled, feasible)
        return scaled * self.weight

    def _normalize(
        self, raw: NDArray[np.int64], feasible: Mask, state: CycleState
    ) -> NDArray[np.int64]:
        given = raw.view()
        given.flags.writeable = False  # they are kept; a plugin answers with an array of its own
        scaled = call(self.plugin, "Score", self.plugin.normalize, given, feasible, state)
        return normalized_scores(self.plugin, scaled, raw)


class NodeScore(Score):
    """Per-node form: only feasible nodes are scored, and remembered until something they read changes."""

    __slots__ = ("known",)

    def __init__(self, step: ScoreStep, n: int) -> None:
        super().__init__(step)
        self.reads = 0
        self.raw = np.zeros(n, np.int64)
        self.weighted = np.zeros(n, np.int64)
        self.known: NDArray[np.bool_] = np.zeros(n, np.bool_)

    def unknown(self, feasible: Mask) -> list[int]:
        """Rows of the feasible nodes that the plugin has to be asked about."""
        rows: list[int] = np.flatnonzero(feasible & ~self.known).tolist()
        return rows

    def score_node(self, pod: PersonalPod, nodes: Nodes, row: int) -> int:
        """One node's raw score, asked of the plugin."""
        node = nodes.node(row)
        try:
            watch, method = Stopwatch.current, self.plugin.score_node
            if watch is None:
                score = method(pod, node)
            else:
                score = watch.time(self.plugin, "Score", method, pod, node)
        except DataMissing as missing:
            if self.plugin.missing == "reject":
                raise PluginError(self.plugin.name, "Score", str(missing)) from missing
            score = UNKNOWN if self.normalizes else NEUTRAL
        except BayplanError as error:
            raise PluginError(self.plugin.name, "Score", f"on node {node.name}: {error}") from error
        except Exception as error:  # see framework.runner.call
            what = f"on node {node.name}: {type(error).__name__}: {error}"
            raise PluginError(self.plugin.name, "Score", what) from error
        finally:
            self.reads |= int(node.reads)
        number = whole(self.plugin, score)
        if not self.normalizes:
            check_range(self.plugin, number)
        self.known[row] = True
        return number
