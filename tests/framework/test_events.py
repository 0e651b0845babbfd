"""Events: their names in metrics, and which declarations cover them."""

from __future__ import annotations

import pytest

from bayplan import Action, Resource, WakeOn
from bayplan.framework.events import ClusterEvent


@pytest.mark.parametrize(
    ("resource", "action", "label"),
    [
        (Resource.ASSIGNED_POD, Action.ADD, "AssignedPodAdd"),
        (Resource.ASSIGNED_POD, Action.UPDATE_POD_SCALE_DOWN, "AssignedPodUpdatePodScaleDown"),
        (Resource.UNSCHEDULED_POD, Action.UPDATE, "UnschedulablePodUpdate"),
        (Resource.NODE, Action.UPDATE_NODE_ALLOCATABLE, "NodeUpdateNodeAllocatable"),
        (Resource.PERSISTENT_VOLUME_CLAIM, Action.DELETE, "PersistentVolumeClaimDelete"),
        (Resource.CSI_NODE, Action.ADD, "storage.k8s.io/CSINodeAdd"),
    ],
)
def test_events_are_called_as_kubernetes_calls_them(
    resource: Resource, action: Action, label: str
) -> None:
    assert ClusterEvent.of(resource, action, None, None).label == label


def test_special_events_have_names_of_their_own() -> None:
    assert ClusterEvent.force_activate("pod").label == "ForceActivate"
    assert ClusterEvent.unschedulable_timeout().label == "UnschedulableTimeout"
    assert ClusterEvent.unschedulable_timeout().is_wildcard


@pytest.mark.parametrize(
    ("declared", "happened", "covered"),
    [
        pytest.param((Resource.NODE, Action.ADD), (Resource.NODE, Action.ADD), True, id="the same"),
        pytest.param(
            (Resource.NODE, Action.ADD), (Resource.NODE, Action.DELETE), False, id="another action"
        ),
        pytest.param(
            (Resource.NODE, Action.ADD), (Resource.SERVICE, Action.ADD), False, id="another kind"
        ),
        pytest.param(
            (Resource.NODE, Action.UPDATE),
            (Resource.NODE, Action.UPDATE_NODE_LABEL),
            True,
            id="a case of it",
        ),
        pytest.param(
            (Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
            (Resource.NODE, Action.UPDATE),
            False,
            id="vaguer than declared",
        ),
        pytest.param(
            (Resource.POD, Action.DELETE),
            (Resource.ASSIGNED_POD, Action.DELETE),
            True,
            id="any pod",
        ),
        pytest.param(
            (Resource.ASSIGNED_POD, Action.DELETE),
            (Resource.UNSCHEDULED_POD, Action.DELETE),
            False,
            id="another sort of pod",
        ),
        pytest.param(
            (Resource.ANY, Action.ADD), (Resource.SERVICE, Action.ADD), True, id="any kind"
        ),
        pytest.param(
            (Resource.ANY, Action.ALL), (Resource.DATA, Action.UPDATE), True, id="everything"
        ),
    ],
)
def test_what_a_declaration_covers(
    declared: tuple[Resource, Action], happened: tuple[Resource, Action], *, covered: bool
) -> None:
    assert WakeOn(*declared).covers(*happened) is covered
