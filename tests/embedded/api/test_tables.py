"""``kubectl get``: what stands in the cells, kind by kind."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.embedded.builtin import builtin_kinds
from bayplan.embedded.entries import Entry
from bayplan.embedded.kinds import Column, Kind, Kinds
from bayplan.embedded.objects import Object, decode
from bayplan.embedded.rendering import to_storage
from bayplan.embedded.tables import TableForm
from bayplan.embedded.tables.cells import human, since
from bayplan.embedded.tables.custom import columns_of, find
from bayplan.testing.virtual_time import VirtualClock

KINDS = Kinds(builtin_kinds())


def cells(resource: str, obj: Object, *, wide: bool = False) -> list[Any]:
    """The row of an object that is five minutes old."""
    clock = VirtualClock()
    kind = KINDS.named(resource)
    assert kind is not None
    obj["metadata"] = {"name": "x", "creationTimestamp": "2025-12-31T23:55:00Z"} | obj.get(
        "metadata", {}
    )
    table = decode(TableForm(kind, clock, "None").one(Entry(kind.shelf, to_storage(kind, obj), 5)))
    row = table["rows"][0]["cells"]
    shown = [one["priority"] == 0 for one in table["columnDefinitions"]]
    return row if wide else [cell for cell, plain in zip(row, shown, strict=True) if plain]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-0.5, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (200, "3m20s"),
        (600, "10m"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 60, "3h1m"),
        (9 * 3600, "9h"),
        (47 * 3600, "47h"),
        (50 * 3600, "2d2h"),
        (8 * 86400, "8d"),
        (700 * 86400, "700d"),
        (731 * 86400, "2y1d"),
        (8 * 365 * 86400, "8y"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert human(seconds) == text


def test_a_moment_that_is_none() -> None:
    assert since(None, 0) == since("nonsense", 0) == "<unknown>"


def container(state: str, ready: bool = False, restarts: int = 0, **facts: Any) -> Object:
    status: Object = {
        "name": "main",
        "ready": ready,
        "restartCount": restarts,
        "state": {state: facts},
    }
    if restarts:
        status["lastState"] = {"terminated": {"finishedAt": "2025-12-31T23:59:00Z"}}
    return status


@pytest.mark.parametrize(
    ("status", "ready", "said", "restarts"),
    [
        pytest.param({"phase": "Pending"}, "0/1", "Pending", "0", id="pending"),
        pytest.param(
            {
                "phase": "Pending",
                "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}],
            },
            "0/1",
            "SchedulingGated",
            "0",
            id="gated",
        ),
        pytest.param(
            {"phase": "Running", "containerStatuses": [container("running", ready=True)]},
            "1/1",
            "Running",
            "0",
            id="running",
        ),
        pytest.param(
            {
                "phase": "Running",
                "containerStatuses": [container("waiting", restarts=3, reason="CrashLoopBackOff")],
            },
            "0/1",
            "CrashLoopBackOff",
            "3 (60s ago)",
            id="crashing",
        ),
        pytest.param(
            {
                "phase": "Succeeded",
                "containerStatuses": [container("terminated", reason="Completed")],
            },
            "0/1",
            "Completed",
            "0",
            id="completed",
        ),
        pytest.param(
            {"phase": "Failed", "containerStatuses": [container("terminated", exitCode=3)]},
            "0/1",
            "ExitCode:3",
            "0",
            id="failed",
        ),
        pytest.param({"phase": "Failed", "reason": "Evicted"}, "0/1", "Evicted", "0", id="evicted"),
        pytest.param(
            {"phase": "Pending", "initContainerStatuses": [container("running")]},
            "0/1",
            "Init:0/1",
            "0",
            id="initializing",
        ),
        pytest.param(
            {"phase": "Pending", "initContainerStatuses": [container("terminated", exitCode=1)]},
            "0/1",
            "Init:ExitCode:1",
            "0",
            id="initialization failed",
        ),
    ],
)
def test_pods(status: Object, ready: str, said: str, restarts: str) -> None:
    spec = {"containers": [{"name": "main"}], "initContainers": [{"name": "first"}]}
    assert cells("pods", {"spec": spec, "status": status}) == ["x", ready, said, restarts, "5m"]


def test_a_pod_that_goes() -> None:
    meta = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert cells("pods", {"metadata": meta, "status": {"phase": "Running"}})[2] == "Terminating"
    lost = {"phase": "Running", "reason": "NodeLost"}
    assert cells("pods", {"metadata": meta, "status": lost})[2] == "Unknown"


@pytest.mark.parametrize(
    ("resource", "obj", "expected"),
    [
        pytest.param(
            "nodes",
            {
                "metadata": {
                    "labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "gpu"}
                },
                "spec": {"unschedulable": True},
                "status": {
                    "conditions": [{"type": "Ready", "status": "False"}],
                    "nodeInfo": {"kubeletVersion": "v1"},
                },
            },
            ["x", "NotReady,SchedulingDisabled", "gpu,worker", "5m", "v1"],
            id="node",
        ),
        pytest.param(
            "nodes", {}, ["x", "Unknown", "<none>", "5m", ""], id="a node that says nothing"
        ),
        pytest.param(
            "events",
            {
                "involvedObject": {"kind": "Pod", "name": "a"},
                "type": "Warning",
                "reason": "FailedScheduling",
                "message": " none fits ",
                "eventTime": "2025-12-31T23:50:00.000000Z",
                "series": {"count": 4, "lastObservedTime": "2025-12-31T23:59:50.000000Z"},
            },
            ["10s", "Warning", "FailedScheduling", "pod/a", "none fits"],
            id="event",
        ),
        pytest.param(
            "deployments.apps",
            {
                "spec": {"replicas": 3},
                "status": {"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1},
            },
            ["x", "2/3", 3, 1, "5m"],
            id="deployment",
        ),
        pytest.param(
            "replicasets.apps",
            {"spec": {"replicas": 3}, "status": {"replicas": 2, "readyReplicas": 1}},
            ["x", 3, 2, 1, "5m"],
            id="replica set",
        ),
        pytest.param(
            "jobs.batch",
            {
                "spec": {"completions": 2},
                "status": {
                    "succeeded": 2,
                    "startTime": "2025-12-31T23:55:00Z",
                    "completionTime": "2025-12-31T23:55:30Z",
                    "conditions": [{"type": "Complete", "status": "True"}],
                },
            },
            ["x", "Complete", "2/2", "30s", "5m"],
            id="job",
        ),
        pytest.param(
            "jobs.batch",
            {"spec": {"parallelism": 3}},
            ["x", "Running", "0/1 of 3", "", "5m"],
            id="parallel job",
        ),
        pytest.param(
            "namespaces", {"status": {"phase": "Active"}}, ["x", "Active", "5m"], id="namespace"
        ),
        pytest.param(
            "services",
            {
                "spec": {
                    "type": "NodePort",
                    "clusterIP": "10.0.0.1",
                    "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}],
                }
            },
            ["x", "NodePort", "10.0.0.1", "<none>", "80:30080/TCP", "5m"],
            id="service",
        ),
        pytest.param(
            "persistentvolumeclaims",
            {
                "spec": {"volumeName": "v", "storageClassName": "fast"},
                "status": {
                    "phase": "Bound",
                    "accessModes": ["ReadWriteOnce"],
                    "capacity": {"storage": "1Gi"},
                },
            },
            ["x", "Bound", "v", "1Gi", "RWO", "fast", "<unset>", "5m"],
            id="claim",
        ),
        pytest.param(
            "poddisruptionbudgets.policy",
            {"spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 1}},
            ["x", "50%", "N/A", 1, "5m"],
            id="budget",
        ),
        pytest.param(
            "resourcequotas",
            {
                "status": {
                    "hard": {"pods": "5", "limits.cpu": "4"},
                    "used": {"pods": "1", "limits.cpu": "2"},
                }
            },
            ["x", "pods: 1/5", "limits.cpu: 2/4", "5m"],
            id="quota",
        ),
        pytest.param(
            "roles.rbac.authorization.k8s.io",
            {},
            ["x", "2025-12-31T23:55:00Z"],
            id="a kind without a table",
        ),
    ],
)
def test_rows(resource: str, obj: Object, expected: list[Any]) -> None:
    assert cells(resource, obj) == expected


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if not kind.create_only], ids=lambda kind: kind.resource
)
def test_every_kind_can_be_shown_even_with_nothing_in_it(kind: Any) -> None:
    row = cells(kind.resource, {}, wide=True)
    assert "x" in row


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.size", [3]),
        (".spec['odd.name']", ["yes"]),
        (".spec.odd\\.name", ["yes"]),
        (".status.conditions[0].type", ["Ready"]),
        ('.status.conditions[?(@.type=="Synced")].status', ["False"]),
        (".status.conditions[*].status", ["True", "False"]),
        (".nothing.here", []),
    ],
)
def test_json_paths(path: str, found: list[Any]) -> None:
    conditions = [{"type": "Ready", "status": "True"}, {"type": "Synced", "status": "False"}]
    obj = {"spec": {"size": 3, "odd.name": "yes"}, "status": {"conditions": conditions}}
    assert find(obj, path) == found


def test_what_is_no_text_in_a_column_of_text_is_json() -> None:
    kind = Kind(
        "example.com",
        "v1",
        "widgets",
        "Widget",
        namespaced=True,
        columns=(Column("Max", "string", ".spec.max"), Column("On", "string", ".spec.on")),
    )
    obj = {"metadata": {"name": "x"}, "spec": {"max": {"cpu": 6, "memory": "1Gi"}, "on": True}}
    _, most, on = columns_of(kind)
    assert most.cell(obj, 0) == '{"cpu":6,"memory":"1Gi"}'
    assert on.cell(obj, 0) == "true"
