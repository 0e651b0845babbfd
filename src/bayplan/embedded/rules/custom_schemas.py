"""What the schema of a custom resource asks of its objects: values filled in, and values that are not allowed.

Called by the store for custom resources. Of OpenAPI it knows what definitions commonly use: types are checked elsewhere,
here are required fields, choices, bounds, patterns and defaults; rules in CEL are not evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from bayplan.embedded.objects import Object, as_list, as_object, copy_of
from bayplan.embedded.refusals import (
    FieldProblem,
    invalid_value,
    required,
    unsupported_value,
)


def fill_in(obj: Any, schema: object) -> None:
    """Give fields that are not there the schema's defaults, in place."""
    known = as_object(schema)
    if isinstance(obj, dict):
        for name, below in as_object(known.get("properties")).items():
            if name not in obj and "default" in as_object(below):
                obj[name] = copy_of(below["default"])
            if name in obj:
                fill_in(obj[name], below)
        for name, value in obj.items():
            if name not in as_object(known.get("properties")):
                fill_in(value, known.get("additionalProperties"))
    elif isinstance(obj, list):
        for one in obj:
            fill_in(one, known.get("items"))


def problems(obj: Object, schema: object) -> list[FieldProblem]:
    """What the schema does not allow."""
    known = as_object(schema)
    # Metadata has rules of its own, whatever the schema says.
    below = {k: v for k, v in as_object(known.get("properties")).items() if k != "metadata"}
    return list(_problems(obj, known | {"properties": below}, ""))


def _problems(value: Any, schema: Object, path: str) -> Iterator[FieldProblem]:
    if value is None:
        return
    choices = as_list(schema.get("enum"))
    if choices and value not in choices:
        yield unsupported_value(path, value, map(str, choices))
    match value:
        case dict():
            yield from _of_object(value, schema, path)
        case list():
            yield from _of_length(len(value), schema, path, value, "Items")
            for number, one in enumerate(value):
                yield from _problems(one, as_object(schema.get("items")), f"{path}[{number}]")
        case str():
            yield from _of_length(len(value), schema, path, value, "Length")
            pattern = schema.get("pattern")
            if isinstance(pattern, str) and not _matches(pattern, value):
                said = f"{path} in body should match '{pattern}'"
                yield invalid_value(path, value, said)
        case bool():
            pass
        case int() | float():
            yield from _of_size(value, schema, path)
        case _:
            pass


def _of_object(value: Object, schema: Object, path: str) -> Iterator[FieldProblem]:
    for name in as_list(schema.get("required")):
        if name not in value:
            yield required(_below(path, name))
    properties = as_object(schema.get("properties"))
    for name, one in value.items():
        below = properties.get(name, schema.get("additionalProperties"))
        yield from _problems(one, as_object(below), _below(path, name))


def _of_length(
    length: int, schema: Object, path: str, value: Any, what: str
) -> Iterator[FieldProblem]:
    unit = "items" if what == "Items" else "chars long"
    least, most = schema.get(f"min{what}"), schema.get(f"max{what}")
    if isinstance(least, int) and length < least:
        yield invalid_value(path, value, f"{path} in body should be at least {least} {unit}")
    if isinstance(most, int) and length > most:
        yield invalid_value(path, value, f"{path} in body should be at most {most} {unit}")


def _of_size(value: float, schema: Object, path: str) -> Iterator[FieldProblem]:
    least, most = schema.get("minimum"), schema.get("maximum")
    if isinstance(least, (int, float)) and value < least:
        said = f"{path} in body should be greater than or equal to {least}"
        yield invalid_value(path, value, said)
    if isinstance(most, (int, float)) and value > most:
        said = f"{path} in body should be less than or equal to {most}"
        yield invalid_value(path, value, said)


def _matches(pattern: str, value: str) -> bool:
    try:
        return re.search(pattern, value) is not None
    except re.error:
        # Go's expressions are not quite Python's; what cannot be read here forbids nothing.
        return True


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
