"""Plain values into typed structs, naming every problem on the way instead of stopping at the first.

Follows the annotations of msgspec structs: the wire structs of ``types``, the sections of ``own`` and the arguments of
plugins all go through here. Where a value is of no use a stand-in takes its place, so that the rest is judged too.
"""

from __future__ import annotations

import difflib
import enum
import functools
import math
import types
import typing
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any, Final, Literal, TypeVar, cast

import msgspec

from bayplan.framework.config.durations import parse_duration
from bayplan.framework.config.fields import required, unsupported
from bayplan.framework.config.paths import Path, render
from bayplan.framework.config.report import Report

S = TypeVar("S", bound=msgspec.Struct)

#: Integers as wide as Go's, and with its names for them in messages.
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1, title="int32")]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1, title="int64")]

_GO_NAMES: Final[dict[Any, str]] = {
    str: "string",
    bool: "bool",
    int: "int",
    float: "float64",
    bytes: "[]byte",
    timedelta: "Duration",
}
_LISTS: Final[tuple[Any, ...]] = (list, tuple, set, frozenset, Sequence)


def decode(value: Any, kind: type[S], path: Path, report: Report) -> S | None:
    """``value`` as a ``kind``; None where nothing can be made of it. Problems are in the report."""
    built = _value(value, kind, path, report)
    return None if built is msgspec.UNSET else cast("S", built)


def _value(value: Any, kind: Any, path: Path, report: Report) -> Any:
    """The typed value, or UNSET: leave it out."""
    plain = _without_none(kind)
    if value is None:
        # As in Go, null leaves a field as it is. A list has no such field: there it is an empty object, or nothing.
        if plain is not kind or kind is Any:
            return None
        return _struct({}, plain, path, report) if _is_struct(plain) else msgspec.UNSET
    origin = typing.get_origin(plain) or plain
    if _is_struct(plain):
        return _struct(value, plain, path, report)
    if origin in _LISTS:
        return _list(value, plain, path, report)
    if origin in {dict, Mapping}:
        return _mapping(value, plain, path, report)
    return _leaf(value, plain, path, report)


def _struct(value: Any, kind: type[msgspec.Struct], path: Path, report: Report) -> Any:
    if not isinstance(value, Mapping):
        report.broken(path, _mismatch(value, kind.__name__))
        value = {}
    fields = _fields(kind)
    given: dict[str, Any] = {}
    lacking = False
    for name, item in value.items():
        if name not in fields:
            report.error((*path, name), _unknown(name, path, fields, report))
            continue
        built = _value(item, fields[name].type, (*path, name), report)
        if built is not msgspec.UNSET:
            given[fields[name].name] = built
    for name, field in fields.items():
        if field.required and field.name not in given:
            lacking = True
            report.error((*path, name), required())
    if lacking:
        return msgspec.UNSET
    try:
        return kind(**given)
    except (TypeError, ValueError) as error:  # from __post_init__, where a struct checks itself
        report.error(path, str(error))
        return msgspec.UNSET


@functools.cache
def _fields(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The fields by the names that files use; remembered, since resolving annotations takes most of the time."""
    return {field.encode_name: field for field in msgspec.structs.fields(kind)}


def _list(value: Any, kind: Any, path: Path, report: Report) -> Any:
    if not isinstance(value, list | tuple):
        report.broken(path, _mismatch(value, f"[]{_name(kind)}"))
        return msgspec.UNSET
    maker, item_kinds = typing.get_origin(kind) or kind, typing.get_args(kind)
    item_kind = item_kinds[0] if item_kinds else Any
    if maker is tuple and item_kinds and item_kinds[-1] is not Ellipsis:
        return _leaf(value, kind, path, report)  # of fixed length, each of its own type
    items = [_value(item, item_kind, (*path, index), report) for index, item in enumerate(value)]
    whole = (_stand_in(item_kind) if item is msgspec.UNSET else item for item in items)
    return tuple(whole) if maker is Sequence else maker(whole)


def _mapping(value: Any, kind: Any, path: Path, report: Report) -> Any:
    if not isinstance(value, Mapping):
        report.broken(path, _mismatch(value, "object"))
        return msgspec.UNSET
    key_kind, item_kind = typing.get_args(kind) or (str, Any)
    if key_kind is not str:
        return _leaf(value, kind, path, report)
    items = {name: _value(item, item_kind, (*path, name), report) for name, item in value.items()}
    return {name: item for name, item in items.items() if item is not msgspec.UNSET}


def _leaf(value: Any, kind: Any, path: Path, report: Report) -> Any:
    bare = typing.get_args(kind)[0] if typing.get_origin(kind) is Annotated else kind
    problem = ""
    if bare is timedelta and isinstance(value, str):
        try:
            value = parse_duration(value)
        except ValueError as error:
            problem = str(error)
    elif isinstance(value, float) and not math.isfinite(value):
        problem = f"json: unsupported value: {value}"
    elif bare is int and isinstance(value, float) and value.is_integer():
        value = int(value)  # 1e3, or 5.0 from a JSON writer that has only floats
    if not problem:
        try:
            return msgspec.convert(value, kind, str_keys=True)
        except msgspec.ValidationError as error:
            problem = _wording(value, kind, bare, str(error))
    report.broken(path, problem)
    return msgspec.UNSET


def _wording(value: Any, kind: Any, bare: Any, message: str) -> str:
    """What is wrong with a single value: in Go's words where it is the type, in msgspec's where it is a rule."""
    if typing.get_origin(bare) is Literal:
        return unsupported(value, typing.get_args(bare))
    if isinstance(bare, type) and issubclass(bare, enum.Enum):
        return unsupported(value, (member.value for member in bare))
    name = _title(kind) or _GO_NAMES.get(bare, "")
    if not name:
        return message.replace(" - at `$", " at `")
    wrong_type = not isinstance(value, bare) or isinstance(value, bool) != (bare is bool)
    if _title(kind) or wrong_type:
        hint = "; put it in quotes" if bare is str and not isinstance(value, dict | list) else ""
        return _mismatch(value, name, exact=bare is int) + hint
    return message.replace(" - at `$", " at `")


def _mismatch(value: Any, name: str, *, exact: bool = False) -> str:
    match value:
        case bool():
            found = "bool"
        case int() | float():
            found = f"number {value}" if exact else "number"
        case str():
            found = "string"
        case list() | tuple():
            found = "array"
        case _:
            found = "object"
    return f"cannot unmarshal {found} into field of type {name}"


def _unknown(name: str, path: Path, fields: Mapping[str, Any], report: Report) -> str:
    message = f'unknown field "{render((*path, name))}"'
    if name in report.misplaced:
        return f"{message}; {name} belongs {report.misplaced[name]}"
    close = difflib.get_close_matches(name, fields, n=1)
    return f'{message}; did you mean "{close[0]}"?' if close else message


def _without_none(kind: Any) -> Any:
    """``X`` of ``X | None``; other kinds as they are."""
    if typing.get_origin(kind) in {typing.Union, types.UnionType}:
        rest = [part for part in typing.get_args(kind) if part is not types.NoneType]
        return rest[0] if len(rest) == 1 else kind
    return kind


def _is_struct(kind: Any) -> bool:
    return (
        isinstance(kind, type)
        and issubclass(kind, msgspec.Struct)
        and kind.__struct_config__.tag is None
    )


def _stand_in(kind: Any) -> Any:
    """Something in place of a broken item of a list, so that those after it keep their numbers."""
    plain = typing.get_args(kind)[0] if typing.get_origin(kind) is Annotated else kind
    if plain in _GO_NAMES:
        return plain()
    if not _is_struct(plain):
        return None
    wanted = (field for field in _fields(plain).values() if field.required)
    try:
        return plain(**{field.name: _stand_in(field.type) for field in wanted})
    except (TypeError, ValueError):  # from __post_init__
        return None


def _title(kind: Any) -> str:
    if typing.get_origin(kind) is Annotated:
        for meta in typing.get_args(kind)[1:]:
            if isinstance(meta, msgspec.Meta) and meta.title:
                return meta.title
    return ""


def _name(kind: Any) -> str:
    item = (typing.get_args(kind) or (Any,))[0]
    return _title(item) or _GO_NAMES.get(item) or str(getattr(item, "__name__", "value"))
