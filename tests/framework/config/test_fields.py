from __future__ import annotations

from datetime import timedelta

import pytest

from bayplan.framework.config.fields import (
    duplicate,
    forbidden,
    invalid,
    required,
    show,
    unsupported,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(5, "5", id="a number"),
        pytest.param(True, "true", id="a bool"),
        pytest.param('a "b"\n', r'"a \"b\"\n"', id="text as Go quotes it"),
        pytest.param(timedelta(minutes=1), '"1m0s"', id="a duration"),
        pytest.param({"a": [None]}, '{"a":[null]}', id="anything else as JSON"),
    ],
)
def test_values(value: object, text: str) -> None:
    assert show(value) == text


def test_words() -> None:
    assert invalid(0, "must be greater than 0") == "Invalid value: 0: must be greater than 0"
    assert invalid("x") == 'Invalid value: "x"'
    assert required() == "Required value"
    assert required("say something") == "Required value: say something"
    assert duplicate("a") == 'Duplicate value: "a"'
    assert forbidden("not here") == "Forbidden: not here"
    assert unsupported("c", ["a", "b"]) == 'Unsupported value: "c": supported values: "a", "b"'
