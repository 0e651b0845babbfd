from __future__ import annotations

from typing import Any

import pytest

from bayplan.errors import ConfigError
from bayplan.kit.importing.shapes import mapping, number, sequence, whole


def test_what_is_not_there() -> None:
    assert (mapping(None, "a"), sequence(None, "a"), number(None, "a", 3), whole(None, "a", 3)) == (
        {},
        [],
        3,
        3,
    )


def test_numbers_that_are_written_as_text() -> None:
    assert (number("2.5", "a", 0), whole("7", "a", 0)) == (2.5, 7)


@pytest.mark.parametrize(
    ("take", "value", "words"),
    [
        pytest.param(mapping, [1], "a.b: Invalid value: [1]: must be a mapping", id="a list"),
        pytest.param(sequence, "x", "a.b: Invalid value: 'x': must be a list", id="a text"),
        pytest.param(lambda v, w: number(v, w, 0), "x", "must be a number", id="no number"),
        pytest.param(lambda v, w: number(v, w, 0), True, "must be a number", id="a bool"),
        pytest.param(lambda v, w: number(v, w, 0), "nan", "must be a number", id="not a number"),
        pytest.param(lambda v, w: whole(v, w, 0), {}, "must be a number", id="a mapping"),
    ],
)
def test_what_is_refused(take: Any, value: Any, words: str) -> None:
    with pytest.raises(ConfigError) as raised:
        take(value, "a.b")
    assert words in str(raised.value)
