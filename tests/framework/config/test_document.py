from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan.framework.config import document
from bayplan.framework.config.document import read_documents

#: Without control characters, which YAML has not got.
TEXT = st.text(st.characters(exclude_categories=["C", "Z"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)
)


def values(text: str) -> list[Any]:
    documents, problems = read_documents(text)
    assert problems == []
    return [node.value for node in documents]


def problems_of(text: str) -> list[str]:
    return [str(problem) for problem in read_documents(text)[1]]


def test_several_documents_of_which_empty_ones_do_not_count() -> None:
    assert values("a: 1\n---\n# nothing\n---\n- b\n...\n") == [{"a": 1}, ["b"]]


def test_nothing_at_all() -> None:
    assert values("") == []


@given(JSON)
@settings(max_examples=30)
def test_json_reads_as_itself(value: Any) -> None:
    assert values(json.dumps({"top": value}, indent="\t", ensure_ascii=False)) == [{"top": value}]


def test_keys_are_words_whatever_they_would_mean_as_values() -> None:
    assert values("y: 1\non: 2\n3: x\nnull: z\n") == [{"y": 1, "on": 2, "3": "x", "null": "z"}]


def test_quoted_words_are_text() -> None:
    assert values("a: 'yes'\nb: \"1\"\nc: |\n  no\n") == [{"a": "yes", "b": "1", "c": "no\n"}]


def test_aliases_stand_for_what_they_name() -> None:
    assert values("a: &x {b: 1}\nc: *x\n") == [{"a": {"b": 1}, "c": {"b": 1}}]


def test_merge_keys_add_what_is_not_written() -> None:
    text = "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc:\n  <<: [*a, *b]\n  x: 3\n"
    assert values(text)[0]["c"] == {"x": 3, "y": 1, "z": 2}


def test_a_quoted_merge_key_is_a_key() -> None:
    assert values("'<<': 1\n") == [{"<<": 1}]


def test_lines() -> None:
    text = "a: 1\nb:\n  - c: &x\n      d: 1\n  -\n    e: 2\nf: *x\n"
    root = read_documents(text)[0][0]
    assert root.line_of(("a",)) == 1
    assert root.line_of(("b", 0, "c", "d")) == 4
    assert root.line_of(("b", 1, "e")) == 6
    assert root.line_of(("f",)) == 7
    assert root.line_of(("f", "d")) == 4, "what an alias stands for is written at its anchor"
    assert root.line_of(("b", 0, "missing", "deeper")) == 3, "the nearest thing that is written"


def test_every_duplicate_key_is_named() -> None:
    assert problems_of("a: 1\nb:\n  - c: 1\n    c: 2\na: 3\n") == [
        'line 4: b[0].c: key "c" already set in map',
        'line 5: a: key "a" already set in map',
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(
            BOMB, "line 6: a5[0]: document contains excessive aliasing", id="a billion laughs"
        ),
        pytest.param("a: &a [*a]\n", "line 1: a[0]: anchor 'a' value contains itself", id="a loop"),
        pytest.param("a: *b\n", "line 1: a: unknown anchor 'b' referenced", id="no such anchor"),
        pytest.param(
            "a: &x 1\n---\nb: *x\n",
            "line 3: b: unknown anchor 'x' referenced",
            id="an anchor of another document",
        ),
        pytest.param("x: " + "[" * 200, "nested deeper than 100 levels", id="deep nesting"),
        pytest.param("[" * 100_000, "nested deeper than 100 levels", id="very deep nesting"),
        pytest.param("#" * (1 << 20) + "\n", "the file is larger than", id="too large"),
        pytest.param("a: b: c\n", "line 1: yaml: mapping values are not allowed", id="two colons"),
        pytest.param("a: [1\nb: 2\n", "line 2: a[1]: yaml: while parsing a flow", id="no bracket"),
        pytest.param("\tfoo: 1\n", "line 1: yaml: while scanning", id="a tab as indentation"),
        pytest.param("a: 1\nb: \x00\n", "line 2: yaml: control characters", id="a NUL"),
        pytest.param("a: \ud83d\n", "line 1: yaml: invalid", id="half a character"),
        pytest.param(
            "a: !!python/object/apply:os.system [x]\n",
            "line 1: a: the tag tag:yaml.org,2002:python/object/apply:os.system is not allowed",
            id="an object of Python",
        ),
        pytest.param("a: !mine {}\n", "line 1: a: the tag !mine is not allowed", id="a tag"),
        pytest.param("? [a]\n: 1\n", "line 1: a key has to be a word", id="a list as a key"),
        pytest.param(
            "<<: 1\n", "map merge requires map or sequence of maps", id="a merge of a number"
        ),
    ],
)
def test_what_is_refused(text: str, problem: str) -> None:
    assert any(problem in found for found in problems_of(text)), problems_of(text)


def test_too_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MAX_VALUES", 4)
    assert values("- a\n- b\n- c\n") == [["a", "b", "c"]]
    assert problems_of("- a\n- b\n- c\n- d\n") == ["line 4: [3]: the file holds more than 4 values"]


def test_without_the_c_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "_LOADER", yaml.SafeLoader)
    assert values("a: [1e3, yes]\n") == [{"a": [1000.0, True]}]
