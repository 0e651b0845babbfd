"""Pod groups: three APIs, two classes, and how pods name their group."""

from __future__ import annotations

import pytest

from bayplan.model.decode import decode
from bayplan.model.groups import (
    CoschedulingPodGroup,
    PodGroup,
    coscheduling_group_name,
    group_name,
)
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod, PodSchedulingGroup, PodSpec


@pytest.mark.parametrize(
    "version",
    [
        "scheduling.x-k8s.io/v1alpha1",
        "scheduling.k8s.io/v1alpha1",
        "scheduling.sigs.k8s.io/v1alpha1",
    ],
)
def test_groups_of_the_plugin(version: str) -> None:
    spec = {"minMember": 3, "scheduleTimeoutSeconds": 600, "minResources": {"cpu": 3}}
    group = decode({"apiVersion": version, "kind": "PodGroup", "spec": spec})
    assert isinstance(group, CoschedulingPodGroup)
    assert (group.min_count, group.spec.schedule_timeout_seconds) == (3, 600)


def test_native_groups() -> None:
    document = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup"}
    gang = decode({**document, "spec": {"schedulingPolicy": {"gang": {"minCount": 4}}}})
    assert isinstance(gang, PodGroup)
    assert gang.min_count == 4
    basic = decode({**document, "spec": {"schedulingPolicy": {"basic": {}}}})
    assert isinstance(basic, PodGroup)
    assert basic.min_count == 1
    assert basic.spec.scheduling_policy.basic is not None


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(PodSpec(), "", id="none"),
        pytest.param(PodSpec(scheduling_group=PodSchedulingGroup()), "", id="unnamed"),
        pytest.param(PodSpec(scheduling_group=PodSchedulingGroup("g")), "g", id="named"),
    ],
)
def test_group_in_the_spec(spec: PodSpec, expected: str) -> None:
    assert group_name(Pod(spec=spec)) == expected


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param({}, "", id="none"),
        pytest.param({"scheduling.x-k8s.io/pod-group": "g"}, "g", id="today's label"),
        pytest.param({"pod-group.scheduling.sigs.k8s.io": "g"}, "g", id="a former label"),
        pytest.param({"pod-group.scheduling.sigs.k8s.io/name": "g"}, "g", id="the first label"),
        pytest.param(
            {"pod-group.scheduling.sigs.k8s.io": "old", "scheduling.x-k8s.io/pod-group": "new"},
            "new",
            id="both",
        ),
    ],
)
def test_group_in_the_labels(labels: dict[str, str], expected: str) -> None:
    assert coscheduling_group_name(Pod(metadata=ObjectMeta(labels=labels))) == expected
