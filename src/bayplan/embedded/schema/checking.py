"""Whether an object is built as its kind: fields that do not exist, and values of another type than theirs.

Read by the API when it takes an object in. Kubernetes drops unknown fields, warns of them or refuses them, as the client
asks with ``fieldValidation``; a value of the wrong type is refused always.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from bayplan.embedded.objects import Object
from bayplan.embedded.schema.shapes import ANY, Shape, of_kind

if TYPE_CHECKING:
    from bayplan.embedded.kinds import Kind

#: What a leaf may hold in JSON; what is not named here may hold anything.
_ALLOWED: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "bytes": (str,),
    "Time": (str,),
    "MicroTime": (str,),
    "int32": (int,),
    "int64": (int,),
    "integer": (int,),
    "double": (int, float),
    "bool": (bool,),
    "Quantity": (str, int, float),
    "IntOrString": (str, int),
}
#: As Go calls it.
_JSON_NAMES: Final = {str: "string", bool: "bool", int: "number", float: "number", dict: "object"}
_GO_NAMES: Final = {"integer": "int64", "double": "float64", "Time": "time.Time"}


def unknown_fields(kind: Kind, obj: Object) -> list[str]:
    """Fields that the kind has not got, ``spec.containers[0].imag``."""
    return list(_unknown(obj, of_kind(kind), ""))


def _unknown(value: object, shape: Shape, here: str) -> Iterator[str]:
    if isinstance(value, dict) and shape.form in {"struct", "map"}:
        for name, one in value.items():
            path = f"{here}.{name}" if here else str(name)
            below = shape.field(name)
            if below is None:
                yield path
            else:
                yield from _unknown(one, below, path)
    elif isinstance(value, list) and shape.form == "list":
        element = shape.element()
        for number, one in enumerate(value):
            yield from _unknown(one, element, f"{here}[{number}]")


def drop_unknown(value: object, shape: Shape) -> None:
    """Take away, in place, the fields that do not exist."""
    if isinstance(value, dict) and shape.form in {"struct", "map"}:
        for name in list(value):
            below = shape.field(name)
            if below is None:
                del value[name]
            else:
                drop_unknown(value[name], below)
    elif isinstance(value, list) and shape.form == "list":
        for one in value:
            drop_unknown(one, shape.element())


def tidy(value: object, shape: Shape) -> None:
    """Take away, in place, what Kubernetes does not write: nulls, empty lists and maps, zeros that mean nothing."""
    if isinstance(value, dict) and shape.form == "struct":
        for name, one in list(value.items()):
            below = shape.field(name) or ANY
            # An empty list of managed fields is an order: forget them.
            if one is None or (_says_nothing(one, below) and name != "managedFields"):
                del value[name]
            else:
                tidy(one, below)
    elif isinstance(value, (dict, list)) and shape.form in {"map", "list"}:
        for one in value.values() if isinstance(value, dict) else value:
            tidy(one, shape.element())


def _says_nothing(value: object, shape: Shape) -> bool:
    if shape.required:
        return False
    if shape.form in {"list", "map"}:
        return value in ([], {})
    return shape.form == "leaf" and shape.always and value in ("", 0)


def wrong_type(kind: Kind, obj: Object) -> str:
    """What Go's decoder says of the first value of another type than its field's; empty where all are right."""
    return next(_wrong(obj, of_kind(kind), kind.kind, ""), "")


def _wrong(value: object, shape: Shape, owner: str, here: str) -> Iterator[str]:
    match shape.form:
        case "any":
            return
        case _ if value is None:
            return
        case "struct" | "map" if isinstance(value, dict):
            inside = shape.type.rpartition(".")[2] or owner
            for name, one in value.items():
                path = f"{here}.{name}" if here else str(name)
                yield from _wrong(one, shape.field(name) or ANY, inside, path)
        case "list" if isinstance(value, list):
            element = shape.element()
            for one in value:
                yield from _wrong(one, element, owner, here)
        case "leaf" if _fits(value, shape.type):
            return
        case form:
            wanted = {"struct": shape.type, "map": "map", "list": "slice"}.get(form, shape.type)
            wanted = _GO_NAMES.get(wanted, wanted.replace("/v1.", "V1.").rpartition("/")[2])
            found = _JSON_NAMES.get(type(value), "array")
            yield (
                f"json: cannot unmarshal {found} into Go struct field {owner}.{here} of type {wanted}"
            )


def _fits(value: object, leaf: str) -> bool:
    allowed = _ALLOWED.get(leaf)
    if allowed is None:
        return True
    # A bool is an int to Python, and to nobody else.
    return isinstance(value, allowed) and (bool in allowed or not isinstance(value, bool))
