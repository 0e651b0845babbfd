"""A column plugin asked as the cycle asks it, and its answers node by node in the form that scalar references give."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayplan.cluster.changes import ROW_LOCAL
from bayplan.cluster.cluster import Cluster
from bayplan.cluster.nodeinfo import NodeInfo
from bayplan.framework.plugin import FilterPlugin, ScorePlugin
from bayplan.framework.runner import index_of
from bayplan.framework.state import CycleState
from bayplan.framework.status import SKIP, Rejected, Skip
from bayplan.model.node import Node
from bayplan.model.pod import Pod


def said(plugin: FilterPlugin, answer: Any, n: int) -> list[str]:
    """The filter's words for each node; empty where the node passes."""
    outcomes: list[Rejected] = []
    index = index_of(plugin, answer, n, outcomes)
    numbers = [index] * n if isinstance(index, int) else index.tolist()
    return [outcomes[number - 1].message if number else "" for number in numbers]


def scored(answer: Any, n: int) -> list[int]:
    """The score of each node."""
    return [answer] * n if isinstance(answer, int) else np.asarray(answer).tolist()


class Asked:
    """A cluster to which things happen, and a plugin that is asked about one pod after each of them.

    As in the cycle, state is kept from one question to the next, and verdicts on rows that did not change stand as long
    as the plugin's stamp does.
    """

    def __init__(self, plugin: Any, probe: Pod, *objects: Any) -> None:
        self.cluster = Cluster()
        for obj in objects:
            self.cluster.put(obj)
        self.plugin = plugin
        self.pod = self.cluster.info(probe)
        self.forget_everything()

    def forget_everything(self) -> None:
        """Ask about all nodes the next time, as for another class of pods."""
        self.state = CycleState()
        self._node_set = self.cluster.journal.node_set
        self._kept: list[str] | None = None
        self._stamp: Any = None
        self._position = 0

    def filter(self) -> list[str]:
        """What is said of all rows."""
        journal = self.cluster.journal
        if self._node_set != journal.node_set:
            self.forget_everything()
        stamp = self.plugin.stamp(self.pod, self.cluster.view, self.state)
        if self._kept is None or stamp != self._stamp:
            self._kept = self._about_all()
            self._stamp = self.plugin.stamp(self.pod, self.cluster.view, self.state)
        else:
            self._ask_again(self._kept)
        self._position = journal.end
        return list(self._kept)

    def _about_all(self) -> list[str]:
        view = self.cluster.view
        answer = self.plugin.prefilter(self.pod, view, self.state)
        self._settled = isinstance(answer, Skip | Rejected)
        if self._settled:
            return [answer.message if isinstance(answer, Rejected) else ""] * len(view.nodes)
        judged = self.plugin.filter(self.pod, view.nodes, self.state)
        return said(self.plugin, judged, len(view.nodes))

    def _ask_again(self, kept: list[str]) -> None:
        """About the rows that changed."""
        news = self.cluster.journal.since(self._position)
        assert news is not None
        local = self.plugin.reads & ROW_LOCAL
        changed = {row for row, kind in zip(*news, strict=True) if kind & local}
        if self._settled or not changed:
            return
        nodes = self.cluster.view.rows(np.array(sorted(changed), np.intp))
        answer = said(self.plugin, self.plugin.filter(self.pod, nodes, self.state), len(nodes))
        for row, words in zip(sorted(changed), answer, strict=True):
            kept[row] = words

    def score(self, feasible: Any = None) -> list[int]:
        """The raw scores of all rows."""
        nodes = self.cluster.view.nodes
        if feasible is None:
            feasible = nodes.alive
        if self.plugin.prescore(self.pod, nodes, feasible, self.state) is SKIP:
            return [0] * len(nodes)
        return scored(self.plugin.score(self.pod, nodes, self.state), len(nodes))

    def tell(self, obj: Any) -> None:
        """Something new, and what is said then."""
        self.cluster.put(obj)
        self.filter()
        if isinstance(self.plugin, ScorePlugin):
            self.score()

    def row(self, node: Node) -> int:
        """The row of a node."""
        return self.cluster.nodes.row_of[node.metadata.name]

    def on(self, node: Node) -> NodeInfo:
        """A node as plugins see it."""
        return self.cluster.view.nodes.node(self.row(node))
