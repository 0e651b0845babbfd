"""Objects against the types of their kinds."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.embedded.builtin import builtin_kinds
from bayplan.embedded.kinds import Kind
from bayplan.embedded.objects import copy_of
from bayplan.embedded.schema.checking import drop_unknown, tidy, unknown_fields, wrong_type
from bayplan.embedded.schema.shapes import of_kind

POD = next(kind for kind in builtin_kinds() if kind.kind == "Pod")


def pod(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"labels": {"any": "thing"}},
        "spec": spec,
    }


@pytest.mark.parametrize(
    ("obj", "unknown"),
    [
        pytest.param(pod(nodeSelector={"a": "b"}, priority=None), [], id="all known"),
        pytest.param(pod(nodeSelektor={}), ["spec.nodeSelektor"], id="a slip"),
        pytest.param(
            pod(containers=[{"name": "a"}, {"imag": "x", "resources": {"limit": {}}}]),
            ["spec.containers[1].imag", "spec.containers[1].resources.limit"],
            id="in a list",
        ),
        pytest.param({"x": 1}, ["x"], id="at the top"),
    ],
)
def test_unknown_fields(obj: Any, unknown: list[str]) -> None:
    assert unknown_fields(POD, obj) == unknown
    kept = copy_of(obj)
    drop_unknown(kept, of_kind(POD))
    assert unknown_fields(POD, kept) == []
    assert (kept == obj) is (not unknown)


def test_a_custom_resource_without_schema_knows_every_field() -> None:
    assert unknown_fields(Kind("x.io", "v1", "ws", "W", True), {"spec": {"a": [{"b": 1}]}}) == []


def test_what_says_nothing_is_not_written() -> None:
    obj = pod(
        nodeSelector={},
        tolerations=[],
        priority=0,
        runtimeClassName=None,
        priorityClassName="",
        hostNetwork=False,
        volumes=[{"name": "v", "emptyDir": {}, "configMap": None}],
        containers=[{"name": "a", "env": [], "resources": {"limits": {}}}],
    )
    tidy(obj, of_kind(POD))
    assert obj["spec"] == {
        "priority": 0,
        "volumes": [{"name": "v", "emptyDir": {}}],
        "containers": [{"name": "a", "resources": {}}],
    }


@pytest.mark.parametrize(
    ("obj", "said"),
    [
        pytest.param(pod(priority=3, hostNetwork=True, containers=[]), "", id="all right"),
        pytest.param(
            pod(priority="high"),
            "json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32",
            id="text for a number",
        ),
        pytest.param(
            pod(priority=True),
            "json: cannot unmarshal bool into Go struct field PodSpec.spec.priority of type int32",
            id="a flag for a number",
        ),
        pytest.param(
            pod(nodeSelector={"a": 1}),
            "json: cannot unmarshal number into Go struct field PodSpec.spec.nodeSelector.a of type string",
            id="a number in a map of text",
        ),
        pytest.param(
            pod(containers=[{"resources": {"limits": {"cpu": []}}}]),
            "json: cannot unmarshal array into Go struct field "
            "ResourceRequirements.spec.containers.resources.limits.cpu of type Quantity",
            id="a list for a quantity",
        ),
        pytest.param(
            pod(containers=[{"resources": {"limits": {"cpu": 1.5}}}]), "", id="a fraction"
        ),
        pytest.param(
            pod(containers={}),
            "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type slice",
            id="an object for a list",
        ),
    ],
)
def test_wrong_types(obj: Any, said: str) -> None:
    assert wrong_type(POD, obj) == said
