"""What a struct is made of, for the two things that msgspec does not do while it decodes.

``without_nulls`` reads a null as Go does, and ``quantity_check`` finds the quantities of an object. Both go by the
types of the fields, so a new field or class needs nothing here. Read by ``decode``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, Final

import msgspec
from msgspec import inspect

from bayplan.errors import DecodeError
from bayplan.model import quantity

#: Raises ``QuantityError``, with the path to it, where a quantity of the value does not parse.
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
    """What finds a quantity in an object of the class that does not parse; None if it has none."""
    return _check(type_of(cls))


def _check(kind: inspect.Type) -> Check | None:
    if _is_quantity(kind):
        return quantity.value
    match kind:
        case inspect.UnionType():
            structs = [part for part in kind.types if isinstance(part, inspect.StructType)]
            return _check(structs[0]) if structs else None
        case inspect.StructType():
            return _check_fields(kind)
        case inspect.VarTupleType():
            return _check_items(_check(kind.item_type))
        case inspect.DictType():
            return _check_values(_check(kind.value_type))
        case _:
            return None


def _check_fields(kind: inspect.StructType) -> Check | None:
    checks = [
        (attrgetter(field.name), check, field.encode_name)
        for field in kind.fields
        if (check := _check(field.type)) is not None
    ]
    if not checks:
        return None

    def check_fields(struct: object) -> None:
        for get, check, name in checks:
            value = get(struct)
            # Absent and empty parts, which are most, need no call.
            if value:
                try:
                    check(value)
                except DecodeError as error:
                    raise error.at(name) from None

    return check_fields


def _check_items(check: Check | None) -> Check | None:
    if check is None:
        return None

    def check_items(items: tuple[object, ...]) -> None:
        for index, item in enumerate(items):
            try:
                check(item)
            except DecodeError as error:
                raise error.at(f"[{index}]") from None

    return check_items


def _check_values(check: Check | None) -> Check | None:
    if check is None:
        return None

    def check_values(values: dict[str, object]) -> None:
        for key, value in values.items():
            try:
                check(value)
            except DecodeError as error:
                raise error.at(key) from None

    return check_values
