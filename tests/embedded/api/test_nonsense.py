"""Whatever is sent, the answer is an object or a refusal, and what was there before is still there."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.embedded.api.speaking import pod

from bayplan.embedded.objects import copy_of, decode, encode
from bayplan.embedded.store import Store
from bayplan.embedded.web.operations import Call, Operations
from bayplan.embedded.web.paths import segments, target
from bayplan.errors import RequestRefused
from bayplan.testing.virtual_time import VirtualClock

FIELDS = [
    "metadata",
    "name",
    "namespace",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "uid",
    "resourceVersion",
    "spec",
    "status",
    "containers",
    "image",
    "resources",
    "requests",
    "limits",
    "cpu",
    "memory",
    "tolerations",
    "key",
    "effect",
    "nodeSelector",
    "affinity",
    "nodeAffinity",
    "podAffinity",
    "topologySpreadConstraints",
    "schedulingGates",
    "replicas",
    "selector",
    "matchLabels",
    "template",
    "target",
    "kind",
    "apiVersion",
    "hard",
    "ports",
    "containerPort",
    "volumes",
    "taints",
    "conditions",
    "type",
    "capacity",
    "storage",
    "accessModes",
    "versions",
    "names",
    "schema",
    "env",
]

LEAVES: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-5, 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(["a", "1", "default", "Always", "Exists", "100m", "1Gi", "/", "a/b"])
)
NONSENSE = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)

COLLECTIONS = (
    "/api/v1/namespaces/default/pods",
    "/api/v1/nodes",
    "/api/v1/namespaces",
    "/api/v1/namespaces/default/events",
    "/apis/events.k8s.io/v1/namespaces/default/events",
    "/api/v1/namespaces/default/resourcequotas",
    "/api/v1/namespaces/default/persistentvolumeclaims",
    "/apis/apps/v1/namespaces/default/deployments",
    "/apis/batch/v1/namespaces/default/jobs",
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "/apis/authentication.k8s.io/v1/tokenreviews",
    "/api/v1/namespaces/default/bindings",
)
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def opened() -> tuple[Store, Operations]:
    store = Store(VirtualClock(), rng=Random(1))
    store.seed()
    store.create("pods", pod("here"), "default")
    return store, Operations(store, tokens={}, forbids=lambda _: False)


def ask(
    store: Store, operations: Operations, method: str, path: str, body: Any, accept: str = ""
) -> int:
    """The status of what comes back."""
    about = target(store.kinds, segments(path))
    assert about is not None
    raw = b"" if body is None else encode(body)
    return answered(operations, Call(method, about, raw=raw, accept=accept))


def answered(operations: Operations, call: Call) -> int:
    try:
        answer = operations.carry_out(call)
    except RequestRefused as refusal:
        return refusal.code
    assert isinstance(decode(answer.body), dict)
    return answer.status


@given(st.sampled_from(COLLECTIONS), st.dictionaries(st.sampled_from(FIELDS), NONSENSE, max_size=5))
def test_creating_nonsense(path: str, body: dict[str, Any]) -> None:
    store, operations = opened()
    assert ask(store, operations, "POST", path, body) in range(200, 501)
    assert store.find("pods", "here", "default")
    # Whatever was let in can be shown.
    if not path.endswith(("reviews", "bindings")):
        assert ask(store, operations, "GET", path, None) == 200
        assert ask(store, operations, "GET", path, None, accept=TABLE) == 200


@given(st.sampled_from(["spec", "status"]), NONSENSE, st.sampled_from(["", "/status", "/resize"]))
def test_half_a_pod(part: str, inside: Any, subresource: str) -> None:
    store, operations = opened()
    sent = copy_of(store.get("pods", "here", "default"))
    if isinstance(sent[part], dict) and isinstance(inside, dict):
        sent[part] |= inside
    else:
        sent[part] = inside
    path = f"/api/v1/namespaces/default/pods/here{subresource}"
    assert ask(store, operations, "PUT", path, sent) in range(200, 501)
    assert ask(store, operations, "GET", "/api/v1/pods", None, accept=TABLE) == 200


@given(
    st.dictionaries(st.sampled_from(FIELDS), NONSENSE, max_size=4),
    st.sampled_from(["merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"]),
)
def test_patching_with_nonsense(patch: dict[str, Any], media: str) -> None:
    store, operations = opened()
    about = target(store.kinds, segments("/api/v1/namespaces/default/pods/here"))
    assert about is not None
    call = Call(
        "PATCH",
        about,
        {"fieldManager": "x"},
        content_type=f"application/{media}",
        raw=encode(patch),
    )
    assert answered(operations, call) in range(200, 501)
    assert ask(store, operations, "GET", "/api/v1/pods", None, accept=TABLE) == 200


@given(NONSENSE, st.sampled_from(["binding", "eviction"]))
def test_binding_with_nonsense(body: Any, subresource: str) -> None:
    store, operations = opened()
    path = f"/api/v1/namespaces/default/pods/here/{subresource}"
    assert ask(store, operations, "POST", path, body) in range(200, 501)
