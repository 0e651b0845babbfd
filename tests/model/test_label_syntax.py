"""What may be a label, and how Kubernetes says that something may not."""

from __future__ import annotations

import pytest

from bayplan.model.label_syntax import aggregate, invalid, key_problems, quote, value_problems


@pytest.mark.parametrize(
    "key",
    [
        pytest.param("app", id="a word"),
        pytest.param("A.b-c_9", id="all signs"),
        pytest.param("app.kubernetes.io/name", id="with a prefix"),
        pytest.param("x" * 63, id="the longest"),
        pytest.param("a" * 63 + "." + "b" * 63 + "/x", id="a long prefix"),
    ],
)
def test_keys(key: str) -> None:
    assert key_problems(key) == []


@pytest.mark.parametrize(
    ("key", "starts"),
    [
        pytest.param("", ["name part must be non-empty", "name part must consist of"], id="empty"),
        pytest.param("-a", ["name part must consist of"], id="starts with a dash"),
        pytest.param("é", ["name part must consist of"], id="not ASCII"),
        pytest.param("a\n", ["name part must consist of"], id="ends with a line break"),
        pytest.param("x" * 64, ["name part must be no more than 63 bytes"], id="too long"),
        pytest.param("/a", ["prefix part must be non-empty"], id="empty prefix"),
        pytest.param("A/a", ["prefix part a lowercase RFC 1123 subdomain"], id="capital prefix"),
        pytest.param("a/b/c", ["a valid label key must consist of"], id="two slashes"),
        pytest.param(
            "a." * 127 + "a/x", ["prefix part must be no more than 253 bytes"], id="long prefix"
        ),
    ],
)
def test_bad_keys(key: str, starts: list[str]) -> None:
    found = key_problems(key)
    assert [one[: len(start)] for one, start in zip(found, starts, strict=True)] == starts


def test_words_about_a_key() -> None:
    assert key_problems("-a") == [
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
        " alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
        " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
    ]


def test_values() -> None:
    assert value_problems("") == []
    assert value_problems("v1.2_x-y") == []
    assert value_problems("x" * 64) == ["must be no more than 63 bytes"]
    assert value_problems("bad!") == [
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start"
        " and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for"
        " validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("web", '"web"', id="plain"),
        pytest.param('a"b\\c', '"a\\"b\\\\c"', id="quotes and backslashes"),
        pytest.param("\n\t\x00\x7f", '"\\n\\t\\x00\\x7f"', id="control characters"),
        pytest.param("é世", '"é世"', id="printable Unicode stays"),
        pytest.param("\u200b\U000e0001", '"\\u200b\\U000e0001"', id="unprintable Unicode"),
    ],
)
def test_quoting_is_that_of_go(text: str, expected: str) -> None:
    assert quote(text) == expected


def test_messages() -> None:
    assert invalid("values", None, "empty") == "values: Invalid value: null: empty"
    assert invalid("values", ("<a>", "b"), "no") == (
        'values: Invalid value: ["\\u003ca\\u003e","b"]: no'
    )
    assert aggregate(["one"]) == "one"
    assert aggregate(["one", "two", "one"]) == "[one, two]"
