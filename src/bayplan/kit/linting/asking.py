"""Asking a plugin directly, outside a cycle, and taking down what it says in a form that can be compared.

Read by the checks of purity.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from bayplan.cluster.podinfo import PodInfo
from bayplan.cluster.view import ClusterView, Nodes
from bayplan.errors import BayplanError, DataMissing
from bayplan.framework.plugin import FilterPlugin, PreFilterPlugin, PreScorePlugin
from bayplan.framework.runner import index_of, raw_scores
from bayplan.framework.state import CycleState
from bayplan.framework.status import Rejected, Skip

NO_DATA: Final = "has no data"


class Said(NamedTuple):
    """An answer: of one node in the per-node form, of all of them in columns."""

    kind: str
    what: Any = None

    def __str__(self) -> str:
        return self.kind if self.what is None else f"{self.kind} {self.what}"


def of_node(method: Any, pod: PodInfo, node: Any) -> Said:
    """What ``filter_node`` or ``score_node`` says."""
    try:
        answer = method(pod, node)
    except DataMissing:
        return Said(NO_DATA)
    except Exception as error:  # noqa: BLE001 - a user's code may raise anything, and that is what is asked here
        return Said("raises", f"{type(error).__name__}: {error}")
    if answer is None:
        return Said("passes")
    if isinstance(answer, Rejected):
        return Said("turns it down:", f"{answer.message} ({answer.code.label})")
    if isinstance(answer, bool | np.bool_) or not isinstance(answer, int | float | np.number):
        return Said("returns", repr(answer))
    return Said("scores", float(answer))


def filter_columns(plugin: Any, pod: PodInfo, view: ClusterView, rows: Any = None) -> Said:
    """The column form of Filter after its PreFilter: verdicts on all rows or on some."""
    state = CycleState()
    try:
        if isinstance(plugin, PreFilterPlugin):
            answer = plugin.prefilter(pod, view, state)
            if isinstance(answer, Skip | Rejected):
                return Said("settles it", repr(answer))
        nodes = view.nodes if rows is None else view.rows(rows)
        return Said("says", _words(plugin, plugin.filter(pod, nodes, state), nodes))
    except BayplanError as error:
        return Said("fails", str(error))
    except Exception as error:  # noqa: BLE001 - see of_node
        return Said("raises", f"{type(error).__name__}: {error}")


def score_columns(plugin: Any, pod: PodInfo, view: ClusterView) -> Said:
    """The column form of Score after its PreScore, unscaled."""
    state, nodes = CycleState(), view.nodes
    try:
        if isinstance(plugin, PreFilterPlugin):
            plugin.prefilter(pod, view, state)
        if isinstance(plugin, PreScorePlugin):
            answer = plugin.prescore(pod, nodes, nodes.alive.copy(), state)
            if isinstance(answer, Skip | Rejected):
                return Said("settles it", repr(answer))
        scores = raw_scores(plugin, plugin.score(pod, nodes, state), len(nodes))
        return Said("scores", scores if isinstance(scores, int) else scores.tolist())
    except BayplanError as error:
        return Said("fails", str(error))
    except Exception as error:  # noqa: BLE001 - see of_node
        return Said("raises", f"{type(error).__name__}: {error}")


def _words(plugin: FilterPlugin, answer: Any, nodes: Nodes) -> list[str]:
    outcomes: list[Rejected] = []
    index = index_of(plugin, answer, len(nodes), outcomes)
    numbers = [index] * len(nodes) if isinstance(index, int) else index.tolist()
    told = ["", *(f"{outcome.message} ({outcome.code.label})" for outcome in outcomes)]
    return [told[number] for number in numbers]


def picture_of(pod: PodInfo) -> Any:
    """All that a plugin could change about a pod, as plain data."""
    return (
        pod.name,
        pod.namespace,
        dict(pod.labels),
        dict(pod.annotations),
        dict(pod.requests),
        pod.priority,
        repr(pod.spec),
    )


def picture_of_nodes(view: ClusterView) -> Any:
    """All that a plugin could change about the nodes, as plain data."""
    nodes = view.nodes
    # A resource that somebody asks about for the first time gets a column of zeros, and that is no change.
    amounts = [(nodes.allocatable(name), nodes.requested(name)) for name in nodes.resources]
    columns = [part.tolist() for pair in amounts for part in pair if pair[0].any() or pair[1].any()]
    facts = [
        (dict(nodes.labels_of(i)), dict(nodes.annotations_of(i)), nodes.taints_of(i))
        for i in range(len(nodes))
    ]
    others = (nodes.pod_count.tolist(), nodes.max_pods.tolist(), nodes.unschedulable.tolist())
    return columns, facts, others
