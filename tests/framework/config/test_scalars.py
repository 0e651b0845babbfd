from __future__ import annotations

import re

import pytest

from bayplan.framework.config.scalars import resolve, resolve_tagged


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("yes", True, id="yes is true, as in kubectl"),
        pytest.param("y", True, id="y is true, as in kubectl"),
        pytest.param("Off", False, id="Off is false"),
        pytest.param("yEs", "yEs", id="mixed case is text"),
        pytest.param("~", None, id="tilde is null"),
        pytest.param("", None, id="nothing is null"),
        pytest.param("1e3", 1000.0, id="an exponent without a point is a number"),
        pytest.param("1.5E-2", 0.015, id="a negative exponent"),
        pytest.param(".5", 0.5, id="a number may begin with the point"),
        pytest.param("-.inf", float("-inf"), id="infinity"),
        pytest.param("0777", 511, id="a leading zero is octal"),
        pytest.param("0o17", 15, id="0o is octal too"),
        pytest.param("08", 8.0, id="no octal digit: a float"),
        pytest.param("-0x1F", -31, id="hexadecimal"),
        pytest.param("0b11", 3, id="binary"),
        pytest.param("1_000", 1000, id="underscores"),
        pytest.param("18446744073709551615", 2**64 - 1, id="the largest integer"),
        pytest.param("18446744073709551616", 2.0**64, id="beyond that a float"),
        pytest.param("9" * 5000, float("inf"), id="very many digits do not take long"),
        pytest.param("1:30", "1:30", id="no sixties"),
        pytest.param("2026-01-02", "2026-01-02", id="a date stays text"),
        pytest.param("10.0.0.1", "10.0.0.1", id="an address is text"),
        pytest.param("5m", "5m", id="a quantity is text"),
        pytest.param("-", "-", id="a lone sign is text"),
        pytest.param("0x", "0x", id="a lone prefix is text"),
    ],
)
def test_resolve(text: str, value: object) -> None:
    found = resolve(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("tag", "text", "value"),
    [
        pytest.param("tag:yaml.org,2002:str", "5", "5", id="str"),
        pytest.param("!", "5", "5", id="the lone mark means str"),
        pytest.param("tag:yaml.org,2002:timestamp", "2026-01-02", "2026-01-02", id="timestamp"),
        pytest.param("tag:yaml.org,2002:int", "5", 5, id="int"),
        pytest.param("tag:yaml.org,2002:float", "5", 5.0, id="an int as float"),
        pytest.param("tag:yaml.org,2002:bool", "yes", True, id="bool"),
        pytest.param("tag:yaml.org,2002:null", "~", None, id="null"),
        pytest.param("tag:yaml.org,2002:binary", "aGk=", "hi", id="binary"),
    ],
)
def test_tags(tag: str, text: str, value: object) -> None:
    found = resolve_tagged(tag, text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("tag", "text", "message"),
    [
        pytest.param("!mine", "5", "the tag !mine is not allowed here", id="unknown"),
        pytest.param(
            "tag:yaml.org,2002:python/name:os.system",
            "",
            "is not allowed here",
            id="nothing runs code",
        ),
        pytest.param(
            "tag:yaml.org,2002:int", "five", "cannot decode !!str `five` as a !!int", id="no int"
        ),
        pytest.param(
            "tag:yaml.org,2002:binary", "a", "contains invalid base64 data", id="no base64"
        ),
    ],
)
def test_tags_that_do_not_fit(tag: str, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        resolve_tagged(tag, text)
