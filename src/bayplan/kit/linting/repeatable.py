"""Checks ``repeatable`` and ``arguments``, and ``answers`` on the way: asked again a plugin says the same, and it leaves alone what it is given.

Per-node answers are remembered per class of alike pods and per node; an answer that depends on when it was given, or on
who was asked about before, is then wrong for as long as it is remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from bayplan.cluster.podinfo import PodInfo
from bayplan.kit.linting import asking
from bayplan.kit.linting.answers import ANSWERS, passing, unusable
from bayplan.kit.linting.asking import Said
from bayplan.kit.linting.findings import Finding
from bayplan.kit.linting.subject import Subject
from bayplan.kit.linting.worlds import World

REPEATABLE: Final = "repeatable"
ARGUMENTS: Final = "arguments"

_PURE: Final = (
    "let the answer follow from pod, node and arguments alone, or set cache = False "
    "(slower: the plugin is asked at every attempt)"
)


def check(subject: Subject, world: World) -> Iterator[Finding]:
    """What is wrong in one world; the first of each kind."""
    cluster = world.cluster
    for pod in world.pods:
        before = asking.picture_of(pod), asking.picture_of_nodes(cluster.view)
        if subject.filters_nodes:
            yield from _per_node(subject, "filter_node", world, pod)
        if subject.scores_nodes:
            yield from _per_node(subject, "score_node", world, pod)
        if subject.filters_columns:
            yield from _columns(subject, "filter", asking.filter_columns, world, pod)
        if subject.scores_columns:
            yield from _columns(subject, "score", asking.score_columns, world, pod)
        if subject.filters_columns:
            yield from _some_rows(subject, world, pod)
        after = asking.picture_of(pod), asking.picture_of_nodes(cluster.view)
        for what, old, new in zip(("pod", "nodes"), before, after, strict=True):
            if old != new:
                yield Finding(
                    ARGUMENTS,
                    f"{subject.plugin.name} changes the {what} that it is asked about",
                    "copy what you want to change: labels = dict(pod.labels), column.copy()",
                )
                return  # whatever comes next would be about a damaged cluster


def instance(subject: Subject, world: World) -> Any:
    """A plugin as a profile builds it."""
    (plugin,) = (
        plugin
        for plugin in subject.desk(world.cluster).profile.plugins
        if plugin.name == subject.plugin.name
    )
    return plugin


def _per_node(subject: Subject, method: str, world: World, pod: PodInfo) -> Iterator[Finding]:
    view, plugin = world.cluster.view, instance(subject, world)
    asked = getattr(plugin, method)
    count = len(view.nodes)

    def ask(i: int, whom: Any = asked) -> Said:
        return asking.of_node(whom, pod, view.nodes.node(i))

    first, again = [], []
    for i in range(count):
        first.append(ask(i))
        again.append(ask(i))
    asked_in_earnest = (
        passing(subject, plugin, world, pod) if method == "score_node" else range(count)
    )
    for i in asked_in_earnest:
        for problem in unusable(subject, method, first[i], view, i):
            yield problem
            return
    if not subject.claims_to_be_pure:
        return
    backwards = [ask(i) for i in reversed(range(count))][::-1]
    other = getattr(instance(subject, world), method)
    fresh = [ask(i, other) for i in reversed(range(count))][::-1]
    for when, said in (
        ("asked twice", again),
        ("asked about the nodes in another order", backwards),
        ("asked as a new instance", fresh),
    ):
        for i in range(count):
            if said[i] != first[i]:
                yield Finding(
                    REPEATABLE,
                    f"{method} {first[i]} for node {view.nodes.name(i)}, and {said[i]} when {when}",
                    _PURE,
                )
                return


def _columns(
    subject: Subject,
    method: str,
    ask: Callable[[Any, PodInfo, Any], Said],
    world: World,
    pod: PodInfo,
) -> Iterator[Finding]:
    plugin, view = instance(subject, world), world.cluster.view
    first, again, fresh = (
        ask(plugin, pod, view),
        ask(plugin, pod, view),
        ask(instance(subject, world), pod, view),
    )
    if first.kind == "raises":
        yield Finding(
            ANSWERS,
            f"{method} raises {first.what}",
            "handle the values that raise it, node by node",
        )
    elif first.kind == "fails" and "no data" not in str(first.what):
        yield Finding(
            ANSWERS,
            f"{method}: {first.what}",
            "answer for len(nodes) nodes: a bool mask or Verdicts from filter, int64 scores from score",
        )
    elif first != again or first != fresh:
        when = "asked twice" if first != again else "asked as a new instance"
        yield Finding(REPEATABLE, f"{method} says something else when {when}", _PURE)


def _some_rows(subject: Subject, world: World, pod: PodInfo) -> Iterator[Finding]:
    """After a change the scheduler asks about a few rows alone, and preemption does too."""
    view = world.cluster.view
    rows = np.arange(1, len(view.nodes), 3, dtype=np.intp)
    plugin = instance(subject, world)
    whole, part = (asking.filter_columns(plugin, pod, view, few) for few in (None, rows))
    if whole.kind != "says":
        return
    wanted = [whole.what[row] for row in rows.tolist()]
    if part.kind != "says" or part.what != wanted:
        yield Finding(
            REPEATABLE,
            "filter says something else of a few rows than of the same rows among all",
            "index nothing by row: every array has one entry per node of the nodes handed in "
            "(nodes.take(column) cuts a cluster-wide array to them)",
        )
