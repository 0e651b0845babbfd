"""Pods that are supposed to be gone come back exactly as they were."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.cluster.absence import Absence
from bayplan.cluster.audit import check
from bayplan.cluster.cluster import Cluster
from bayplan.model.pod_group import Group, GroupApi, GroupKey
from bayplan.testing import make_node, make_pod
from bayplan.testing.scheduler import make_cluster

LABEL = "scheduling.x-k8s.io/pod-group"


def picture(cluster: Cluster) -> Any:
    """All there is to see, without row numbers of pods."""
    pods, nodes = cluster.pods, cluster.nodes
    return (
        {name: [pods.key(row) for row in pods.on_node(r)] for name, r in nodes.row_of.items()},
        [column.data.tolist() for column in nodes.requested],
        [column.data.tolist() for column in nodes.devices.taken],
        dict(nodes.devices.held),
        {key: pods.is_assumed(row) for key, row in pods.row_of.items()},
        {
            str(key): (sorted(s.placed), sorted(s.bound), s.complete)
            for key, s in ((key, cluster.gangs.standing(key)) for key in cluster.gangs)
        },
    )


def a_cluster() -> Cluster:
    cluster = make_cluster(
        make_node("a").capacity(
            {"cpu": "9", "pods": "20", "nvidia.com/gpu": "4", "alibabacloud.com/gpu-count": "4"}
        ),
        make_node("b").capacity(cpu="9", pods="20"),
    )
    cluster.gangs.put(Group(GroupKey("default", "g"), GroupApi.COSCHEDULING, 2))
    for n in range(8):
        pod = make_pod(f"p-{n}").uid(f"u{n}").requests(cpu="1")
        if n % 3 == 0:
            pod.annotation("alibabacloud.com/gpu-milli", "300")
        if n > 5:
            pod.label(LABEL, "g")
        info = cluster.info(pod.build())
        if n == 5:
            cluster.assume(info, "b")
        else:
            cluster.put(pod.on("a" if n % 2 else "b").build())
    return cluster


@settings(max_examples=60)
@given(st.lists(st.integers(0, 7), unique=True), st.data())
def test_everything_is_as_it_was_found(gone: list[int], data: st.DataObject) -> None:
    cluster = a_cluster()
    before = picture(cluster)
    absence = Absence(cluster)
    keys = [f"default/p-{n}" for n in gone]
    absence.leave(keys)
    check(cluster)
    assert not set(keys) & set(cluster.pods.row_of)
    early = data.draw(st.lists(st.sampled_from(keys), unique=True)) if keys else []
    absence.come_back(early)
    check(cluster)
    newcomer = cluster.info(make_pod("new").uid("new").requests(cpu="1").build())
    cluster.assume(newcomer, "a")
    cluster.forget(newcomer)
    absence.end()
    check(cluster)
    assert picture(cluster) == before
