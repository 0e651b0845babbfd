"""Strategic merge patch: directives, merge keys and the order of lists."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.embedded.patching.strategic import apply
from bayplan.embedded.schema.shapes import of_type
from bayplan.errors import RequestRefused

POD = of_type("core/v1.PodSpec")


def names(*all_of: str) -> list[dict[str, str]]:
    return [{"name": name} for name in all_of]


@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [
        pytest.param(
            {"nodeSelector": {"a": "1", "b": "2"}},
            {"nodeSelector": {"a": None, "c": "3"}},
            {"nodeSelector": {"b": "2", "c": "3"}},
            id="maps are merged and null removes",
        ),
        pytest.param(
            {"containers": [{"name": "a", "image": "x"}, {"name": "b"}]},
            {"containers": [{"name": "a", "image": "y"}, {"name": "c"}]},
            {"containers": [{"name": "a", "image": "y"}, {"name": "c"}, {"name": "b"}]},
            id="lists with a key are merged",
        ),
        pytest.param(
            {"containers": names("a", "b")},
            {"containers": [{"name": "a", "$patch": "delete"}]},
            {"containers": names("b")},
            id="an item is deleted",
        ),
        pytest.param(
            {"containers": names("a", "b")},
            {"containers": [{"name": "c"}, {"$patch": "replace"}]},
            {"containers": names("c")},
            id="a list is replaced",
        ),
        pytest.param(
            {"tolerations": [{"key": "a"}]},
            {"tolerations": [{"key": "b"}]},
            {"tolerations": [{"key": "b"}]},
            id="a list without a key is replaced anyway",
        ),
        pytest.param(
            {"securityContext": {"runAsUser": 1, "runAsGroup": 2}},
            {"securityContext": {"$patch": "replace", "runAsUser": 3}},
            {"securityContext": {"runAsUser": 3}},
            id="a map is replaced",
        ),
        pytest.param(
            {"securityContext": {"runAsUser": 1}, "priority": 1},
            {"securityContext": {"$patch": "delete"}},
            {"securityContext": {}, "priority": 1},
            id="a map is emptied",
        ),
        pytest.param(
            {"volumes": [{"name": "v", "emptyDir": {}}]},
            {
                "volumes": [
                    {"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}
                ]
            },
            {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]},
            id="only some keys are retained",
        ),
        pytest.param(
            {"containers": names("a", "b", "server")},
            {
                "$setElementOrder/containers": names("b", "new", "a"),
                "containers": names("new"),
            },
            {"containers": names("b", "new", "a", "server")},
            id="an order is set",
        ),
        pytest.param(
            {"containers": names("server", "a", "b")},
            {"$setElementOrder/containers": names("b", "a")},
            {"containers": names("server", "b", "a")},
            id="the server's own item keeps its place",
        ),
    ],
)
def test_a_patch(before: Any, patch: Any, after: Any) -> None:
    assert apply(before, patch, POD) == after


def test_lists_of_plain_values() -> None:
    meta = of_type("meta/v1.ObjectMeta")
    before = {"finalizers": ["a", "b", "c"]}
    patch = {
        "$deleteFromPrimitiveList/finalizers": ["b"],
        "$setElementOrder/finalizers": ["d", "a", "c"],
        "finalizers": ["d"],
    }
    assert apply(before, patch, meta) == {"finalizers": ["d", "a", "c"]}


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param({"$patch": "sink"}, id="an unknown directive"),
        pytest.param({"containers": [{"image": "x"}]}, id="no merge key"),
        pytest.param({"containers": [{"$patch": "delete"}]}, id="a deletion of nobody"),
        pytest.param({"$retainKeys": "all"}, id="no list of keys"),
        pytest.param({"$retainKeys": [], "priority": 1}, id="a field that is not retained"),
        pytest.param({"$setElementOrder/containers": 1, "containers": []}, id="no order"),
        pytest.param({"$deleteFromPrimitiveList/x": 1}, id="nothing to delete"),
    ],
)
def test_refusals(patch: Any) -> None:
    with pytest.raises(RequestRefused) as caught:
        apply({"containers": names("a")}, patch, POD)
    assert caught.value.code == 500
