"""A what-if looks like a cluster in which it has happened, and the cluster itself knows nothing of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.audit import check
from bayplan.cluster.cluster import Cluster
from bayplan.cluster.view import Nodes
from bayplan.model.pod import Pod
from bayplan.testing import make_node, make_pod

HUGE = str(2**63 - 1)
#: CPUs, GPUs and a host port.
PODS = st.tuples(
    st.sampled_from(["", "1", "100m", HUGE]), st.sampled_from(["", "2"]), st.integers(0, 2)
)
RESOURCES = ("cpu", "memory", "nvidia.com/gpu", "nobody/has-it")


def a_pod(name: str, drawn: tuple[str, str, int], node: str) -> Pod:
    cpu, gpu, port = drawn
    pod = make_pod(name).uid(name).on(node)
    if cpu:
        pod.requests(cpu=cpu)
    if gpu:
        pod.requests({"nvidia.com/gpu": gpu})
    if port:
        pod.host_port(port)
    return pod.build()


def a_cluster(pods: dict[str, tuple[Any, str]]) -> Cluster:
    cluster = Cluster()
    for name in ("n0", "n1", "n2"):
        cluster.put(make_node(name).build())
    for name, (drawn, node) in pods.items():
        cluster.put(a_pod(name, drawn, node))
    return cluster


def shown(nodes: Nodes) -> Any:
    return [
        (
            nodes.name(i),
            [int(nodes.requested(name)[i]) for name in RESOURCES],
            [int(nodes.free(name)[i]) for name in RESOURCES],
            int(nodes.nonzero_cpu[i]),
            int(nodes.nonzero_memory[i]),
            int(nodes.pod_count[i]),
            sorted(pod.name for pod in nodes.pods_on(i)),
        )
        for i in range(len(nodes))
    ]


def ports(nodes: Nodes) -> list[tuple[int, int]]:
    return sorted((i, port) for port in (1, 2) for i, _ in nodes.port_holders("TCP", port))


@given(st.lists(st.tuples(PODS, st.sampled_from(["n0", "n1", "n2"])), max_size=6), st.data())
def test_supposing_is_like_doing(placed: list[Any], data: st.DataObject) -> None:
    pods = {f"p{i}": one for i, one in enumerate(placed)}
    cluster = a_cluster(pods)
    before = shown(cluster.view.nodes)
    rows = np.array(data.draw(st.permutations(range(3))), np.intp)[: data.draw(st.integers(1, 3))]
    trial, at = cluster.view.trial(rows), [f"n{row}" for row in rows.tolist()]
    held = {
        (i, port) for i, name in enumerate(at) for (_, _, port), n in pods.values() if n == name
    }
    held -= {(i, 0) for i in range(3)}
    for number in range(data.draw(st.integers(0, 5))):
        i = data.draw(st.integers(0, len(at) - 1))
        there = sorted(name for name, (_, node) in pods.items() if node == at[i])
        goes: bool = data.draw(st.booleans())
        if there and goes:
            name = data.draw(st.sampled_from(there))
            drawn, _ = pods.pop(name)
            trial.remove_pod(i, cluster.info(a_pod(name, drawn, at[i])))
            held.discard((i, drawn[2]))  # as in Kubernetes: free, though another pod held it too
        else:
            drawn = data.draw(PODS)
            pods[f"new{number}"] = drawn, at[i]
            trial.add_pod(i, cluster.info(a_pod(f"new{number}", drawn, at[i])))
            held |= {(i, drawn[2])} - {(i, 0)}
        done = a_cluster(pods).view.rows(rows)
        assert shown(trial) == shown(done)
        assert ports(trial) == sorted(held)
        assert set(trial.supposed) <= set(range(len(at)))
        fork = trial.fork()
        fork.add_pod(0, cluster.info(a_pod("elsewhere", ("1", "2", 1), at[0])))
        assert shown(trial) == shown(done), "a fork is another trial"
    assert shown(cluster.view.nodes) == before
    check(cluster)


def test_what_namespaces_take_more_or_less_in_a_what_if() -> None:
    cluster = Cluster()
    for name, namespace, home in (("p", "a", "n"), ("q", "b", "n"), ("r", "a", "m")):
        cluster.put(make_pod(name, namespace).on(home).requests(cpu="2").build())
    promised = cluster.info(make_pod("w", "a").requests(cpu="5").nominated("n").build())
    cluster.put_pod(promised)
    trial = cluster.view.trial(np.arange(2))
    only_a = frozenset("a")
    assert cluster.view.nodes.moved("cpu", only_a) is None
    assert trial.moved("cpu", only_a).tolist() == [0, 0]
    trial.remove_pod(0, cluster.pods.info(cluster.pods.row_of["a/p"], "n"))
    trial.remove_pod(0, cluster.pods.info(cluster.pods.row_of["b/q"], "n"))
    trial.add_pod(0, promised)
    assert trial.moved("cpu", only_a).tolist() == [-2000, -2000]
    assert trial.moved("pods", frozenset("ab")).tolist() == [-2, -2]
    fork = trial.fork()
    fork.add_pod(0, cluster.pods.info(cluster.pods.row_of["a/p"], "n"))
    assert fork.moved("cpu", only_a).tolist() == [0, 0]
    fork.add_pod(0, cluster.info(make_pod("new", "a").requests(cpu="1").build()))
    assert fork.moved("cpu", only_a).tolist() == [1000, 1000]
    assert trial.moved("cpu", only_a).tolist() == [-2000, -2000]
