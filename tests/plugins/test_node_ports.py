"""NodePorts against the ports of one node at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.cluster import Cluster
from bayplan.framework.events import Hint
from bayplan.framework.state import CycleState
from bayplan.framework.status import SKIP, Rejected
from bayplan.plugins.node_ports import NodePorts
from bayplan.testing.builders import PodBuilder, make_node, make_pod

Port = tuple[int, str, str]

PORTS = st.tuples(
    st.sampled_from((0, 80, 443)),
    st.sampled_from(("", "TCP", "UDP")),
    st.sampled_from(("", "0.0.0.0", "10.0.0.1", "10.0.0.2")),
)


def pod_with(name: str, ports: list[Port]) -> PodBuilder:
    builder = make_pod(name).uid(name)
    for port in ports:
        builder.host_port(*port)
    return builder


def collide(wanted: Port, held: Port) -> bool:
    if 0 in (wanted[0], held[0]) or wanted[0] != held[0]:
        return False
    if (wanted[1] or "TCP") != (held[1] or "TCP"):
        return False
    ips = {wanted[2] or "0.0.0.0", held[2] or "0.0.0.0"}
    return len(ips) == 1 or "0.0.0.0" in ips


@given(
    st.lists(st.lists(PORTS, max_size=3), min_size=1, max_size=5),
    st.lists(PORTS, min_size=1, max_size=3),
)
def test_like_a_node_at_a_time(held: list[list[Port]], wanted: list[Port]) -> None:
    cluster, plugin, state = Cluster(), NodePorts(), CycleState()
    for i, ports in enumerate(held):
        cluster.put(make_node(f"n{i}").build())
        for j, port in enumerate(ports):
            cluster.put(pod_with(f"p{i}-{j}", [port]).on(f"n{i}").build())
    pod = cluster.info(pod_with("web", wanted).build())
    if all(port[0] == 0 for port in wanted):
        assert plugin.prefilter(pod, cluster.view, state) is SKIP
        return
    assert plugin.prefilter(pod, cluster.view, state) is None
    expected = [not any(collide(w, h) for w in wanted for h in ports) for ports in held]
    some = np.arange(len(held))[::-2]
    for nodes in (cluster.view.nodes, cluster.view.rows(some), cluster.view.trial(some)):
        answer = plugin.filter(pod, nodes, state)
        got = [True] * len(nodes) if answer is None else answer.tolist()
        assert got == [expected[row] for row in nodes.rows]


def test_a_port_is_free_again_where_its_holder_is_supposed_gone() -> None:
    cluster = Cluster()
    cluster.put(make_node("a").build())
    cluster.put(pod_with("holder", [(80, "TCP", "")]).on("a").build())
    pod = cluster.info(pod_with("web", [(80, "TCP", "10.0.0.1")]).build())
    trial = cluster.view.trial(np.array([0]))
    (holder,) = trial.pods_on(0)
    answer = NodePorts().filter(pod, trial, CycleState())
    assert answer is not None
    assert answer.tolist() == [False]
    trial.remove_pod(0, holder)
    assert NodePorts().filter(pod, trial, CycleState()) is None


def test_sidecars_want_ports_and_other_init_containers_do_not() -> None:
    ports = [{"hostPort": 80, "containerPort": 80}]
    for policy, skipped in (("Always", False), (None, True)):
        builder = make_pod("web")
        init = {"name": "init", "ports": ports} | ({"restartPolicy": policy} if policy else {})
        builder.manifest["spec"]["initContainers"] = [init]
        cluster = Cluster()
        answer = NodePorts().prefilter(cluster.info(builder.build()), cluster.view, CycleState())
        assert (answer is SKIP) is skipped


HOLDER = [(80, "TCP", "10.0.0.1")]


@pytest.mark.parametrize(
    ("gone", "hint"),
    [
        pytest.param(pod_with("db", HOLDER).on("a"), Hint.QUEUE, id="a holder"),
        pytest.param(pod_with("db", HOLDER).nominated("a"), Hint.QUEUE, id="a nominated pod"),
        pytest.param(pod_with("db", HOLDER), Hint.SKIP, id="a pod that was nowhere"),
        pytest.param(pod_with("db", []).on("a"), Hint.SKIP, id="a pod without ports"),
        pytest.param(pod_with("db", [(81, "TCP", "")]).on("a"), Hint.SKIP, id="another port"),
    ],
)
def test_which_deleted_pods_wake_a_pod(gone: PodBuilder, hint: Hint) -> None:
    on_pod, on_node = NodePorts().wakes_on()
    assert on_node.hint is None
    assert on_pod.hint is not None
    pod = Cluster().info(pod_with("web", [(80, "", "")]).build())
    assert on_pod.hint(pod, gone.build(), None) is hint


def test_words() -> None:
    words = "node(s) didn't have free ports for the requested pod ports"
    assert NodePorts.rejection == Rejected(words)
