"""Answers as Go's decoder would read them, and nothing but ``ExtenderError`` for what cannot be read."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.errors import ExtenderError
from bayplan.runtime.extending import wire

KEYS = ["NodeNames", "nodenames", "Nodes", "FailedNodes", "Error", "NodeNameToMetaVictims", "Pods"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(KEYS) | st.text(), inner),
    max_leaves=12,
)


@given(JSON)
def test_whatever_comes_is_read_or_refused(answer: object) -> None:
    text = json.dumps(answer).encode()
    for read in (
        lambda: wire.read_filter(text, names=True),
        lambda: wire.read_filter(text, names=False),
        lambda: wire.read_scores(text),
        lambda: wire.read_victims(text),
        lambda: wire.read_binding(text),
    ):
        with contextlib.suppress(ExtenderError):
            read()


@given(st.binary())
def test_bytes_are_read_or_refused(text: bytes) -> None:
    with contextlib.suppress(ExtenderError):
        wire.read_filter(text, names=True)


def test_nulls_are_as_if_nothing_were_there() -> None:
    text = b'{"Nodes":null,"NodeNames":null,"FailedNodes":{"a":null},"Error":null}'
    answer = wire.read_filter(text, names=True)
    assert (answer.left, answer.failed, answer.unresolvable) == (None, {"a": ""}, {})
    assert wire.read_scores(b"null") == []
    assert wire.read_victims(b'{"NodeNameToMetaVictims":null}') == {}


def test_names_count_only_where_names_were_sent() -> None:
    text = b'{"NodeNames":["a"],"Nodes":{"items":[{"metadata":{"name":"b"}}]}}'
    assert wire.read_filter(text, names=True).left == ["a"]
    assert wire.read_filter(text, names=False).left == ["b"]


def test_victims_are_read_by_their_uids() -> None:
    text = b'{"nodeNameToMetaVictims":{"n":{"Pods":[{"UID":"x"},null],"NumPDBViolations":2}}}'
    assert wire.read_victims(text) == {"n": (["x", ""], 2)}


def test_an_error_is_an_error() -> None:
    with pytest.raises(ExtenderError, match="out of order"):
        wire.read_binding(b'{"Error":"out of order"}')
