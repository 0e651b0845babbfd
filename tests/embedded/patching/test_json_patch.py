"""JSON patch, case by case."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.embedded.patching.json_patch import apply
from bayplan.errors import RequestRefused


@pytest.mark.parametrize(
    ("before", "operations", "after"),
    [
        pytest.param({}, [{"op": "add", "path": "/a", "value": 1}], {"a": 1}, id="add a field"),
        pytest.param(
            {"a": [1, 3]},
            [{"op": "add", "path": "/a/1", "value": 2}, {"op": "add", "path": "/a/-", "value": 4}],
            {"a": [1, 2, 3, 4]},
            id="add to a list",
        ),
        pytest.param({"a": 1, "b": 2}, [{"op": "remove", "path": "/a"}], {"b": 2}, id="remove"),
        pytest.param(
            {"a": [1, 2]},
            [{"op": "replace", "path": "/a/0", "value": 9}],
            {"a": [9, 2]},
            id="replace",
        ),
        pytest.param(
            {"a": {"x/y": 1}},
            [{"op": "move", "from": "/a/x~1y", "path": "/b"}],
            {"a": {}, "b": 1},
            id="move",
        ),
        pytest.param(
            {"a": [1]},
            [{"op": "copy", "from": "/a", "path": "/b"}, {"op": "add", "path": "/b/-", "value": 2}],
            {"a": [1], "b": [1, 2]},
            id="copy",
        ),
        pytest.param(
            {"a": {"~": 1}},
            [{"op": "test", "path": "/a/~0", "value": 1}],
            {"a": {"~": 1}},
            id="test",
        ),
        pytest.param({}, [{"op": "test", "path": "/a/b", "value": None}], {}, id="nothing is null"),
    ],
)
def test_operations(before: Any, operations: Any, after: Any) -> None:
    assert apply(before, operations) == after


@pytest.mark.parametrize(
    ("operations", "code"),
    [
        pytest.param({}, 400, id="no list"),
        pytest.param([{"op": "add"}], 400, id="no path"),
        pytest.param([{"op": "add", "path": "a", "value": 1}], 400, id="no slash"),
        pytest.param([{"op": "add", "path": "/a"}], 400, id="no value"),
        pytest.param([{"op": "sink", "path": "/a"}], 422, id="no such operation"),
        pytest.param([{"op": "remove", "path": "/b"}], 422, id="nothing to remove"),
        pytest.param([{"op": "replace", "path": "/b", "value": 1}], 422, id="nothing to replace"),
        pytest.param([{"op": "add", "path": "/b/c", "value": 1}], 422, id="no parent"),
        pytest.param([{"op": "add", "path": "/list/7", "value": 1}], 422, id="behind the end"),
        pytest.param([{"op": "add", "path": "/list/x", "value": 1}], 422, id="no index"),
        pytest.param([{"op": "test", "path": "/list/0", "value": 2}], 422, id="another value"),
    ],
)
def test_refusals(operations: Any, code: int) -> None:
    with pytest.raises(RequestRefused) as caught:
        apply({"list": [1]}, operations)
    assert caught.value.code == code
