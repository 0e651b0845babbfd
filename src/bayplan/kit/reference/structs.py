"""A struct of settings as a table: names as files write them, types in words, defaults, and the comments beside the fields.

Read by the pages on configuration and plugins.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
import typing
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Final, NamedTuple

import msgspec

from bayplan.framework.config.durations import format_duration

_WORDS: Final[dict[Any, str]] = {
    str: "text",
    int: "number",
    float: "number",
    bool: "true or false",
    bytes: "base64",
    timedelta: "duration",
    Any: "anything",
    type(None): "nothing",
}


class Setting(NamedTuple):
    """One row of a table."""

    name: str
    type: str
    default: str
    remark: str


def settings(struct: type[msgspec.Struct], source: type | None = None) -> list[Setting]:
    """The fields of a struct; ``source`` is the class whose text has the comments, where that is another one."""
    remarks = comments(source or struct)
    return [
        Setting(
            field.encode_name, in_words(field.type), _default(field), remarks.get(field.name, "")
        )
        for field in msgspec.structs.fields(struct)
    ]


def below(struct: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    """The structs that a struct's fields hold, in order."""
    for field in msgspec.structs.fields(struct):
        yield from _structs_in(field.type)


def _structs_in(hint: Any) -> Iterator[type[msgspec.Struct]]:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
    for part in typing.get_args(hint):
        yield from _structs_in(part)


def in_words(hint: Any) -> str:
    """A type as a person says it."""
    if hint in _WORDS:
        return _WORDS[hint]
    parts = typing.get_args(hint)
    if not parts:
        return f"`{hint.__name__}`" if hasattr(hint, "__name__") else str(hint)
    return _compound(typing.get_origin(hint), parts)


def _compound(origin: Any, parts: tuple[Any, ...]) -> str:
    if origin is typing.Literal:
        return " or ".join(f"`{part}`" for part in parts)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(in_words(part) for part in parts if part is not type(None))
    if origin in (tuple, list):
        return f"list of {in_words(parts[0])}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"map of {in_words(parts[1])}"
    return in_words(parts[0])  # Annotated: what it is bound to is told by the loader


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.default_factory is not msgspec.NODEFAULT:
        return _shown(field.default_factory())
    return "required" if field.default is msgspec.NODEFAULT else _shown(field.default)


def _shown(value: Any) -> str:
    if isinstance(value, timedelta):
        return f"`{format_duration(value)}`"
    if isinstance(value, msgspec.Struct) or value in (None, "", b"", (), [], {}):
        return ""
    plain = msgspec.to_builtins(dict(value) if isinstance(value, Mapping) else value)
    return f"`{msgspec.json.encode(plain).decode()}`"


def comments(owner: type) -> dict[str, str]:
    """What the ``#:`` lines above the fields of a class say, its bases' fields included."""
    found: dict[str, str] = {}
    for base in reversed(owner.__mro__):
        if base.__module__.startswith("bayplan."):
            found.update(_comments_in(base))
    return found


def _comments_in(owner: type) -> dict[str, str]:
    try:
        text = textwrap.dedent(inspect.getsource(owner))
    except (OSError, TypeError):
        return {}  # made at run time: its text is elsewhere
    lines = text.splitlines()
    found = {}
    for node in ast.parse(text).body[0].body:  # type: ignore[attr-defined]
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            said: list[str] = []
            number = node.lineno - 2
            while number >= 0 and lines[number].strip().startswith("#:"):
                said.insert(0, lines[number].strip().removeprefix("#:").strip())
                number -= 1
            if said:
                found[node.target.id] = " ".join(said)
    return found


def table(rows: list[Setting]) -> str:
    """Rows in Markdown."""
    lines = ["| field | type | default | |", "|---|---|---|---|"]
    lines += [
        f"| `{row.name}` | {_cell(row.type)} | {_cell(row.default)} | {_cell(row.remark)} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("``", "`").replace("|", "\\|")
