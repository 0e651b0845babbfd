"""The embedded API answers as kube-apiserver does: status, reason, message, and every field of every object.

Both are asked the same, in the same order. What differs from run to run is left out, and what is known to differ is named.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.embedded.api import conversation

from bayplan.embedded.builtin import builtin_kinds
from bayplan.embedded.server import EmbeddedApi, EmbeddedOptions
from bayplan.embedded.tables import _TABLES
from bayplan.errors import ApiError
from bayplan.testing.control_plane import Api, Binaries, ControlPlane, wait_until
from bayplan.testing.control_plane.api import Login

pytestmark = pytest.mark.e2e

#: Other in every run.
VOLATILE = {
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "lastTransitionTime",
    "lastPhaseTransitionTime",
    "managedFields",
    "clusterIP",
    "clusterIPs",
}
#: The embedded API gives every pod a service account, and no volume a finalizer that only a controller takes away.
KNOWN = {"serviceAccountName", "serviceAccount", "finalizers"}

#: What the embedded API serves without being asked.
ALPHA = (
    "--feature-gates=GenericWorkload=true,GangScheduling=true,"
    "TopologyAwareWorkloadScheduling=true,WorkloadAwarePreemption=true",
    "--runtime-config=scheduling.k8s.io/v1alpha2=true",
)

UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
VERSION = re.compile(r"in record \(\d+\)")


def bare(value: Any) -> Any:
    """An answer without what nobody can foresee; null and absent are the same to clients."""
    if isinstance(value, dict):
        left_out = VOLATILE | KNOWN
        return {
            key: bare(one) for key, one in value.items() if key not in left_out and one is not None
        }
    if isinstance(value, list):
        return [bare(one) for one in value]
    return UID.sub("UID", value) if isinstance(value, str) else value


def answers(api: Api, lines: list[tuple[str, ...]]) -> list[Any]:
    found: list[Any] = []
    for method, path, body, content_type in conversation.steps(lines):
        try:
            found.append(bare(api.call(method, path, body, content_type)))
        except ApiError as error:
            # What is behind the first line is Go's picture of a difference.
            message = VERSION.sub("in record", UID.sub("UID", error.message.partition("\n")[0]))
            found.append((error.status, error.reason, message))
    return found


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory, binaries: Binaries) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("plane")
    with ControlPlane(folder, binaries, api_flags=ALPHA) as plane:
        path = "/apis/scheduling.k8s.io/v1/priorityclasses"
        wait_until(lambda: len(plane.admin.items(path)) == 2, "its own priority classes")
        yield plane.admin


@pytest.fixture(scope="module")
def embedded() -> Iterator[Api]:
    server = EmbeddedApi(EmbeddedOptions(tls=True, token="sesame"))
    started, stop = threading.Event(), threading.Event()

    async def serve() -> None:
        async with server:
            started.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    started.wait(30)
    with Api(server.url, server.authority_pem, Login(token="sesame")) as api:
        yield api
    stop.set()
    thread.join()


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(conversation.PODS, id="pods"),
        pytest.param(conversation.LISTS, id="lists"),
        pytest.param(conversation.CLUSTER, id="cluster"),
        pytest.param(conversation.WORKLOADS, id="workloads"),
        pytest.param(conversation.OTHERS, id="others"),
        pytest.param(conversation.GROUPS, id="groups"),
    ],
)
def test_same_answers(lines: list[tuple[str, ...]], real: Api, embedded: Api) -> None:
    ours, theirs = answers(embedded, lines), answers(real, lines)
    differences = [
        f"{' '.join(line)}\n  kube-apiserver: {right}\n  embedded: {left}"
        for line, left, right in zip(lines, ours, theirs, strict=True)
        if left != right
    ]
    assert not differences, "\n".join(differences)


#: Cells of these columns are other in every run, or follow from what is known to differ.
OPEN_COLUMNS = {"Age", "Created At", "Cluster-IP", "Last Seen", "First Seen", "Request"}
#: One heading is formatted as a name there.
OPEN_KINDS = {"volumeattachments"}


def table(api: Api, path: str) -> dict[str, Any]:
    """The headings, and the cells by object."""
    headers = api._headers | {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    response, connection = api._exchange("GET", path, None, headers)
    found = json.loads(response.read())
    connection.close()
    columns = [
        (one["name"], one["type"], one["format"], one["priority"])
        for one in found["columnDefinitions"]
    ]
    shown = [column[0] not in OPEN_COLUMNS for column in columns]
    rows = {
        row["object"]["metadata"]["name"]: [
            UID.sub("UID", str(cell))
            for cell, plain in zip(row["cells"], shown, strict=True)
            if plain
        ]
        for row in found["rows"] or ()
    }
    return {"columns": columns, "rows": rows}


def test_same_tables(real: Api, embedded: Api) -> None:
    """Of whatever the conversations have left: kinds that have a table here, objects that both have."""
    differences = []
    for kind in builtin_kinds():
        if kind.shelf not in _TABLES or kind.plural in OPEN_KINDS:
            continue
        root = f"/apis/{kind.group}" if kind.group else "/api"
        left, right = (
            table(api, f"{root}/{kind.version}/{kind.plural}") for api in (embedded, real)
        )
        if left["columns"] != right["columns"]:
            differences.append(f"{kind.resource}: {right['columns']}, embedded {left['columns']}")
        differences += [
            f"{kind.resource} {name}: {right['rows'][name]}, embedded {left['rows'][name]}"
            for name in left["rows"].keys() & right["rows"].keys()
            if left["rows"][name] != right["rows"][name]
        ]
    assert not differences, "\n".join(differences)


WATCHES = (
    "",
    "fieldSelector=spec.nodeName%3D",
    "fieldSelector=spec.nodeName%3Dw1",
    "fieldSelector=metadata.name%3Dsecond,status.phase%3DPending",
    "labelSelector=tier%3Din",
)

#: What happens while they are watched.
HAPPENINGS = [
    (
        "POST",
        "P",
        "{metadata: {name: first, labels: {tier: in}}, spec: {containers: [{name: c, image: i}]}}",
    ),
    ("POST", "P", "{metadata: {name: second}, spec: {containers: [{name: c, image: i}]}}"),
    ("POST", "P/first/binding", "{metadata: {name: first}, target: {kind: Node, name: w1}}"),
    ("PATCH", "P/second", "{metadata: {labels: {tier: in}}}", conversation.MERGE),
    ("PATCH", "P/second", "{metadata: {labels: {tier: in}}}", conversation.MERGE),
    ("PATCH", "P/second", "{metadata: {labels: {tier: out}}}", conversation.MERGE),
    ("PATCH", "P/first/status", "{status: {phase: Running}}", conversation.MERGE),
    ("DELETE", "P/first"),
    ("DELETE", "P/first", "{gracePeriodSeconds: 0}"),
    ("PATCH", "P/second/status", "{status: {phase: Running}}", conversation.MERGE),
    ("DELETE", "P/second"),
]


def watched(api: Api) -> list[list[Any]]:
    """What each watch shows, from one version on, once everything has happened."""
    start = api.get("/api/v1/pods")["metadata"]["resourceVersion"]
    answers(api, HAPPENINGS)
    found = []
    for selector in WATCHES:
        query = f"watch=1&timeoutSeconds=2&resourceVersion={start}&{selector}"
        with api.lines(f"/api/v1/namespaces/default/pods?{query}", 30) as lines:
            found.append([bare(line) for line in lines])
    return found


def test_same_watches(real: Api, embedded: Api) -> None:
    for selector, left, right in zip(WATCHES, watched(embedded), watched(real), strict=True):
        shown = [(one["type"], one["object"]["metadata"]["name"]) for one in left]
        assert left == right, (selector, shown)
        assert left, selector
