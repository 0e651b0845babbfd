"""Many nodes thinned at once must look like each of them tried alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.cluster import Cluster
from bayplan.cluster.thinned import LowerPods, ThinnedNodes, too_big
from bayplan.cluster.view import Nodes, TrialNodes
from bayplan.model.decode import decode
from bayplan.testing import make_node, make_pod

RESOURCES = ("cpu", "memory", "example.com/gpu", "nobody/has-it")


def a_node(name: str) -> Any:
    status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10", "example.com/gpu": "4"}}
    return decode(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}
    )


def a_pod(name: str, node: str, priority: int = 0, port: int = 0, **requests: str) -> Any:
    asked = {key.replace("gpu", "example.com/gpu"): amount for key, amount in requests.items()}
    container: dict[str, Any] = {"name": "c", "resources": {"requests": asked}}
    if port:
        container["ports"] = [{"containerPort": port, "hostPort": port, "hostIP": "10.0.0.1"}]
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {"nodeName": node, "priority": priority, "containers": [container]},
        }
    )


def a_cluster(*pods: Any) -> Cluster:
    cluster = Cluster()
    for name in ("n0", "n1", "n2"):
        cluster.put(a_node(name))
    for pod in pods:
        cluster.put(pod)
    return cluster


def shown(nodes: Nodes) -> Any:
    """Everything that pods change."""
    return (
        [nodes.requested(name).tolist() for name in RESOURCES],
        nodes.nonzero_cpu.tolist(),
        nodes.nonzero_memory.tolist(),
        nodes.pod_count.tolist(),
        [sorted(pod.name for pod in nodes.pods_on(i)) for i in range(len(nodes))],
        [sorted(nodes.port_holders("TCP", port)) for port in (80, 81)],
    )


pods = st.builds(
    lambda node, priority, port, cpu, gpu: {
        "node": node,
        "priority": priority,
        "port": port,
        **({"cpu": str(cpu)} if cpu else {}),
        **({"gpu": str(gpu)} if gpu else {}),
    },
    st.sampled_from(["n0", "n1", "n2"]),
    st.integers(-1, 3),
    st.sampled_from([0, 80, 81]),
    st.integers(0, 2),
    st.integers(0, 2),
)


@given(st.lists(pods, max_size=8), st.data(), st.booleans())
def test_matches_nodes_tried_alone(
    drawn: list[dict[str, Any]], data: st.DataObject, look_first: bool
) -> None:
    cluster = a_cluster(*(a_pod(f"p{i}", **pod) for i, pod in enumerate(drawn)))
    rows = np.array([2, 0, 1], np.intp)
    lower = LowerPods(cluster, rows, 2)
    thinned, alone = ThinnedNodes(cluster, lower), TrialNodes(cluster, rows)
    gone = [
        (int(i), cluster.pods.info(int(pod), alone.name(int(i))))
        for i, pod in zip(lower.owner, lower.pods, strict=True)
    ]
    for i, pod in gone:
        assert pod.priority < 2
        alone.remove_pod(i, pod)
    for port in (80, 81):
        thinned.port_holders("TCP", port)  # ports have to be asked about first
    if look_first:
        assert shown(thinned) == shown(alone)
    away = [True] * len(gone)
    for _ in range(data.draw(st.integers(0, 6)) if gone else 0):
        position = data.draw(st.integers(0, len(gone) - 1))
        which = np.array([position], np.intp)
        if away[position]:
            thinned.put_back(which)
            alone.add_pod(*gone[position])
        else:
            thinned.take_away(which)
            alone.remove_pod(*gone[position])
        away[position] = not away[position]
    assert shown(thinned) == shown(alone)
    assert thinned.absent.tolist() == away


def test_pods_of_several_nodes_move_together() -> None:
    cluster = a_cluster(*(a_pod(f"p{i}", f"n{i}", cpu="1") for i in range(3)))
    lower = LowerPods(cluster, np.arange(3), 1)
    thinned = ThinnedNodes(cluster, lower)
    assert thinned.requested("cpu").tolist() == [0, 0, 0]
    thinned.put_back(np.array([0, 2]))
    assert thinned.requested("cpu").tolist() == [1000, 0, 1000]
    assert thinned.pod_count.tolist() == [1, 0, 1]
    assert cluster.view.nodes.requested("cpu").tolist() == [1000, 1000, 1000]


def test_a_row_that_stands_for_another_pod_is_looked_at_again() -> None:
    cluster = a_cluster(a_pod("old", "n0", cpu="1", port=80))
    LowerPods(cluster, np.arange(3), 1)
    ThinnedNodes(cluster, LowerPods(cluster, np.arange(3), 1))
    cluster.remove(a_pod("old", "n0"))
    cluster.put(a_pod("new", "n0", cpu="3"))
    thinned = ThinnedNodes(cluster, LowerPods(cluster, np.arange(3), 1))
    assert thinned.requested("cpu").tolist() == [0, 0, 0]
    thinned.put_back(np.array([0]))
    assert thinned.requested("cpu").tolist() == [3000, 0, 0]


def test_sums_too_big_to_be_taken_apart() -> None:
    huge = str(2**63 // 1000 - 1)
    cluster = a_cluster(a_pod("a", "n1", cpu=huge), a_pod("b", "n1", cpu=huge))
    assert too_big(cluster, np.array([1, 0])).tolist() == [True, False]


def test_a_trial_takes_saturated_sums_apart() -> None:
    huge = str(2**63 // 1000 - 1)
    cluster = a_cluster(a_pod("a", "n0", cpu=huge), a_pod("b", "n0", cpu=huge, gpu="1"))
    trial = TrialNodes(cluster, np.array([0]))
    a, b = trial.pods_on(0)
    trial.remove_pod(0, a)
    assert trial.requested("cpu").tolist() == [int(huge) * 1000]
    assert trial.requested("example.com/gpu").tolist() == [1]
    fork = trial.fork()
    fork.remove_pod(0, b)
    assert fork.requested("cpu").tolist() == [0]
    assert fork.pods_on(0) == []
    assert [pod.name for pod in trial.pods_on(0)] == ["b"]


def test_what_namespaces_take_less_on_each_node_by_itself() -> None:
    cluster = Cluster()
    for name in "nm":
        cluster.put(make_node(name).build())
    for name, namespace, home in (("p", "a", "n"), ("q", "b", "n"), ("r", "a", "m")):
        cluster.put(make_pod(name, namespace).on(home).requests(cpu="2").build())
    thinned = ThinnedNodes(cluster, LowerPods(cluster, np.arange(2), 1))
    assert thinned.moved("cpu", frozenset("a")).tolist() == [-2000, -2000]
    assert thinned.moved("cpu", frozenset("ab")).tolist() == [-4000, -2000]
    assert thinned.moved("pods", frozenset("ab")).tolist() == [-2, -1]
    assert thinned.moved("example.com/none", frozenset("ab")).tolist() == [0, 0]
    thinned.put_back(np.array([0]))
    assert thinned.moved("cpu", frozenset("a")).tolist() == [0, -2000]
