"""Nodes, as the watch tells of them: columns brought up to date, then one event for each aspect that changed.

Fed by the informer of nodes. Which aspects there are, and that a cordon alone wakes nobody, is upstream's
``NodeSchedulingPropertiesChange``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayplan.cluster.nodes import amounts
from bayplan.framework.events import Action, ClusterEvent, Resource
from bayplan.runtime.ingest.remembered import allocatable_of, node_of
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.cluster.cluster import Cluster
    from bayplan.model.node import Node
    from bayplan.runtime.ingest.waking import Waker

_log: Final = get_logger(__name__)

_Conditions = frozenset[tuple[str, str]]


class Nodes:
    """Handler of nodes (``client.informer.Handler``)."""

    def __init__(self, cluster: Cluster, waker: Waker) -> None:
        self._cluster = cluster
        self._waker = waker
        #: Condition types and their statuses, by node. Few sets occur; nodes share them.
        self._conditions: dict[str, _Conditions] = {}
        self._known_sets: dict[_Conditions, _Conditions] = {}

    def on_put(self, node: Node) -> None:
        """A node was added or changed."""
        with self._waker.handling() as wake:
            before = self._before(node.metadata.name)
            self._cluster.put_node(node)
            if before is None:
                self._conditions[node.metadata.name] = self._condition_set(node)
                if debug := _log.v(3):
                    debug.info("Add event for node", node=node.metadata.name)
                wake(ClusterEvent.of(Resource.NODE, Action.ADD, None, node))
                return
            if debug := _log.v(4):
                debug.info("Update event for node", node=node.metadata.name)
            for action in self._changes(before, node):
                wake(ClusterEvent.of(Resource.NODE, action, before, node))

    def on_gone(self, namespace: str, name: str, uid: str, last: Node | None) -> None:
        """A node was deleted; pods on it stay counted until they go too."""
        with self._waker.handling() as wake:
            before = last or self._before(name)
            self._conditions.pop(name, None)
            if before is None:
                return
            if debug := _log.v(3):
                debug.info("Delete event for node", node=name)
            wake(ClusterEvent.of(Resource.NODE, Action.DELETE, before, None))
            self._cluster.remove_node(name)

    def on_listed(self) -> None:
        """Nothing waits for a complete list here."""

    def _before(self, name: str) -> Node | None:
        """The node as it is known."""
        nodes = self._cluster.nodes
        row = nodes.row_of.get(name)
        record = nodes.records[row] if row is not None else None
        if row is None or record is None:
            return None
        return node_of(
            record,
            allocatable_of(nodes, row),
            unschedulable=bool(nodes.unschedulable.data[row]),
        )

    def _changes(self, before: Node, node: Node) -> list[Action]:
        """The aspects that changed, in the order in which upstream tells of them."""
        name = node.metadata.name
        conditions = self._condition_set(node)
        old_conditions, self._conditions[name] = self._conditions.get(name), conditions
        # When a taint was added is not kept; a taint that differs in nothing else is the same.
        taints = [(t.key, t.value, t.effect) for t in node.spec.taints]
        changed = {
            Action.UPDATE_NODE_ALLOCATABLE: _offers(before) != _offers(node),
            Action.UPDATE_NODE_LABEL: before.metadata.labels != node.metadata.labels,
            Action.UPDATE_NODE_TAINT: taints
            != [(t.key, t.value, t.effect) for t in before.spec.taints],
            Action.UPDATE_NODE_CONDITION: old_conditions is not conditions,
            Action.UPDATE_NODE_ANNOTATION: before.metadata.annotations != node.metadata.annotations,
            Action.UPDATE_NODE_DECLARED_FEATURE: set(before.status.declared_features)
            != set(node.status.declared_features),
        }
        actions = [action for action, differs in changed.items() if differs]
        if before.spec.unschedulable and not node.spec.unschedulable:
            actions.insert(0, Action.UPDATE_NODE_TAINT)
        return actions

    def _condition_set(self, node: Node) -> _Conditions:
        found = frozenset((c.type, c.status) for c in node.status.conditions)
        return self._known_sets.setdefault(found, found)


def _offers(node: Node) -> dict[str, int]:
    return {name: n for name, n in amounts(node.status.allocatable).items() if n}
