"""One node as a person's plugin reads it, and what is noted of the reading."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bayplan.cluster.changes import EVERYTHING, Reads
from bayplan.cluster.nodeinfo import NodeInfo
from bayplan.errors import DataMissing
from bayplan.testing import make_cluster, make_node, make_pod


def a_node() -> NodeInfo:
    node = (
        make_node("a")
        .capacity({"cpu": "4", "nvidia.com/gpu": "2"})
        .zone("z1")
        .label("topology.kubernetes.io/region", "r1")
        .annotation("note", "x")
        .taint("t", "v")
        .cordoned()
        .image("app:1", 7)
        .usage(cpu=0.5)
    )
    cluster = make_cluster(node, make_pod("p").requests(cpu="5").on("a"))
    cluster.put(make_node("bare").build())
    found = cluster.view.node("a")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("read", "value", "noted"),
    [
        pytest.param(lambda n: n.name, "a", Reads.NOTHING, id="name"),
        pytest.param(lambda n: n.labels["kubernetes.io/hostname"], "a", Reads.LABELS, id="labels"),
        pytest.param(
            lambda n: (n.zone, n.region), ("z1", "r1"), Reads.LABELS, id="zone and region"
        ),
        pytest.param(
            lambda n: dict(n.annotations), {"note": "x"}, Reads.ANNOTATIONS, id="annotations"
        ),
        pytest.param(lambda n: n.taints[0].key, "t", Reads.TAINTS, id="taints"),
        pytest.param(lambda n: n.unschedulable, True, Reads.TAINTS, id="cordon"),
        pytest.param(lambda n: n.allocatable["cpu"], 4000, Reads.ALLOCATABLE, id="allocatable"),
        pytest.param(lambda n: n.capacity["cpu"], 4000, Reads.ALLOCATABLE, id="capacity"),
        pytest.param(lambda n: n.max_pods, 110, Reads.ALLOCATABLE, id="max pods"),
        pytest.param(lambda n: n.requested["cpu"], 5000, Reads.USAGE, id="requested"),
        pytest.param(
            lambda n: n.free["cpu"], -1000, Reads.USAGE | Reads.ALLOCATABLE, id="free, below zero"
        ),
        pytest.param(lambda n: n.pod_count, 1, Reads.USAGE, id="pod count"),
        pytest.param(lambda n: [p.name for p in n.pods], ["p"], Reads.LOCAL_PODS, id="pods"),
        pytest.param(lambda n: dict(n.images), {"app:1": 7}, Reads.IMAGES, id="images"),
        pytest.param(lambda n: n.features, frozenset(), Reads.FEATURES, id="features"),
        pytest.param(lambda n: n.usage.cpu, 0.5, Reads.DATA, id="usage"),
        pytest.param(lambda n: n.usage["cpu"], 0.5, Reads.DATA, id="usage by name"),
    ],
)
def test_what_is_read_is_noted(read: Callable[[NodeInfo], Any], value: Any, noted: Reads) -> None:
    node = a_node()
    assert node.reads is Reads.NOTHING
    assert read(node) == value
    assert node.reads == noted
    assert noted & EVERYTHING == noted, "a change of it makes the plugin be asked again"


def test_amounts_are_a_mapping_that_leaves_out_what_the_node_has_not() -> None:
    amounts = a_node().allocatable
    assert dict(amounts) == {"cpu": 4000, "memory": 32 << 30, "nvidia.com/gpu": 2}
    assert len(amounts) == 3
    assert ("nvidia.com/gpu" in amounts, "amd.com/gpu" in amounts) == (True, False)
    assert (amounts["amd.com/gpu"], amounts.get("amd.com/gpu"), amounts.get("x", 7)) == (0, 0, 7)


def test_what_nobody_has_measured_is_told() -> None:
    node = a_node()
    with pytest.raises(DataMissing, match="node a: no data for 'temperature'"):
        _ = node.usage.temperature
    assert node.reads == Reads.DATA, "it is asked again once somebody has measured"
