"""Which group a pod is in."""

import pytest

from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod, PodSchedulingGroup, PodSpec
from bayplan.model.pod_group import Group, GroupApi, GroupKey, group_of

NEW = "scheduling.x-k8s.io/pod-group"
OLD = "pod-group.scheduling.sigs.k8s.io"
OLDEST = "pod-group.scheduling.sigs.k8s.io/name"


@pytest.mark.parametrize(
    ("labels", "in_spec", "wanted"),
    [
        pytest.param({}, None, None, id="no group"),
        pytest.param({NEW: "a"}, None, GroupKey("ml", "a"), id="the label"),
        pytest.param({OLD: "a"}, None, GroupKey("ml", "a"), id="the former label"),
        pytest.param({OLDEST: "a"}, None, GroupKey("ml", "a"), id="the label before that"),
        pytest.param({OLD: "a", NEW: "b"}, None, GroupKey("ml", "b"), id="both labels"),
        pytest.param({NEW: ""}, None, None, id="an empty label"),
        pytest.param({}, "a", GroupKey("ml", "a", native=True), id="in the spec"),
        pytest.param({NEW: "b"}, "a", GroupKey("ml", "a", native=True), id="spec before label"),
        pytest.param({NEW: "b"}, "", GroupKey("ml", "b"), id="an empty name in the spec"),
    ],
)
def test_membership(labels: dict[str, str], in_spec: str | None, wanted: GroupKey | None) -> None:
    group = None if in_spec is None else PodSchedulingGroup(in_spec)
    pod = Pod(
        metadata=ObjectMeta(name="w-0", namespace="ml", labels=labels),
        spec=PodSpec(scheduling_group=group),
    )
    assert group_of(pod) == wanted


def test_native_groups_are_a_world_of_their_own() -> None:
    assert GroupKey("ml", "a") != GroupKey("ml", "a", native=True)


@pytest.mark.parametrize(("min_member", "gang"), [(0, False), (1, False), (2, True), (2**31, True)])
def test_a_gang_is_more_than_one(min_member: int, gang: bool) -> None:
    assert Group(GroupKey("ml", "a"), GroupApi.NATIVE, min_member).is_gang is gang
