"""Requests as they are built: paths, bodies, and names that nothing can be smuggled into."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bayplan.client.request import MERGE_PATCH, STRATEGIC_MERGE_PATCH, Request
from bayplan.client.resources import (
    COSCHEDULING_POD_GROUPS,
    NODES,
    PODS,
    STORAGE_CLASSES,
    ConditionChange,
    EventNote,
    ObjectRef,
    Resource,
    bind,
    delete_pod,
    event,
    event_name,
    event_series,
    patch_claim,
    patch_status,
    patch_volume,
)

NOW = 1_767_225_600.25


def body(request: Request) -> Any:
    return json.loads(request.body)


@pytest.mark.parametrize(
    ("resource", "name", "path"),
    [
        pytest.param(PODS, "pods", "/api/v1/namespaces/ns/pods/x", id="core"),
        pytest.param(NODES, "nodes", "/api/v1/nodes/x", id="not namespaced"),
        pytest.param(
            STORAGE_CLASSES,
            "storageclasses.storage.k8s.io",
            "/apis/storage.k8s.io/v1/storageclasses/x",
            id="in a group",
        ),
        pytest.param(
            COSCHEDULING_POD_GROUPS,
            "podgroups.scheduling.x-k8s.io",
            "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/ns/podgroups/x",
            id="a custom resource",
        ),
    ],
)
def test_paths(resource: Resource[Any], name: str, path: str) -> None:
    assert resource.name == name
    assert resource.path("x", "ns") == path


def test_a_query_leaves_out_what_is_empty_and_quotes_the_rest() -> None:
    assert PODS.collection(limit="5", fieldSelector="") == "/api/v1/pods?limit=5"
    assert (
        PODS.collection(fieldSelector="a!=b,c=d") == "/api/v1/pods?fieldSelector=a%21%3Db%2Cc%3Dd"
    )
    assert PODS.collection() == "/api/v1/pods"


@pytest.mark.parametrize("name", ["../nodes/x", "a/b", "a?b=c", "a#b", "a b", "..", ".", "ä"])
def test_no_name_leads_to_another_object(name: str) -> None:
    path = PODS.path(name, "ns")
    assert path.startswith("/api/v1/namespaces/ns/pods/")
    last = path.removeprefix("/api/v1/namespaces/ns/pods/")
    assert not set(last) & set("/?# ")
    assert last not in (".", "..")


def test_a_binding() -> None:
    request = bind("ns", "web", "u1", "n1", {"bayplan.io/schedulerLatency": "3ms"})
    assert str(request) == "POST /api/v1/namespaces/ns/pods/web/binding"
    assert request.repeatable
    assert body(request) == {
        "kind": "Binding",
        "apiVersion": "v1",
        "metadata": {
            "name": "web",
            "namespace": "ns",
            "uid": "u1",
            "annotations": {"bayplan.io/schedulerLatency": "3ms"},
        },
        "target": {"kind": "Node", "name": "n1"},
    }


def test_a_status_of_this_pod_and_no_other_of_its_name() -> None:
    change = ConditionChange("PodScheduled", "False", "Unschedulable", "0/1", NOW, 3)
    request = patch_status("ns", "web", "u1", conditions=(change,), nominated_node_name="n1")
    assert str(request) == "PATCH /api/v1/namespaces/ns/pods/web/status"
    assert request.content_type == STRATEGIC_MERGE_PATCH
    assert body(request) == {
        "metadata": {"uid": "u1"},
        "status": {
            "$setElementOrder/conditions": [{"type": "PodScheduled"}],
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": "0/1",
                    "lastProbeTime": None,
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                    "observedGeneration": 3,
                }
            ],
            "nominatedNodeName": "n1",
        },
    }


def test_a_nomination_is_left_or_cleared() -> None:
    assert body(patch_status("ns", "web", ""))["status"] == {}
    assert body(patch_status("ns", "web", "", nominated_node_name=""))["status"] == {
        "nominatedNodeName": None
    }


def test_a_pod_is_deleted_only_if_it_is_this_one() -> None:
    request = delete_pod("ns", "web", "u1", grace_period_seconds=0)
    assert str(request) == "DELETE /api/v1/namespaces/ns/pods/web"
    assert body(request) == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "preconditions": {"uid": "u1"},
        "gracePeriodSeconds": 0,
    }
    assert "gracePeriodSeconds" not in body(delete_pod("ns", "web", "u1"))


def test_volumes_and_claims() -> None:
    volume = patch_volume("pv", {"spec": {}})
    claim = patch_claim("ns", "data", {"spec": {}})
    assert (str(volume), volume.content_type) == ("PATCH /api/v1/persistentvolumes/pv", MERGE_PATCH)
    assert str(claim) == "PATCH /api/v1/namespaces/ns/persistentvolumeclaims/data"


def test_an_event_and_its_series() -> None:
    about = ObjectRef("Pod", "ns", "web", "u1")
    note = EventNote(about, "Scheduled", "Binding", "Successfully assigned", related=about)
    request = event(note, now=NOW, controller="default-scheduler", instance="me", serial=7)
    assert str(request) == "POST /apis/events.k8s.io/v1/namespaces/ns/events"
    made = body(request)
    name = made["metadata"]["name"]
    assert name == event_name("web", NOW, 7)
    assert made["eventTime"] == "2026-01-01T00:00:00.250000Z"
    assert (
        made["regarding"]
        == made["related"]
        == {
            "kind": "Pod",
            "namespace": "ns",
            "name": "web",
            "uid": "u1",
            "apiVersion": "v1",
        }
    )
    again = event_series("ns", name, count=3, now=NOW)
    assert str(again) == f"PATCH /apis/events.k8s.io/v1/namespaces/ns/events/{name}"
    assert body(again)["series"]["count"] == 3


def test_names_of_events_differ_and_are_never_too_long() -> None:
    names = {event_name("x" * 300, NOW, serial) for serial in range(1000)}
    assert len(names) == 1000
    assert max(len(name) for name in names) <= 253
