"""NodeDeclaredFeatures: which pods need a feature, and which nodes have it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.cluster import Cluster
from bayplan.framework.events import Hint
from bayplan.framework.state import CycleState
from bayplan.framework.status import SKIP, unresolvable
from bayplan.plugins.node_declared_features import NodeDeclaredFeatures, required_features
from bayplan.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod

RESTART = "RestartAllContainersOnContainerExits"
USERS = "UserNamespacesHostNetworkSupport"
RULES = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}]


def pod_with(spec: dict[str, Any]) -> PodBuilder:
    builder = make_pod("web").uid("web-1")
    builder.manifest["spec"].update(spec)
    return builder


def node(name: str, features: set[str]) -> NodeBuilder:
    builder = make_node(name)
    builder.manifest["status"]["declaredFeatures"] = sorted(features)
    return builder


@pytest.mark.parametrize(
    ("spec", "features"),
    [
        pytest.param({}, set(), id="nothing"),
        pytest.param({"hostNetwork": True}, set(), id="host network in the host's user namespace"),
        pytest.param({"hostUsers": False}, set(), id="user namespace without host network"),
        pytest.param({"hostNetwork": True, "hostUsers": True}, set(), id="users of the host"),
        pytest.param({"hostNetwork": True, "hostUsers": False}, {USERS}, id="both"),
        pytest.param(
            {"containers": [{"name": "a", "restartPolicyRules": RULES}]},
            {RESTART},
            id="a container that restarts all",
        ),
        pytest.param(
            {"initContainers": [{"name": "a", "restartPolicyRules": RULES}]},
            {RESTART},
            id="an init container that restarts all",
        ),
        pytest.param(
            {"containers": [{"name": "a", "restartPolicyRules": [{"action": "Restart"}]}]},
            set(),
            id="a container that restarts itself",
        ),
        pytest.param(
            {"resources": {"requests": {"cpu": "1"}}}, set(), id="pod-level resources as such"
        ),
    ],
)
def test_what_a_pod_needs(spec: dict[str, Any], features: set[str]) -> None:
    cluster = Cluster()
    pod = cluster.info(pod_with(spec).build())
    assert required_features(pod.spec) == features
    answer = NodeDeclaredFeatures().prefilter(pod, cluster.view, CycleState())
    assert answer is (None if features else SKIP)


NEEDY = {
    "hostNetwork": True,
    "hostUsers": False,
    "containers": [{"name": "a", "restartPolicyRules": RULES}],
}


@given(st.lists(st.sets(st.sampled_from((RESTART, USERS, "Other"))), min_size=1, max_size=5))
def test_like_a_node_at_a_time(declared: list[set[str]]) -> None:
    cluster = Cluster()
    for i, features in enumerate(declared):
        cluster.put(node(f"n{i}", features).build())
    pod = cluster.info(pod_with(NEEDY).build())
    for nodes in (cluster.view.nodes, cluster.view.rows(np.arange(len(declared))[::-2])):
        answer = NodeDeclaredFeatures().filter(pod, nodes, CycleState())
        assert answer is not None
        assert answer.tolist() == [{RESTART, USERS} <= declared[row] for row in nodes.rows]


def test_words() -> None:
    words = "node(s) didn't match Pod's required features"
    assert NodeDeclaredFeatures.rejection == unresolvable(words)


def test_a_node_with_other_features_wakes_a_pod() -> None:
    on_node, _ = NodeDeclaredFeatures().wakes_on()
    assert on_node.hint is not None
    pod = Cluster().info(pod_with(NEEDY).build())
    old, new = node("a", set()).build(), node("a", {USERS}).build()
    assert on_node.hint(pod, None, old) is Hint.QUEUE
    assert on_node.hint(pod, old, new) is Hint.QUEUE
    assert on_node.hint(pod, new, new) is Hint.SKIP


def test_an_update_of_its_needs_wakes_a_pod() -> None:
    _, on_pod = NodeDeclaredFeatures().wakes_on()
    assert on_pod.hint is not None
    old, new = pod_with(NEEDY).build(), pod_with({}).build()
    pod = Cluster().info(old)
    assert on_pod.hint(pod, old, new) is Hint.QUEUE
    assert on_pod.hint(pod, old, old) is Hint.SKIP
    stranger = make_pod("db").uid("db-1").build()
    assert on_pod.hint(pod, stranger, stranger) is Hint.SKIP
