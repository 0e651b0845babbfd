"""Selectors as text: labels and fields. The messages are Go's, taken from apimachinery v0.36.4."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.errors import SelectorError
from bayplan.model.label_selectors import EVERYTHING
from bayplan.model.selector_text import parse_field_selector, parse_selector


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        pytest.param("", "", id="empty"),
        pytest.param("  ", "", id="blank"),
        pytest.param("a=b", "a=b", id="equal"),
        pytest.param("a == b", "a=b", id="double equal"),
        pytest.param("a!=b", "a!=b", id="not equal"),
        pytest.param("a", "a", id="exists"),
        pytest.param("!a", "!a", id="does not exist"),
        pytest.param("a=", "a=", id="empty value"),
        pytest.param("a=,b", "a=,b", id="empty value in front"),
        pytest.param("b,a", "a,b", id="sorted"),
        pytest.param("x in (b,a)", "x in (a,b)", id="in"),
        pytest.param("x notin(a, b)", "x notin (a,b)", id="not in, without a blank"),
        pytest.param("x in ()", "x=", id="in an empty set is the empty value"),
        pytest.param("x in (,)", "x=", id="two empty values"),
        pytest.param("x in (a,,b)", "x in (,a,b)", id="an empty value inside"),
        pytest.param("a>5,b<7", "a>5,b<7", id="comparisons"),
        pytest.param("in", "in", id="a keyword as key"),
        pytest.param("in in (in)", "in=in", id="keywords everywhere"),
        pytest.param("x.io/a\t=\nb", "x.io/a=b", id="a prefix, and all kinds of blanks"),
    ],
)
def test_labels(text: str, canonical: str) -> None:
    selector = parse_selector(text)
    assert str(selector) == canonical
    assert parse_selector(canonical) == selector


def test_no_text_is_everything() -> None:
    assert parse_selector("") == EVERYTHING


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("=b", "found '=', expected: !, identifier, or 'end of string'", id="no key"),
        pytest.param("a,", "found '', expected: identifier after ','", id="trailing comma"),
        pytest.param("a b", "found 'b', expected: in, notin, =, ==, !=, gt, lt", id="no operator"),
        pytest.param("a=b c", "found 'c', expected: ',' or 'end of string'", id="no comma"),
        pytest.param("!", "found '', expected: identifier", id="nothing denied"),
        pytest.param("!a=b", "found '=', expected: ',' or 'end of string'", id="value denied"),
        pytest.param("a in b", "found 'b' expected: '('", id="no bracket"),
        pytest.param("a in (b c)", "found 'c', expected: ',' or ')'", id="no comma inside"),
        pytest.param("a in (b,=)", "found '=', expected: ',', or identifier", id="a sign inside"),
        pytest.param("a in (=", "found '=', expected: ',', ')' or identifier", id="a sign first"),
        pytest.param("a==(", "found '(', expected: identifier", id="a bracket for a value"),
        pytest.param("a>x", "for 'Gt', 'Lt' operators, the value must be an integer", id="a word"),
        pytest.param("-a", '<nil>: Invalid value: "-a": name part must consist of', id="bad key"),
        pytest.param("a=b!", "found '!', expected: ',' or 'end of string'", id="a sign at the end"),
    ],
)
def test_bad_labels(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_selector(text)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("text", "fields", "expected"),
    [
        pytest.param("", {}, True, id="empty"),
        pytest.param("spec.nodeName=n1", {"spec.nodeName": "n1"}, True, id="equal"),
        pytest.param("spec.nodeName==n1", {"spec.nodeName": "n2"}, False, id="double equal"),
        pytest.param("spec.nodeName=", {}, True, id="absent reads as empty"),
        pytest.param("status.phase!=Failed", {"status.phase": "Failed"}, False, id="not equal"),
        pytest.param(
            "status.phase!=Failed,status.phase!=Succeeded",
            {"status.phase": "Running"},
            True,
            id="several",
        ),
        pytest.param(",a=b,", {"a": "b"}, True, id="empty terms are skipped"),
        pytest.param(r"a=x\,y\=z\\", {"a": "x,y=z\\"}, True, id="escapes"),
        pytest.param("!=", {}, True, id="a condition on nothing is none"),
    ],
)
def test_fields(text: str, fields: dict[str, str], expected: bool) -> None:
    selector = parse_field_selector(text)
    assert selector.matches(fields) is expected
    assert parse_field_selector(str(selector)) == selector


def test_exact_field() -> None:
    selector = parse_field_selector("a!=x,b=y")
    assert (selector.exact("a"), selector.exact("b"), selector.exact("c")) == (None, "y", None)
    assert not selector.empty
    assert parse_field_selector("").empty


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a", "invalid selector: 'a'; can't understand 'a'", id="no operator"),
        pytest.param(
            "a=b=c", "invalid field selector: unescaped character in value: 61", id="unescaped"
        ),
        pytest.param(
            r"a=\x", r"invalid field selector: invalid escape sequence: \x", id="unknown escape"
        ),
        pytest.param(
            "a=\\", "invalid field selector: invalid escape sequence: \\", id="trailing backslash"
        ),
    ],
)
def test_bad_fields(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_field_selector(text)
    assert caught.value.message == message


@given(st.text(alphabet="ab=!,() <>in\\\0é"))
def test_any_text_is_a_selector_or_an_error(text: str) -> None:
    for parse in (parse_selector, parse_field_selector):
        try:
            found = parse(text)
        except SelectorError:
            continue
        assert parse(str(found)) == found
