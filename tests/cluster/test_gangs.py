"""Where the members of a group stand, through all that may happen to pods."""

from __future__ import annotations

import pytest

from bayplan.cluster.audit import check
from bayplan.cluster.cluster import Cluster
from bayplan.cluster.gangs import Standing
from bayplan.model.meta import Condition
from bayplan.model.pod import Pod
from bayplan.model.pod_group import Group, GroupApi, GroupKey, GroupStatus
from bayplan.testing import PodBuilder, make_node, make_pod
from bayplan.testing.scheduler import make_cluster

LABEL = "scheduling.x-k8s.io/pod-group"
KEY = GroupKey("default", "train")


def worker(number: int = 0, version: str = "1") -> PodBuilder:
    return make_pod(f"w-{number}").uid(f"u{number}").label(LABEL, "train").version(version)


def with_group(min_member: int = 2, status: GroupStatus | None = None) -> Cluster:
    cluster = make_cluster(make_node("a").capacity(cpu="9", pods="9"))
    cluster.gangs.put(Group(KEY, GroupApi.COSCHEDULING, min_member, status=status or GroupStatus()))
    return cluster


def standing(cluster: Cluster) -> Standing:
    check(cluster)
    return cluster.gangs.standing(KEY)


def gated(pod: PodBuilder) -> Pod:
    pod.manifest["spec"]["schedulingGates"] = [{"name": "hold"}]
    return pod.build()


def test_from_waiting_to_bound_and_gone() -> None:
    cluster = with_group()
    cluster.put(worker().build())
    assert standing(cluster).ready == {"default/w-0"}
    cluster.assume(cluster.info(worker().build()), "a")
    found = standing(cluster)
    assert (found.ready, found.placed, found.bound) == (set(), {"default/w-0"}, set())
    cluster.put(worker(version="2").on("a").build())
    assert standing(cluster).bound == {"default/w-0"}
    cluster.remove(worker().build())
    assert standing(cluster).is_empty


def test_a_binding_that_fails() -> None:
    cluster = with_group()
    info = cluster.info(worker().build())
    cluster.put_pod(info)
    cluster.assume(info, "a")
    assert cluster.gangs.is_broken(KEY)
    cluster.forget(info)
    assert standing(cluster).ready == {"default/w-0"}
    assert not cluster.gangs.is_broken(KEY)


def test_gates_and_ends_do_not_count() -> None:
    cluster = with_group(1)
    cluster.put(gated(worker()))
    assert not cluster.gangs.is_ready(KEY)
    cluster.put(worker(version="2").build())
    assert cluster.gangs.is_ready(KEY)
    cluster.put(worker(version="3").terminating().build())
    assert not cluster.gangs.is_ready(KEY)
    assert standing(cluster).is_empty


def test_a_pod_that_changes_its_group() -> None:
    cluster = with_group()
    cluster.put(worker().build())
    cluster.put(worker(version="2").label(LABEL, "other").build())
    assert standing(cluster).is_empty
    assert cluster.gangs.standing(GroupKey("default", "other")).ready == {"default/w-0"}


def test_once_complete_a_group_is_not_broken_before_all_are_gone() -> None:
    cluster = with_group(2)
    for number in range(2):
        cluster.put(worker(number).on("a").build())
    assert standing(cluster).complete
    cluster.remove(worker(0).build())
    assert cluster.gangs.lacking(KEY) == 1
    assert not cluster.gangs.is_broken(KEY)
    cluster.remove(worker(1).build())
    assert not standing(cluster).complete
    cluster.put(worker(2).on("a").build())
    assert cluster.gangs.is_broken(KEY)


@pytest.mark.parametrize(
    "status",
    [
        pytest.param(GroupStatus(phase="Running"), id="phase"),
        pytest.param(
            GroupStatus(conditions=(Condition("PodGroupScheduled", "True"),)), id="condition"
        ),
    ],
)
def test_that_a_group_was_complete_stands_in_its_status(status: GroupStatus) -> None:
    cluster = with_group(2, status)
    cluster.put(worker().on("a").build())
    assert not cluster.gangs.is_broken(KEY)


def test_members_that_are_done_count() -> None:
    cluster = with_group(3)
    cluster.put(worker(0).on("a").build())
    cluster.gangs.finished(KEY, 1)
    assert cluster.gangs.lacking(KEY) == 1


@pytest.mark.parametrize(
    ("group", "spare"),
    [
        pytest.param(Group(KEY, GroupApi.COSCHEDULING, 2), 1, id="more than are needed"),
        pytest.param(Group(KEY, GroupApi.COSCHEDULING, 3), 0, id="as many as are needed"),
        pytest.param(Group(KEY, GroupApi.COSCHEDULING, 4), 0, id="fewer"),
        pytest.param(Group(KEY, GroupApi.COSCHEDULING, 1), None, id="no gang"),
        pytest.param(Group(KEY, GroupApi.NATIVE, 1, disrupted_whole=True), 0, id="only whole"),
    ],
)
def test_what_a_group_can_spare(group: Group, spare: int | None) -> None:
    cluster = make_cluster(make_node("a").capacity(cpu="9", pods="9"))
    cluster.gangs.put(group)
    for number in range(3):
        cluster.put(worker(number).on("a").build())
    assert cluster.gangs.spare(KEY) == spare


def test_the_plugin_s_api_goes_before_its_former_name() -> None:
    cluster = with_group(5)
    cluster.gangs.put(Group(KEY, GroupApi.FORMER, 7))
    assert cluster.gangs.lacking(KEY) == 5
    cluster.gangs.remove(KEY, GroupApi.COSCHEDULING)
    assert cluster.gangs.lacking(KEY) == 7
    cluster.gangs.remove(KEY, GroupApi.FORMER)
    assert cluster.gangs.group(KEY) is None


def test_the_deletion_of_a_predecessor_is_none() -> None:
    cluster = make_cluster()
    cluster.gangs.put(Group(KEY, GroupApi.COSCHEDULING, 2, uid="new"))
    cluster.gangs.remove(KEY, GroupApi.COSCHEDULING, "old")
    assert cluster.gangs.group(KEY) is not None


def test_pods_are_ordinary_where_groups_are_not_served() -> None:
    cluster = make_cluster(make_node("a"))
    pod = cluster.info(worker().build())
    assert cluster.gangs.of(pod) is None
    cluster.gangs.served.add(GroupApi.NATIVE)
    assert cluster.gangs.of(pod) is None
    cluster.gangs.served.add(GroupApi.FORMER)
    assert cluster.gangs.of(pod) == KEY
