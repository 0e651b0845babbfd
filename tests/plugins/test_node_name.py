"""NodeName: all nodes, one node or none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.cluster import Cluster
from bayplan.framework.state import CycleState
from bayplan.framework.status import unresolvable
from bayplan.plugins.node_name import NodeName
from bayplan.testing.builders import make_node, make_pod


def cluster_of(*names: str) -> Cluster:
    cluster = Cluster()
    for name in names:
        cluster.put(make_node(name).build())
    return cluster


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        pytest.param("b", [False, True, False], id="a node that exists"),
        pytest.param("x", [False, False, False], id="a node that does not exist"),
    ],
)
def test_filter(wanted: str, fits: list[bool]) -> None:
    cluster, plugin = cluster_of("a", "b", "c"), NodeName()
    pod = cluster.info(make_pod("web").on(wanted).build())
    everywhere = plugin.filter(pod, cluster.view.nodes, CycleState())
    assert everywhere is not None
    assert everywhere.tolist() == fits

    rows = np.array([2, 1])
    few = plugin.filter(pod, cluster.view.rows(rows), CycleState())
    assert few is not None
    assert few.tolist() == [fits[2], fits[1]]


def test_a_pod_that_names_no_node_fits_anywhere() -> None:
    cluster = cluster_of("a", "b")
    pod = cluster.info(make_pod("web").build())
    assert NodeName().filter(pod, cluster.view.nodes, CycleState()) is None


NAMES = st.sampled_from("abcdef")


@given(st.lists(st.tuples(NAMES, st.booleans()), max_size=12), NAMES)
def test_like_a_node_at_a_time(events: list[tuple[str, bool]], wanted: str) -> None:
    """Nodes come and go, so that rows change hands."""
    cluster, plugin = Cluster(), NodeName()
    pod = cluster.info(make_pod("web").on(wanted).build())
    for name, comes in events:
        if comes:
            cluster.put(make_node(name).build())
        else:
            cluster.remove_node(name)
        alive = cluster.view.nodes.alive
        some = np.flatnonzero(alive)[::-2]
        for nodes in (cluster.view.nodes, cluster.view.rows(some), cluster.view.trial(some)):
            fits = plugin.filter(pod, nodes, CycleState())
            assert fits is not None
            for i in np.flatnonzero(nodes.alive).tolist():
                assert bool(fits[i]) is (nodes.name(i) == wanted)


def test_pods_that_name_different_nodes_are_not_alike() -> None:
    cluster, plugin = cluster_of("a", "b"), NodeName()
    one, other = (cluster.info(make_pod("web").on(node).build()) for node in "ab")
    assert plugin.sign(one) != plugin.sign(other)


def test_words() -> None:
    words = "node(s) didn't match the requested node name"
    assert NodeName.rejection == unresolvable(words)
