"""A running scheduler's cluster as a situation that can be asked: why, why not there, and what if.

Used in a copy of the process (``aside``): pods are taken off their nodes and nodes are changed here as if there were nobody
else. Asked by the debug page of a pod.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from bayplan.framework.pod_news import pod_of
from bayplan.runtime.ingest.remembered import allocatable_of, node_of
from bayplan.sim.explanation import Explanation, explain, recall
from bayplan.sim.situation import Situation

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cycle.desk import Desk
    from bayplan.cycle.record import Decision
    from bayplan.framework.config import ProfileConfig
    from bayplan.model.node import Node
    from bayplan.model.pod import Pod


class LiveSituation(Situation):
    """A pod in the cluster that a scheduler has in its columns."""

    def __init__(self, pod: PodInfo, desk: Desk, config: ProfileConfig) -> None:
        """Take the pod off its node, if it is on one: it is decided as if it were not there yet."""
        self.cluster = desk.cluster
        if pod.node_name:
            self.cluster.remove_pod(pod.namespace, pod.name, pod.uid)
        self._settle(pod_of(pod), config, desk)

    def pending(self) -> list[PodInfo] | None:
        """They wait in the queue; what their gang came to is in the record of the decision."""
        return None

    @cached_property
    def nodes(self) -> dict[str, Node]:  # type: ignore[override]
        """Made again from the columns, when first asked for."""
        table = self.cluster.nodes
        return {
            record.name: node_of(
                record,
                allocatable_of(table, row),
                unschedulable=bool(table.unschedulable.data[row]),
            )
            for row, record in enumerate(table.records)
            if record is not None
        }

    @cached_property
    def pods(self) -> dict[str, Pod]:  # type: ignore[override]
        """The placed pods, likewise."""
        pods, names = self.cluster.pods, self.cluster.nodes.names
        return {
            key: pod_of(pods.info(row, names[int(pods.node_row.data[row])]))
            for key, row in pods.row_of.items()
        }


def explanations(
    pod: PodInfo, desk: Desk, config: ProfileConfig, kept: Decision | None, node: str
) -> Iterator[Explanation]:
    """First what was said at the time, if that is kept, or what is said now; then the same with what would help.

    Raises:
        NoSuchNode: ``node`` is not there.
        PluginError: a plugin cannot decide.
    """
    situation = LiveSituation(pod, desk, config)
    if kept is None:
        yield explain(situation, node=node)
        return
    told = recall(situation, kept)
    if not node:
        yield told
        if told.chosen:
            return
    now = explain(situation, node=node)
    told.suggestions, told.detail = now.suggestions, now.detail
    if now.chosen and not told.chosen:
        told.notes.append(f"that was then; now it would go to {now.chosen}")
    yield told
