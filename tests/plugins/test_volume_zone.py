"""VolumeZone against upstream's rules, node by node."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.storage_objects import make_claim, make_class, make_volume, pod_with

from bayplan.cluster.cluster import Cluster
from bayplan.framework.events import Hint
from bayplan.framework.state import CycleState
from bayplan.framework.status import SKIP, unresolvable
from bayplan.plugins.volume_zone import VolumeZone
from bayplan.testing.builders import make_node

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"


@pytest.mark.parametrize(
    ("volume", "node", "fits"),
    [
        pytest.param({ZONE: "a"}, {ZONE: "a"}, True, id="the same zone"),
        pytest.param({ZONE: "a"}, {ZONE: "b"}, False, id="another zone"),
        pytest.param({ZONE: "a__b"}, {ZONE: "b"}, True, id="one of several zones"),
        pytest.param({ZONE: "a__"}, {ZONE: "b"}, True, id="a list with a gap counts for nothing"),
        pytest.param({ZONE: " a "}, {ZONE: "a"}, True, id="spaces around a zone"),
        pytest.param({ZONE: "a"}, {}, True, id="a node that tells nothing"),
        pytest.param({ZONE: "a"}, {REGION: "r"}, False, id="a node that tells only its region"),
        pytest.param({REGION: "r"}, {ZONE: "a"}, False, id="a volume that tells only its region"),
        pytest.param({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "s"}, False, id="both count"),
        pytest.param({BETA_ZONE: "a"}, {ZONE: "a"}, True, id="old label, new node"),
        pytest.param({BETA_ZONE: "a"}, {ZONE: "b"}, False, id="old label, new node elsewhere"),
        pytest.param({ZONE: "a"}, {BETA_ZONE: "a"}, False, id="new label, old node"),
        pytest.param(
            {BETA_ZONE: "a"}, {BETA_ZONE: "b", ZONE: "a"}, False, id="the old label goes first"
        ),
        pytest.param({BETA_REGION: "r"}, {REGION: "r"}, True, id="old region, new node"),
        pytest.param({"tier": "gold"}, {ZONE: "a"}, True, id="a volume that tells nothing"),
    ],
)
def test_labels(volume: dict[str, str], node: dict[str, str], fits: bool) -> None:
    cluster, state = Cluster(), CycleState()
    cluster.put(make_node("n").labels(node).build())
    cluster.put(make_claim("c", volume="v"))
    cluster.put(make_volume("v", claim="c", labels=volume))
    pod = cluster.info(pod_with("web", "c"))
    answer = VolumeZone().prefilter(pod, cluster.view, state)
    if answer is SKIP:
        assert fits
    else:
        assert answer is None
        assert VolumeZone().filter(pod, cluster.view.nodes, state).tolist() == [fits]


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        pytest.param(None, 'persistentvolumeclaim "c" not found', id="no claim"),
        pytest.param(make_claim("c", volume="v"), 'persistentvolume "v" not found', id="no volume"),
        pytest.param(
            make_claim("c", None),
            "PersistentVolumeClaim had no pv name and storageClass name",
            id="neither volume nor class",
        ),
        pytest.param(
            make_claim("c", "gone"),
            'storageclass.storage.k8s.io "gone" not found',
            id="no such class",
        ),
        pytest.param(make_claim("c", "now"), "PersistentVolume had no name", id="at once"),
        pytest.param(
            make_claim("c", "unclear"),
            'VolumeBindingMode not set for StorageClass "unclear"',
            id="a class without mode",
        ),
        pytest.param(make_claim("c", "wait"), "", id="it waits for the pod"),
        pytest.param(
            make_claim("c", "wait", annotations={"volume.beta.kubernetes.io/storage-class": "now"}),
            "PersistentVolume had no name",
            id="the old annotation overrides the class",
        ),
    ],
)
def test_prefilter(claim: Any, reason: str) -> None:
    cluster = Cluster()
    for storage_class in (
        make_class("wait"),
        make_class("now", mode="Immediate"),
        make_class("unclear", mode=None),
    ):
        cluster.put(storage_class)
    if claim is not None:
        cluster.put(claim)
    pod = cluster.info(pod_with("web", "c", "ephemeral:data"))
    answer = VolumeZone().prefilter(pod, cluster.view, CycleState())
    assert answer == (unresolvable(reason) if reason else SKIP)


def test_a_claim_needs_a_name() -> None:
    cluster = Cluster()
    answer = VolumeZone().prefilter(cluster.info(pod_with("web", "")), cluster.view, CycleState())
    assert answer == unresolvable("PersistentVolumeClaim had no name")


def test_the_stamp_changes_with_the_volumes_labels_and_with_nothing_else() -> None:
    cluster, plugin = Cluster(), VolumeZone()
    cluster.put(make_claim("c", volume="v"))
    cluster.put(make_volume("v", claim="c", labels={ZONE: "a"}))
    pod = cluster.info(pod_with("web", "c"))
    before = plugin.stamp(pod, cluster.view, CycleState())
    cluster.put(make_volume("other", labels={ZONE: "b"}))
    cluster.put(make_volume("v", claim="c", size="9Gi", labels={ZONE: "a"}))
    assert plugin.stamp(pod, cluster.view, CycleState()) == before
    cluster.put(make_volume("v", claim="c", labels={ZONE: "b"}))
    assert plugin.stamp(pod, cluster.view, CycleState()) != before


LABELS = st.dictionaries(
    st.sampled_from((ZONE, REGION, BETA_ZONE, BETA_REGION)), st.sampled_from(("a", "b"))
)
VOLUME_LABELS = st.dictionaries(
    st.sampled_from((ZONE, REGION, BETA_ZONE, BETA_REGION, "tier")),
    st.sampled_from(("a", "b", "a__b", "c", "a__")),
)


def fits(node: dict[str, str], volume: dict[str, str]) -> bool:
    known = (BETA_ZONE, BETA_REGION, ZONE, REGION)
    if not any(label in node for label in known):
        return True
    for label in known:
        zones = volume.get(label, "__").split("__")
        if "" in zones:
            continue
        newer = {BETA_ZONE: ZONE, BETA_REGION: REGION}.get(label, label)
        if node.get(label, node.get(newer)) not in zones:
            return False
    return True


@given(st.lists(LABELS, min_size=1, max_size=6), st.lists(VOLUME_LABELS, min_size=1, max_size=3))
def test_like_a_node_at_a_time(nodes: list[dict[str, str]], volumes: list[dict[str, str]]) -> None:
    cluster, state, plugin = Cluster(), CycleState(), VolumeZone()
    for number, labels in enumerate(nodes):
        cluster.put(make_node(f"n{number}").labels(labels).build())
    for number, labels in enumerate(volumes):
        cluster.put(make_claim(f"c{number}", volume=f"v{number}"))
        cluster.put(make_volume(f"v{number}", claim=f"c{number}", labels=labels))
    pod = cluster.info(pod_with("web", *(f"c{number}" for number in range(len(volumes)))))
    expected = [all(fits(node, volume) for volume in volumes) for node in nodes]
    if plugin.prefilter(pod, cluster.view, state) is SKIP:
        assert all(expected)
        return
    some = np.arange(len(nodes))[::-2]
    for view in (cluster.view.nodes, cluster.view.rows(some), cluster.view.trial(some)):
        got = plugin.filter(pod, view, state).tolist()
        assert got == [expected[row] for row in view.rows]


def hint(number: int, *args: Any) -> Hint:
    found = VolumeZone().wakes_on()[number].hint
    assert found is not None
    return found(Cluster().info(pod_with("web", "c")), *args)


def test_hints() -> None:
    assert hint(0, None, make_class("x")) is Hint.QUEUE
    assert hint(0, None, make_class("x", mode="Immediate")) is Hint.SKIP
    assert hint(0, None, make_class("x", mode=None)) is Hint.SKIP
    assert hint(2, None, make_claim("c")) is Hint.QUEUE
    assert hint(2, make_claim("d"), make_claim("d")) is Hint.SKIP
    assert hint(2, None, make_claim("c", namespace="elsewhere")) is Hint.SKIP
    here, there = make_volume("v", labels={ZONE: "a"}), make_volume("v", labels={ZONE: "b"})
    assert hint(3, None, here) is Hint.QUEUE
    assert hint(3, here, there) is Hint.QUEUE
    assert hint(3, here, here) is Hint.SKIP
