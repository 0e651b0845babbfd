"""Check ``answers``: what a per-node method says is something that the scheduler can use.

Asked by ``repeatable`` of everything that it hears.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from bayplan.cluster.podinfo import PodInfo
from bayplan.framework.plugin import MAX_SCORE, MIN_SCORE
from bayplan.kit.linting import asking
from bayplan.kit.linting.asking import NO_DATA, Said
from bayplan.kit.linting.findings import Finding, Severity
from bayplan.kit.linting.subject import Subject
from bayplan.kit.linting.worlds import World

ANSWERS: Final = "answers"


def passing(subject: Subject, plugin: Any, world: World, pod: PodInfo) -> list[int]:
    """The nodes that the plugin's own filter lets pass: no other is ever scored."""
    view = world.cluster.view
    rows = range(len(view.nodes))
    if subject.filters_columns:
        said = asking.filter_columns(plugin, pod, view)
        return [i for i in rows if said.kind == "says" and not said.what[i]]
    if subject.filters_nodes:
        asked = (asking.of_node(plugin.filter_node, pod, view.nodes.node(i)) for i in rows)
        return [i for i, said in enumerate(asked) if said.kind == "passes"]
    return list(rows)


def unusable(subject: Subject, method: str, said: Said, view: Any, i: int) -> Iterator[Finding]:
    """What the scheduler could make nothing of: it would fail the pod."""
    name = view.nodes.name(i)
    if said.kind == "raises":
        yield Finding(
            ANSWERS,
            f"{method} raises {said.what} for a node with labels {dict(view.nodes.labels_of(i))}",
            "a label, an annotation or a resource may be missing (use .get(key, default)) or hold any text: "
            "until it is mended every pod that meets such a node fails",
            # Who labels nodes may be trusted to write numbers; that a label is missing is ordinary.
            Severity.DOUBT if str(said.what).startswith("ValueError") else Severity.FAULT,
        )
    elif method == "filter_node" and said.kind not in ("passes", "turns it down:", NO_DATA):
        yield Finding(
            ANSWERS,
            f"filter_node {said} for node {name}",
            "return None to let the node pass, or Rejected('why not')",
        )
    elif method == "score_node" and said.kind not in ("scores", NO_DATA):
        yield Finding(
            ANSWERS, f"score_node {said} for node {name}", "return a number from 0 to 100"
        )
    elif method == "score_node" and said.kind == "scores":
        if not np.isfinite(said.what):
            yield Finding(
                ANSWERS, f"score_node {said} for node {name}", "check the divisor before dividing"
            )
        elif not subject.normalizes and not MIN_SCORE <= int(said.what) <= MAX_SCORE:
            yield Finding(
                ANSWERS,
                f"score_node {said} for node {name}, outside of 0 to 100",
                "scale it: add normalize(), which may return bayplan.scale(raw, feasible)",
            )
