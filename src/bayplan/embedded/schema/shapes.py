"""The shape of a value: what is below it, and how two of its kind are merged.

Two sources become one form here: the tables of Kubernetes' own types, and the OpenAPI schema of a custom resource. Read by
strategic merge patch, server-side apply and field validation, which need not know where a shape comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

from bayplan.embedded.schema.types import Field, find

if TYPE_CHECKING:
    from bayplan.embedded.kinds import Kind

#: ``struct``: named fields. ``map``: keys are data. ``any``: whatever it is, as in a resource without a schema.
Form = Literal["struct", "map", "list", "leaf", "any"]
ListType = Literal["map", "set", "atomic"]


@dataclass(frozen=True, slots=True)
class Shape:
    """How a value is built. Its parts are looked up when asked for, since types contain themselves."""

    form: Form
    #: The type of a leaf, or the name of a struct.
    type: str = ""
    #: Replaced as a whole by server-side apply.
    atomic: bool = False
    list_type: ListType = "atomic"
    list_keys: tuple[str, ...] = ()
    #: Directives of strategic merge patch.
    strategies: frozenset[str] = frozenset()
    merge_key: str = ""
    required: bool = False
    default: Any = None
    #: Empty, or zero, and absent are the same: what is no pointer, and lists that are always written.
    always: bool = False
    #: The table type behind a struct.
    table: str = ""
    #: What is inside a list or a map of the tables.
    item: Shape | None = None
    #: A piece of an OpenAPI schema.
    custom: Mapping[str, Any] | None = None

    def field(self, name: str) -> Shape | None:
        """The shape of what is under a name; None where there is no such field."""
        if self.form == "any":
            return ANY
        if self.form == "map":
            return self.element()
        if self.custom is not None:
            return _custom_field(self.custom, name)
        return _fields_of(self.table).get(name)

    def element(self) -> Shape:
        """The shape of the items of a list, or of the values of a map."""
        if self.custom is not None:
            inner = self.custom.get("items") or self.custom.get("additionalProperties")
            return of_custom(inner) if isinstance(inner, Mapping) else ANY
        return self.item or ANY

    def key_default(self, key: str) -> Any:
        """What a key field of a list's items is, where an item does not say."""
        found = self.element().field(key)
        return found.default if found else None


ANY: Final = Shape("any")
ATOMIC: Final = Shape("leaf", "JSON", atomic=True)
METADATA: Final = "meta/v1.ObjectMeta"


def of_kind(kind: Kind) -> Shape:
    """The shape of a whole object."""
    if kind.schema_type and find(kind.schema_type):
        return of_type(kind.schema_type)
    schema = dict(kind.custom_schema or {"x-kubernetes-preserve-unknown-fields": True})
    return Shape("struct", kind.kind, custom=schema | {"type": "object", _ROOT: True})


@cache
def of_type(name: str) -> Shape:
    """The shape of a type in the tables, ``core/v1.Pod``."""
    table = find(name)
    if table is None:
        return _leaf(name)
    return Shape("struct", name, atomic=table.atomic, table=name)


def _leaf(name: str) -> Shape:
    return ATOMIC if name in {"object", "JSON", "RawExtension", "FieldsV1"} else Shape("leaf", name)


@cache
def _fields_of(table: str) -> dict[str, Shape]:
    known = find(table)
    return {name: _of_field(one) for name, one in known.fields.items()} if known else {}


def _of_field(one: Field) -> Shape:
    marks: dict[str, Any] = {
        "strategies": one.strategies,
        "merge_key": one.merge_key,
        "required": one.required,
        "default": one.default,
    }
    if one.container.startswith("[]"):
        list_type: Any = one.list_type or "atomic"
        return Shape(
            "list",
            atomic=list_type == "atomic",
            list_type=list_type,
            list_keys=one.list_keys,
            always=one.required,
            item=_of_item(one),
            **marks,
        )
    if one.container:
        return Shape("map", atomic=one.map_type == "atomic", item=_of_item(one), **marks)
    inner = of_type(one.type)
    return Shape(
        inner.form,
        inner.type,
        atomic=inner.atomic or one.map_type == "atomic",
        always=not one.pointer,
        table=inner.table,
        **marks,
    )


def _of_item(one: Field) -> Shape:
    """What is inside a list or a map: a list in a map has no marks of its own."""
    rest = one.container.removeprefix("map[]") if one.container[0] == "m" else one.container[2:]
    if rest:
        return Shape("list", atomic=True) if rest.startswith("[]") else Shape("map")
    return of_type(one.type)


#: Marks the schema of a whole custom object, whose envelope is Kubernetes' own.
_ROOT: Final = "x-bayplan-root"


def of_custom(schema: Mapping[str, Any]) -> Shape:
    """The shape that an OpenAPI schema of a custom resource describes."""
    marks: dict[str, Any] = {"default": schema.get("default"), "custom": schema}
    match schema.get("type"):
        case "array":
            list_type: Any = schema.get("x-kubernetes-list-type", "atomic")
            return Shape(
                "list",
                atomic=list_type == "atomic",
                list_type=list_type,
                list_keys=tuple(schema.get("x-kubernetes-list-map-keys", ())),
                **marks,
            )
        case "object":
            form, more = _custom_object(schema)
            atomic = schema.get("x-kubernetes-map-type") == "atomic"
            return Shape(form, atomic=atomic, **(marks | more))
        case str() as name if not schema.get("x-kubernetes-int-or-string"):
            return Shape("leaf", {"number": "double", "boolean": "bool"}.get(name, name))
        case _:
            return ANY


def _custom_object(schema: Mapping[str, Any]) -> tuple[Form, dict[str, Any]]:
    if schema.get("x-kubernetes-embedded-resource"):
        return "struct", {"custom": {**schema, _ROOT: True}}
    if schema.get("properties"):
        return "struct", {}
    if isinstance(schema.get("additionalProperties"), Mapping):
        return "map", {}
    return "any", {"custom": None}


def _custom_field(schema: Mapping[str, Any], name: str) -> Shape | None:
    if schema.get(_ROOT) and name in {"apiVersion", "kind", "metadata"}:
        return of_type(METADATA) if name == "metadata" else Shape("leaf", "string")
    inner = schema.get("properties", {}).get(name)
    if isinstance(inner, Mapping):
        return of_custom(inner)
    return ANY if schema.get("x-kubernetes-preserve-unknown-fields") else None
