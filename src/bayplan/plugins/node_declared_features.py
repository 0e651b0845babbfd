"""NodeDeclaredFeatures: a pod that uses a recent feature of the kubelet needs a node that declares it.

Reads:  the parts of the pod's spec that call for such features, the features that nodes declare.
Says:   one bool per node. Evicting pods does not upgrade a node, so it is UNRESOLVABLE.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.cluster.changes import Reads
from bayplan.framework.events import Action, Hint, Resource, WakeOn
from bayplan.framework.plugin import FilterPlugin, PreFilterPlugin
from bayplan.framework.status import SKIP, Mask, Skip, unresolvable

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import ClusterView, Nodes
    from bayplan.framework.state import CycleState
    from bayplan.model.node import Node
    from bayplan.model.pod import Pod, PodSpec

RESTART_ALL_CONTAINERS: Final = "RestartAllContainersOnContainerExits"
USER_NAMESPACES_HOST_NETWORK: Final = "UserNamespacesHostNetworkSupport"


class NodeDeclaredFeatures(PreFilterPlugin, FilterPlugin):
    """Keeps the nodes that declare every feature which the pod uses."""

    name = "NodeDeclaredFeatures"
    reads = Reads.FEATURES
    reason = "node(s) didn't match Pod's required features"
    rejection = unresolvable(reason)

    def prefilter(self, pod: PodInfo, view: ClusterView, state: CycleState) -> Skip | None:
        return None if required_features(pod.spec) else SKIP

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Mask | None:
        required = required_features(pod.spec)
        # Node by node: hardly any pod uses such a feature, so they have no column.
        declared = (required <= nodes.features_of(i) for i in range(len(nodes)))
        return np.fromiter(declared, np.bool_, len(nodes))

    def wakes_on(self) -> Sequence[WakeOn]:
        return (
            WakeOn(Resource.NODE, Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE, _node_changed),
            WakeOn(Resource.POD, Action.UPDATE, _needs_changed),
        )


def required_features(spec: PodSpec) -> frozenset[str]:
    """The features that a pod needs in order to be started; those that only an update of it would need do not count."""
    required = set()
    if any(
        rule.action == "RestartAllContainers"
        for container in (*spec.init_containers, *spec.containers)
        for rule in container.restart_policy_rules
    ):
        required.add(RESTART_ALL_CONTAINERS)
    if spec.host_network and spec.host_users is False:
        required.add(USER_NAMESPACES_HOST_NETWORK)
    return frozenset(required)


def _node_changed(pod: PodInfo, old: Node | None, new: Node | None) -> Hint:
    if old is None or new is None:
        return Hint.QUEUE
    same = old.status.declared_features == new.status.declared_features
    return Hint.SKIP if same else Hint.QUEUE


def _needs_changed(pod: PodInfo, old: Pod | None, new: Pod | None) -> Hint:
    if new is None or new.uid != pod.uid:
        return Hint.SKIP
    if old is not None and required_features(old.spec) == required_features(new.spec):
        return Hint.SKIP
    return Hint.QUEUE
