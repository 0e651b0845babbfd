"""What plugins and custom schedulers ask of the whole cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.changes import Reads
from bayplan.cluster.cluster import Cluster
from bayplan.testing import make_cluster, make_node, make_pod

GPU = "nvidia.com/gpu"
ZONE = "topology.kubernetes.io/zone"
#: CPUs, GPUs, zone, region, CPUs asked for by a pod there.
NODES = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.integers(0, 2),
        st.sampled_from(["", "z1", "z2"]),
        st.sampled_from([None, "r1"]),
        st.integers(0, 5),
    ),
    max_size=6,
)


def build(nodes: list[Any], gone: set[int]) -> Cluster:
    cluster = Cluster()
    for i, (cpu, gpu, zone, region, asked) in enumerate(nodes):
        node = make_node(f"n{i}").capacity({"cpu": str(cpu), GPU: str(gpu)})
        if zone:
            node.zone(zone)
        if region:
            node.label("topology.kubernetes.io/region", region)
        cluster.put(node.build())
        cluster.put(make_pod(f"p{i}").requests(cpu=str(asked)).on(f"n{i}").build())
    for i in gone:
        cluster.remove_node(f"n{i}")
    return cluster


@given(NODES, st.sets(st.integers(0, 5)), st.integers(-1, 5), st.integers(1, 2))
def test_indexes_like_a_list_of_nodes(
    nodes: list[Any], gone: set[int], cpus: int, gpus: int
) -> None:
    """A node that is gone is found by nobody, though its pods are still there."""
    view = build(nodes, gone).view
    there = [(f"n{i}", *node) for i, node in enumerate(nodes) if i not in gone]

    def names(found: list[Any]) -> list[str]:
        return sorted(node.name for node in found)

    free = [n for n, cpu, _, _, _, asked in there if cpu - asked >= cpus]
    assert names(view.nodes_with("cpu", cpus * 1000)) == free
    assert names(view.nodes_with(GPU, gpus)) == [n for n, _, gpu, *_ in there if gpu >= gpus]
    assert view.nodes_with("nobody/has-it", 1) == []
    for zone in ("z1", "z2", "z3"):
        assert names(view.in_zone(zone)) == [n for n, _, _, z, *_ in there if z == zone]
    assert names(view.in_region("r1")) == [n for n, _, _, _, r, _ in there if r == "r1"]
    assert view.node_count == len(there)


def test_one_node_and_one_pod() -> None:
    cluster = make_cluster(make_node("a").zone("z1"), make_pod("web", "prod").on("a"))
    cluster.put(make_pod("stray").on("nowhere").build())
    view = cluster.view
    node, pod = view.node("a"), view.pod("prod", "web")
    assert node is not None
    assert pod is not None
    assert (node.name, node.zone, pod.key, pod.node_name) == ("a", "z1", "prod/web", "a")
    assert view.row_of("a") == node.row
    assert (view.row_of("nowhere"), view.node("nowhere"), view.row_of("b")) == (None, None, None)
    assert view.pod("prod", "db") is None
    stray = view.pod("default", "stray")
    assert stray is not None
    assert stray.node_name == "nowhere"


def test_labels_and_taints_by_number() -> None:
    view = make_cluster(
        make_node("a").zone("z1").taint("t"), make_node("b").zone("z2"), make_node("c")
    ).view
    zone = "topology.kubernetes.io/zone"
    values = view.label_values(zone)
    shown = [values[i] if i >= 0 else None for i in view.nodes.label(zone).tolist()]
    assert shown == ["z1", "z2", None]
    assert view.label_value(zone, "z2") == values.index("z2")
    assert view.label_value(zone, "z9") == -1
    taints = [[t.key for t in view.taint_sets[i]] for i in view.nodes.taint_set.tolist()]
    assert taints == [["t"], [], []]


def test_a_few_rows_show_what_all_rows_show() -> None:
    view = build([(1, 0, "z1", None, 0), (2, 1, "z2", "r1", 1), (3, 2, "", None, 2)], set()).view
    rows = np.array([2, 0])
    few, everyone = view.rows(rows), view.nodes
    assert (len(few), few.full, everyone.full) == (2, False, True)
    assert [few.name(i) for i in range(2)] == ["n2", "n0"]
    for column in ("allocatable", "requested", "free"):
        whole, part = getattr(everyone, column)("cpu"), getattr(few, column)("cpu")
        assert part.tolist() == whole[rows].tolist()
    for column in ("max_pods", "pod_count", "alive", "taint_set", "unschedulable", "nonzero_cpu"):
        assert getattr(few, column).tolist() == getattr(everyone, column)[rows].tolist()
    assert [few.labels_of(i) for i in range(2)] == [everyone.labels_of(2), everyone.labels_of(0)]


@pytest.mark.parametrize(
    ("topic", "obj"),
    [
        pytest.param(Reads.ALL_NODES, make_node("b"), id="a node"),
        pytest.param(Reads.ALL_PODS, make_pod("p").on("a"), id="a pod"),
        pytest.param(
            Reads.AFFINITY_TERMS, make_pod("p").affinity({"a": "b"}, "zone").on("a"), id="its terms"
        ),
        pytest.param(Reads.NODE_LABELS, make_node("a").label("x", "y"), id="a node's label"),
        pytest.param(Reads.NODE_TAINTS, make_node("a").taint("t"), id="a node's taint"),
        pytest.param(Reads.ALL_IMAGES, make_node("a").image("i", 1), id="a node's image"),
    ],
)
def test_a_topic_has_a_new_version_after_a_change(topic: Reads, obj: Any) -> None:
    cluster = make_cluster(make_node("a"))
    before = cluster.view.versions(topic)
    cluster.put(obj.build())
    after = cluster.view.versions(topic)
    assert after != before
    cluster.put(obj.build())
    assert cluster.view.versions(topic) == after, "the same again is no news"


def test_what_a_label_s_values_come_to_is_asked_once_per_value() -> None:
    cluster = make_cluster(
        *(make_node(f"n{i}").zone("abc"[i % 3]) for i in range(30)), make_node("x")
    )
    asked: list[str] = []

    def say(zone: str) -> float:
        asked.append(zone)
        return float(len(zone) and ord(zone))

    nodes = cluster.view.nodes
    assert nodes.by_label(ZONE, say).tolist() == [float(ord("abc"[i % 3])) for i in range(30)] + [0]
    assert sorted(asked) == ["", "a", "b", "c"]
    few = cluster.view.rows(np.array([30, 2, 5]))
    assert few.by_label(ZONE, say).tolist() == [0, ord("c"), ord("c")]


def test_pods_are_counted_by_namespace_and_labels() -> None:
    cluster = make_cluster(
        make_node("a"),
        make_node("b"),
        make_pod("p", "x").label("app", "web").on("a"),
        make_pod("q", "x").label("app", "web").on("b"),
        make_pod("r", "x").label("app", "db").on("b"),
        make_pod("s", "y").label("app", "web").requests(cpu="2").on("b"),
        make_pod("t", "y").requests(cpu="1").on("b"),
    )

    def counted(namespace: str, labels: Mapping[str, str]) -> bool:
        return namespace == "x" or "app" not in labels

    nodes, view = cluster.view.nodes, cluster.view
    assert nodes.count_pods(counted).tolist() == [1, 3]
    assert view.rows(np.array([1])).count_pods(counted).tolist() == [3]
    assert view.requested_by_namespace("cpu") == {"x": 0, "y": 3000}
    assert view.requested_by_namespace("nvidia.com/gpu") == {}
