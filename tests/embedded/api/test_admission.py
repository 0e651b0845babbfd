"""What decides about new objects beside their own form: priority classes, quotas, namespaces on their way out."""

from __future__ import annotations

from typing import Any

import pytest
from tests.embedded.api.speaking import fresh_store, pod

from bayplan.embedded.deleting import DeleteOptions
from bayplan.embedded.namespaces import NamespaceEmptier
from bayplan.embedded.objects import Object
from bayplan.embedded.store import Store
from bayplan.errors import RequestRefused

CLASSES = "priorityclasses.scheduling.k8s.io"


def priority_class(store: Store, name: str, value: int, **more: Any) -> Object:
    return store.create(CLASSES, {"metadata": {"name": name}, "value": value, **more})


# Priority classes


def test_a_class_gives_a_pod_its_priority() -> None:
    store = fresh_store()
    priority_class(store, "high", 1000, preemptionPolicy="Never")
    spec = store.create("pods", pod("a", priorityClassName="high"), "default")["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "Never")


def test_system_classes_are_always_there() -> None:
    store = fresh_store()
    given = pod("a", priorityClassName="system-node-critical")
    assert store.create("pods", given, "default")["spec"]["priority"] == 2_000_001_000


def test_the_default_class_is_for_pods_without_one() -> None:
    store = fresh_store()
    priority_class(store, "usual", 5, globalDefault=True)
    spec = store.create("pods", pod("a"), "default")["spec"]
    assert (spec["priorityClassName"], spec["priority"]) == ("usual", 5)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        pytest.param(
            {"priorityClassName": "none"},
            'pods "a" is forbidden: no PriorityClass with name none was found',
            id="no such class",
        ),
        pytest.param(
            {"priority": 7},
            "the integer value of priority (7) must not be provided in pod spec; "
            "priority admission controller computed 0 from the given PriorityClass name",
            id="a priority of one's own",
        ),
        pytest.param(
            {"preemptionPolicy": "Never"},
            "the string value of PreemptionPolicy (Never) must not be provided in pod spec",
            id="a policy of one's own",
        ),
    ],
)
def test_pods_do_not_choose_their_priority(spec: Object, said: str) -> None:
    with pytest.raises(RequestRefused) as caught:
        fresh_store().create("pods", pod("a", **spec), "default")
    assert caught.value.code == 403
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("name", "value", "code", "said"),
    [
        pytest.param(
            "x",
            1_000_000_001,
            422,
            "maximum allowed value of a user defined priority is 1000000000",
            id="too high",
        ),
        pytest.param(
            "system-x", 1, 422, "system-x is not a known system priority class", id="reserved name"
        ),
    ],
)
def test_classes_that_nobody_may_have(name: str, value: int, code: int, said: str) -> None:
    with pytest.raises(RequestRefused) as caught:
        priority_class(fresh_store(), name, value)
    assert caught.value.code == code
    assert said in caught.value.message


def test_there_is_one_default_class() -> None:
    store = fresh_store()
    priority_class(store, "one", 1, globalDefault=True)
    with pytest.raises(RequestRefused, match="PriorityClass one is already marked as default"):
        priority_class(store, "two", 2, globalDefault=True)


def test_a_class_keeps_its_value() -> None:
    store = fresh_store()
    made = priority_class(store, "one", 1)
    with pytest.raises(RequestRefused, match="may not be changed in an update"):
        store.update(CLASSES, made | {"value": 2})


# Quotas


def quota(store: Store, hard: Object, **spec: Any) -> None:
    given = {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}}
    store.create("resourcequotas", given, "default")


def used(store: Store) -> Object:
    return dict(store.get("resourcequotas", "q", "default")["status"]["used"])


def asking(name: str, cpu: str = "500m", memory: str = "1Gi", **spec: Any) -> Object:
    given = pod(name, **spec)
    given["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu, "memory": memory}}
    return given


def test_what_is_used_is_counted_from_the_first() -> None:
    store = fresh_store()
    store.create("pods", asking("a"), "default")
    quota(store, {"pods": "5", "requests.cpu": "2", "memory": "4Gi"})
    assert used(store) == {"pods": "1", "requests.cpu": "500m", "memory": "1Gi"}
    store.create("pods", asking("b", cpu="1"), "default")
    assert used(store) == {"pods": "2", "requests.cpu": "1500m", "memory": "2Gi"}
    store.delete("pods", "a", "default")
    assert used(store) == {"pods": "1", "requests.cpu": "1", "memory": "1Gi"}


def test_more_than_there_is_is_refused() -> None:
    store = fresh_store()
    quota(store, {"requests.cpu": "1", "pods": "10"})
    store.create("pods", asking("a", cpu="800m"), "default")
    with pytest.raises(RequestRefused) as caught:
        store.create("pods", asking("b"), "default")
    assert caught.value.code == 403
    assert caught.value.message == (
        'pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=500m, '
        "used: requests.cpu=800m, limited: requests.cpu=1"
    )


def test_a_pod_that_has_ended_uses_nothing() -> None:
    store = fresh_store()
    quota(store, {"pods": "1"})
    store.create("pods", pod("a"), "default")
    store.mutate("pods", "a", lambda obj: obj["status"].update(phase="Succeeded"), "default")
    assert used(store) == {"pods": "0"}
    store.create("pods", pod("b"), "default")


def test_a_quota_wants_to_know_what_a_pod_takes() -> None:
    store = fresh_store()
    quota(store, {"limits.cpu": "1"})
    with pytest.raises(
        RequestRefused, match=r"failed quota: q: must specify limits\.cpu for: main"
    ):
        store.create("pods", asking("a"), "default")


def test_objects_are_counted_too() -> None:
    store = fresh_store()
    quota(store, {"count/configmaps": "1"})
    store.create("configmaps", {"metadata": {"name": "a"}}, "default")
    with pytest.raises(RequestRefused, match="exceeded quota: q, requested: count/configmaps=1"):
        store.create("configmaps", {"metadata": {"name": "b"}}, "default")
    store.create("configmaps", {"metadata": {"name": "b"}}, "kube-system")


@pytest.mark.parametrize(
    ("scope", "counted"),
    [
        pytest.param({"scopes": ["BestEffort"]}, "0", id="best effort"),
        pytest.param({"scopes": ["NotBestEffort"]}, "1", id="others"),
        pytest.param(
            {
                "scopeSelector": {
                    "matchExpressions": [
                        {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
                    ]
                }
            },
            "1",
            id="of a class",
        ),
    ],
)
def test_scopes(scope: Object, counted: str) -> None:
    store = fresh_store()
    priority_class(store, "high", 10)
    quota(store, {"pods": "5"}, **scope)
    store.create("pods", asking("a", priorityClassName="high"), "default")
    assert used(store) == {"pods": counted}


# Namespaces


def test_a_namespace_takes_everything_in_it_along() -> None:
    store = fresh_store()
    NamespaceEmptier(store)
    store.create("namespaces", {"metadata": {"name": "team"}})
    store.create("configmaps", {"metadata": {"name": "a"}}, "team")
    store.create("pods", pod("a"), "team")
    store.create("pods", pod("stays"), "default")
    store.delete("namespaces", "team")
    assert store.find("namespaces", "team") is None
    assert [one["metadata"]["name"] for one in store.list("pods")] == ["stays"]
    assert store.list("configmaps", "team") == []


def test_a_namespace_waits_for_what_takes_its_time() -> None:
    store = fresh_store()
    NamespaceEmptier(store)
    store.create("namespaces", {"metadata": {"name": "team"}})
    store.create("pods", pod("a", nodeName="n1"), "team")
    store.delete("namespaces", "team")
    assert store.get("namespaces", "team")["status"]["phase"] == "Terminating"
    with pytest.raises(RequestRefused) as caught:
        store.create("configmaps", {"metadata": {"name": "late"}}, "team")
    assert caught.value.message == (
        'configmaps "late" is forbidden: unable to create new content in namespace team '
        "because it is being terminated"
    )
    store.delete("pods", "a", "team", DeleteOptions(grace_s=0))
    assert store.find("namespaces", "team") is None


def test_a_namespace_is_labelled_with_its_name() -> None:
    made = fresh_store().create("namespaces", {"metadata": {"name": "team"}})
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team"}


# Names


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        pytest.param("pods", "A", "a lowercase RFC 1123 subdomain must consist of", id="capital"),
        pytest.param("pods", "a" * 254, "must be no more than 253 bytes", id="too long"),
        pytest.param(
            "namespaces", "a.b", "a lowercase RFC 1123 label must consist of", id="dot in a label"
        ),
        pytest.param(
            "pods", "", "metadata.name: Required value: name or generateName is required", id="none"
        ),
        pytest.param(
            "clusterroles.rbac.authorization.k8s.io", "a/b", "may not contain '/'", id="slash"
        ),
    ],
)
def test_names_that_cannot_be(kind: str, name: str, said: str) -> None:
    store = fresh_store()
    given = pod(name) if kind == "pods" else {"metadata": {"name": name}}
    with pytest.raises(RequestRefused) as caught:
        store.create(kind, given, "default")
    assert caught.value.code == 422
    assert said in caught.value.message


def test_roles_may_have_colons() -> None:
    store = fresh_store()
    made = store.create(
        "clusterroles.rbac.authorization.k8s.io", {"metadata": {"name": "system:x"}}
    )
    assert made["metadata"]["name"] == "system:x"


def test_labels_are_checked() -> None:
    given = pod("a")
    given["metadata"]["labels"] = {"a": "b c"}
    with pytest.raises(RequestRefused, match=r'metadata\.labels: Invalid value: "b c"'):
        fresh_store().create("pods", given, "default")
