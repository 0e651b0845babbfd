"""Preemption by gangs on random clusters: who goes is enough, none goes in vain, and no other gang is left in part."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.cluster.audit import check
from bayplan.cluster.cluster import Cluster
from bayplan.cluster.podinfo import PodInfo
from bayplan.cycle.desk import Desk
from bayplan.cycle.gang import GangOutcome, GangPlaced, GangUnplaced, attempt_gang
from bayplan.cycle.gang_trial import Member
from bayplan.cycle.reserve import unreserve
from bayplan.model.pod_group import Group, GroupApi, GroupKey
from bayplan.testing import make_node, make_pod
from bayplan.testing.scheduler import make_cluster, make_desk

LABEL = "scheduling.x-k8s.io/pod-group"
#: Node, cpu, priority, gang (empty: none).
PODS = st.tuples(
    st.integers(0, 3), st.integers(1, 3), st.integers(0, 3), st.sampled_from(["", "red", "blue"])
)


def a_cluster(sizes: list[int], placed: list[tuple[int, int, int, str]], least: int) -> Cluster:
    nodes = [make_node(f"n{i}").capacity(cpu=str(size), pods="99") for i, size in enumerate(sizes)]
    cluster = make_cluster(*nodes)
    for name in ("red", "blue"):
        cluster.gangs.put(Group(GroupKey("default", name), GroupApi.COSCHEDULING, least))
    room = list(sizes)
    for number, (where, cpu, priority, gang) in enumerate(placed):
        node = where % len(sizes)
        if room[node] < cpu:
            continue
        room[node] -= cpu
        pod = make_pod(f"p{number}").uid(f"p{number}").requests(cpu=str(cpu)).priority(priority)
        if gang:
            pod.label(LABEL, gang)
        cluster.put(pod.on(f"n{node}").build())
    return cluster


def attempt(cluster: Cluster, desk: Desk, members: list[PodInfo]) -> GangOutcome:
    group = cluster.gangs.group(GroupKey("default", "train"))
    assert group is not None
    outcome = attempt_gang(group, [Member(pod, desk) for pod in members], cluster)
    check(cluster)
    if isinstance(outcome, GangPlaced):
        for held in reversed(outcome.held):
            assert list(unreserve(held.placement)) == []
            cluster.forget(held.member.pod)
    return outcome


@settings(max_examples=150, deadline=None)
@given(
    sizes=st.lists(st.integers(2, 6), min_size=1, max_size=4),
    placed=st.lists(PODS, max_size=14),
    least=st.integers(1, 4),
    cpus=st.lists(st.integers(1, 4), min_size=1, max_size=4),
)
def test_who_goes_is_enough_and_nobody_else(
    sizes: list[int], placed: list[tuple[int, int, int, str]], least: int, cpus: list[int]
) -> None:
    cluster = a_cluster(sizes, placed, least)
    cluster.gangs.put(Group(GroupKey("default", "train"), GroupApi.COSCHEDULING, len(cpus)))
    desk = make_desk(cluster)
    members = [
        cluster.info(
            make_pod(f"w{n}")
            .uid(f"w{n}")
            .label(LABEL, "train")
            .requests(cpu=str(cpu))
            .priority(2)
            .build()
        )
        for n, cpu in enumerate(cpus)
    ]
    for pod in members:
        cluster.put_pod(pod)
    before = set(cluster.pods.row_of)
    outcome = attempt(cluster, desk, members)
    assert set(cluster.pods.row_of) == before
    if not isinstance(outcome, GangUnplaced) or not outcome.nominated:
        return
    victims = [pod for found in outcome.nominated.values() for pod in found.victims]
    assert victims
    assert all(pod.priority < 2 for pod in victims)
    lost = Counter(pod.group for pod in victims if pod.group is not None)
    for key, count in lost.items():
        standing = cluster.gangs.standing(key)
        left = len(standing.placed) - count
        assert left == 0 or left >= least
    for pod in victims:
        cluster.remove_pod(pod.namespace, pod.name, pod.uid)
    for pod in members:
        cluster.nominations.put(pod, outcome.nominated[pod.key].node)
    assert isinstance(attempt(cluster, desk, members), GangPlaced)
