"""What a struct is made of, for the two things that msgspec does not do while it decodes.

``without_nulls`` reads a null as Go does, and ``quantity_check`` looks at the quantities of an object. Both go by the
types of the fields, so a new field or class needs nothing here. Read by ``decode``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final

import msgspec
from msgspec import inspect

from bayplan.errors import DecodeError
from bayplan.model import quantity

#: Raises ``QuantityError`` where a quantity of the value does not parse.
Check = Callable[[Any], object]

_QUANTITY_PARTS: Final = {inspect.StrType, inspect.IntType, inspect.FloatType}

_ZEROS: Final[dict[type[inspect.Type], object]] = {
    inspect.StrType: "",
    inspect.IntType: 0,
    inspect.FloatType: 0.0,
    inspect.BoolType: False,
}


@cache
def type_of(cls: type) -> inspect.Type:
    """The type of a class, as msgspec sees it."""
    return inspect.type_info(cls)


# Nulls ------------------------------------------------------------------------------------------


def has_null(tree: object) -> bool:
    """Whether there is a null anywhere."""
    if isinstance(tree, Mapping):
        return any(map(has_null, tree.values()))
    if isinstance(tree, list | tuple):
        return any(map(has_null, tree))
    return tree is None


def without_nulls(tree: object, kind: inspect.Type) -> object:
    """The tree with each null replaced by the zero value of its type, as Go's decoder leaves it.

    In a struct the field is left out; in a list or a map the element stays.
    """
    match kind:
        case inspect.UnionType():
            return _union_without_nulls(tree, kind)
        case inspect.StructType() if tree is None:
            return {}
        case inspect.StructType() if isinstance(tree, Mapping):
            fields = {field.encode_name: field.type for field in kind.fields}
            return {
                key: without_nulls(value, fields[key]) if key in fields else value
                for key, value in tree.items()
                if value is not None
            }
        case inspect.VarTupleType() if isinstance(tree, list | tuple):
            return [without_nulls(item, kind.item_type) for item in tree]
        case inspect.DictType() if isinstance(tree, Mapping):
            return {key: without_nulls(value, kind.value_type) for key, value in tree.items()}
        case _:
            return _ZEROS.get(type(kind)) if tree is None else tree


def _union_without_nulls(tree: object, kind: inspect.UnionType) -> object:
    if tree is None:
        return "0" if _is_quantity(kind) else None
    for part in kind.types:
        if isinstance(part, inspect.StructType):
            return without_nulls(tree, part)
    return tree


# Quantities -------------------------------------------------------------------------------------


def _is_quantity(kind: inspect.Type) -> bool:
    """Quantities are the only fields that may be strings, integers and fractions."""
    if not isinstance(kind, inspect.UnionType):
        return False
    return {type(part) for part in kind.types} - {inspect.NoneType} == _QUANTITY_PARTS


@cache
def quantity_check(cls: type[msgspec.Struct]) -> Check | None:
    """What finds a quantity in an object of the class that does not parse; None if it has none.

    The function is written out for the class: every pod passes through it, and going through the types each time, or
    through functions in functions, would take longer than decoding the pod.
    """
    lines = list(_look_at("object", type_of(cls), 1))
    if not lines:
        return None
    made: dict[str, Check] = {}
    source = "\n".join(["def check(object):", *lines])
    exec(
        compile(source, f"<quantities of {cls.__name__}>", "exec"), {"value": quantity.value}, made
    )
    return made["check"]


def _look_at(name: str, kind: inspect.Type, depth: int) -> Iterator[str]:
    """Lines that look at the quantities in the variable ``name``; none if its type has none."""
    indent, inner = "    " * depth, f"v{depth}"
    if _is_quantity(kind):
        yield f"{indent}value({name})"
        return
    match kind:
        case inspect.UnionType():
            for part in kind.types:
                yield from _look_at(name, part, depth)
        case inspect.StructType():
            for field in kind.fields:
                # Absent and empty parts, which are most, are not looked into.
                if lines := list(_look_at(inner, field.type, depth + 1)):
                    yield f"{indent}{inner} = {name}.{field.name}"
                    # An empty quantity is a wrong one.
                    given = " is not None" if _is_quantity(field.type) else ""
                    yield f"{indent}if {inner}{given}:"
                    yield from lines
        case inspect.VarTupleType():
            if lines := list(_look_at(inner, kind.item_type, depth + 1)):
                yield f"{indent}for {inner} in {name}:"
                yield from lines
        case inspect.DictType():
            if lines := list(_look_at(inner, kind.value_type, depth + 1)):
                yield f"{indent}for {inner} in {name}.values():"
                yield from lines
        case _:
            return


def bad_quantity(struct: msgspec.Struct) -> DecodeError | None:
    """The first quantity of an object that does not parse, with the path to it."""
    return _bad(struct, type_of(type(struct)))


def _bad(tree: Any, kind: inspect.Type) -> DecodeError | None:
    if tree is None:
        return None
    if _is_quantity(kind):
        return _parse_error(tree)
    for path, part, its_kind in _parts(tree, kind):
        if error := _bad(part, its_kind):
            return error.at(path) if path else error
    return None


def _parts(tree: Any, kind: inspect.Type) -> Iterator[tuple[str, Any, inspect.Type]]:
    """What a value is made of: the path to each part, the part and its type."""
    match kind:
        case inspect.UnionType():
            for part in kind.types:
                if isinstance(part, inspect.StructType):
                    yield "", tree, part
        case inspect.StructType():
            for field in kind.fields:
                yield field.encode_name, getattr(tree, field.name), field.type
        case inspect.VarTupleType():
            for index, item in enumerate(tree):
                yield f"[{index}]", item, kind.item_type
        case inspect.DictType():
            for key, value in tree.items():
                yield key, value, kind.value_type
        case _:
            return


def _parse_error(value: quantity.Quantity) -> DecodeError | None:
    try:
        quantity.value(value)
    except DecodeError as error:
        return error
    return None
