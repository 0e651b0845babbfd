from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Literal

import msgspec

from bayplan.framework.config.own import Record
from bayplan.kit.reference.structs import below, comments, in_words, settings, table


class Inner(msgspec.Struct, rename="camel"):
    """A part."""

    how_long: timedelta = timedelta(seconds=90)


class Outer(msgspec.Struct, rename="camel"):
    """The whole."""

    name: str
    inner: Inner = msgspec.field(default_factory=Inner)
    several: tuple[Inner, ...] = ()
    prices: Mapping[str, float] = {}
    mode: Literal["a", "b"] = "a"
    limit: int | None = None
    on: bool = False


def test_fields_types_and_defaults() -> None:
    rows = {row.name: (row.type, row.default) for row in settings(Outer)}
    assert rows == {
        "name": ("text", "required"),
        "inner": ("`Inner`", ""),
        "several": ("list of `Inner`", ""),
        "prices": ("map of number", ""),
        "mode": ("`a` or `b`", '`"a"`'),
        "limit": ("number", ""),
        "on": ("true or false", "`false`"),
    }
    assert settings(Inner)[0].default == "`1m30s`"
    assert list(below(Outer)) == [Inner, Inner]


def test_comments_are_those_of_the_source() -> None:
    assert comments(Record)["size"] == "How many decisions stay in memory."


def test_types_in_words() -> None:
    assert in_words(list[str]) == "list of text"
    assert in_words(object) == "`object`"


def test_a_table() -> None:
    assert table(settings(Inner)) == (
        "| field | type | default | |\n|---|---|---|---|\n| `howLong` | duration | `1m30s` |  |\n"
    )
