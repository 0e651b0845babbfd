"""The two forms of one plugin, to hold one against the other.

Public: ``from bayplan.testing import assert_forms_agree, per_node_form``.
"""

from __future__ import annotations

from typing import Any

from bayplan.cluster.cluster import Cluster
from bayplan.cycle.attempt import attempt
from bayplan.cycle.outcome import Failed, Placed
from bayplan.framework.plugin import FilterPlugin, Plugin, ScorePlugin
from bayplan.testing.builders import PodBuilder
from bayplan.testing.scheduler import make_desk


def per_node_form(plugin: type[Plugin]) -> type[Plugin]:
    """The same plugin without its column forms, wherever it has per-node forms too."""
    changed: dict[str, Any] = {"name": plugin.name, "args_type": plugin.args_type}
    if has(plugin, FilterPlugin, "filter_node"):
        changed["filter"] = FilterPlugin.filter
    if has(plugin, ScorePlugin, "score_node"):
        changed["score"] = ScorePlugin.score
    return type(plugin.__name__, (plugin,), changed)


def has(plugin: type[Plugin], point: type[Plugin], method: str) -> bool:
    """Whether a plugin serves a point by a method of its own."""
    return issubclass(plugin, point) and getattr(plugin, method) is not getattr(point, method)


def assert_forms_agree(
    plugin: type[Plugin],
    cluster: Cluster,
    *pods: PodBuilder,
    args: dict[str, dict[str, Any]] | None = None,
) -> None:
    """Decide pods one after the other by the column form and by the per-node form; every verdict and score must be equal."""
    desks = [make_desk(cluster, form, args=args) for form in (plugin, per_node_form(plugin))]
    for pod in pods:
        info = cluster.info(pod.build())
        columns, nodes = (attempt(info, desk) for desk in desks)
        if isinstance(columns, Failed) or isinstance(nodes, Failed):
            failed = columns if isinstance(columns, Failed) else nodes
            assert isinstance(failed, Failed)
            raise failed.error
        for one, other in zip(
            columns.decision.picture().lines(), nodes.decision.picture().lines(), strict=True
        ):
            assert one == other, f"pod {info.key}: the column form says {one}, the other {other}"
        if isinstance(columns, Placed):
            cluster.assume(columns.pod, columns.node)
