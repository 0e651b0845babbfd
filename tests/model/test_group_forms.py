"""Three ways to write a group, and what each becomes."""

from typing import Any

import pytest

from bayplan.model import CoschedulingPodGroup, PodGroup, decode
from bayplan.model.group_forms import group_from, topology_of
from bayplan.model.pod_group import Group, GroupApi, GroupKey, GroupTopology

ZONE = "topology.kubernetes.io/zone"
META = {
    "name": "train",
    "namespace": "ml",
    "uid": "u-1",
    "resourceVersion": "7",
    "creationTimestamp": "2026-01-01T00:00:00Z",
}


def read(api: str, spec: dict[str, Any], status: Any = None, **meta: Any) -> Group:
    document = {"apiVersion": api, "kind": "PodGroup", "metadata": META | meta, "spec": spec}
    written = decode(document | ({"status": status} if status else {}))
    assert isinstance(written, (PodGroup, CoschedulingPodGroup))
    form = GroupApi(api)
    return group_from(written, form)


def test_the_native_form() -> None:
    group = read(
        "scheduling.k8s.io/v1alpha2",
        {
            "schedulingPolicy": {"gang": {"minCount": 4}},
            "schedulingConstraints": {"topology": [{"key": ZONE}]},
            "disruptionMode": "PodGroup",
            "priorityClassName": "high",
            "priority": 100,
        },
        {"conditions": [{"type": "PodGroupScheduled", "status": "True", "reason": "Scheduled"}]},
    )
    assert group.key == GroupKey("ml", "train", native=True)
    assert (group.api, group.min_member, group.is_gang) == (GroupApi.NATIVE, 4, True)
    assert group.topology == GroupTopology(ZONE)
    assert (group.priority, group.priority_class, group.disrupted_whole) == (100, "high", True)
    assert (group.uid, group.resource_version, group.created) == ("u-1", "7", 1767225600.0)
    assert [one.type for one in group.status.conditions] == ["PodGroupScheduled"]


def test_a_native_group_that_is_no_gang() -> None:
    group = read("scheduling.k8s.io/v1alpha2", {"schedulingPolicy": {"basic": {}}})
    assert (group.min_member, group.is_gang, group.disrupted_whole) == (1, False, False)
    assert group.timeout_s is None


@pytest.mark.parametrize("api", [GroupApi.COSCHEDULING, GroupApi.FORMER])
def test_the_form_of_the_coscheduling_plugin(api: GroupApi) -> None:
    group = read(
        api.value,
        {"minMember": 3, "minResources": {"cpu": "6", "memory": 4}, "scheduleTimeoutSeconds": 600},
        {
            "phase": "Running",
            "running": 3,
            "succeeded": 1,
            "failed": 2,
            "scheduleStartTime": "2026-01-01T00:01:00Z",
        },
        deletionTimestamp="2026-01-01T00:02:00Z",
    )
    assert group.key == GroupKey("ml", "train")
    assert (group.api, group.min_member, group.timeout_s) == (api, 3, 600.0)
    assert group.min_resources == {"cpu": "6", "memory": 4}
    assert group.terminating
    status = group.status
    assert (status.phase, status.running, status.succeeded, status.failed) == ("Running", 3, 1, 2)
    assert status.schedule_start_time == 1767225660.0


@pytest.mark.parametrize("given", [None, 0, -5])
def test_a_timeout_that_is_none(given: int | None) -> None:
    spec = {"minMember": 2, "scheduleTimeoutSeconds": given}
    assert read("scheduling.x-k8s.io/v1alpha1", spec).timeout_s is None


@pytest.mark.parametrize(
    ("annotations", "wanted"),
    [
        pytest.param({}, None, id="nothing said"),
        pytest.param({"bayplan.io/gang-topology": ""}, None, id="an empty key"),
        pytest.param(
            {"bayplan.io/gang-topology": "rack"}, GroupTopology("rack"), id="no mode is required"
        ),
        pytest.param(
            {"bayplan.io/gang-topology": "rack", "bayplan.io/gang-topology-mode": "Preferred"},
            GroupTopology("rack", required=False),
            id="preferred",
        ),
        pytest.param(
            {"bayplan.io/gang-topology": "rack", "bayplan.io/gang-topology-mode": "soft"},
            GroupTopology("rack", required=False),
            id="as Volcano says it",
        ),
        pytest.param(
            {"bayplan.io/gang-topology": "rack", "bayplan.io/gang-topology-mode": "perhaps"},
            GroupTopology("rack"),
            id="a mode that nobody knows",
        ),
        pytest.param(
            {"kueue.x-k8s.io/podset-required-topology": "rack"},
            GroupTopology("rack"),
            id="required, as Kueue says it",
        ),
        pytest.param(
            {"kueue.x-k8s.io/podset-preferred-topology": "rack"},
            GroupTopology("rack", required=False),
            id="preferred, as Kueue says it",
        ),
        pytest.param(
            {
                "bayplan.io/gang-topology": "zone",
                "kueue.x-k8s.io/podset-preferred-topology": "rack",
            },
            GroupTopology("zone"),
            id="ours goes first",
        ),
    ],
)
def test_topology_by_annotation(annotations: dict[str, str], wanted: GroupTopology | None) -> None:
    assert topology_of(annotations) == wanted
    spec = {"minMember": 2}
    group = read("scheduling.x-k8s.io/v1alpha1", spec, annotations=annotations)
    assert group.topology == wanted


def test_the_field_of_the_native_form_goes_before_the_annotation() -> None:
    spec = {
        "schedulingPolicy": {"gang": {"minCount": 2}},
        "schedulingConstraints": {"topology": [{"key": ZONE}]},
    }
    annotations = {"bayplan.io/gang-topology": "rack"}
    group = read("scheduling.k8s.io/v1alpha2", spec, annotations=annotations)
    assert group.topology == GroupTopology(ZONE)
