"""``/openapi/v3``: what kubectl reads to learn which fields there are and how lists are merged.

An index, and one document per group and version, built from the tables of ``schema`` and from the schemas of custom
resources. Read by the HTTP side. There are no descriptions: the documents are about form.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from bayplan.embedded import openapi_paths
from bayplan.embedded.objects import Object, copy_of, encode
from bayplan.embedded.schema.types import LEAVES, Field, Type, find, packages

if TYPE_CHECKING:
    from bayplan.embedded.kinds import Kind

_REF: Final = "#/components/schemas/"
#: Types that the paths speak of, whatever the kinds.
_ALWAYS: Final = (
    "meta/v1.DeleteOptions",
    "meta/v1.Patch",
    "meta/v1.Status",
    "meta/v1.WatchEvent",
    "meta/v1.ObjectMeta",
    "meta/v1.ListMeta",
)
_LEAVES: Final[dict[str, Object]] = {
    "string": {"type": "string"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "bool": {"type": "boolean"},
    "double": {"type": "number", "format": "double"},
    "bytes": {"type": "string", "format": "byte"},
    "Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "IntOrString": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    "Time": {"type": "string", "format": "date-time"},
    "MicroTime": {"type": "string", "format": "date-time"},
    "Duration": {"type": "string"},
    "JSON": {},
}


def path_of(group: str, version: str) -> str:
    """What the index calls a document: ``api/v1``, ``apis/apps/v1``."""
    return f"apis/{group}/{version}" if group else f"api/{version}"


def index(kinds: Iterable[Kind]) -> Object:
    """The index: where each document is, with a hash that changes when it does."""
    groups: dict[tuple[str, str], list[Kind]] = {}
    for kind in kinds:
        groups.setdefault((kind.group, kind.version), []).append(kind)
    paths = {}
    for (group, version), members in sorted(groups.items()):
        path = path_of(group, version)
        paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={_hash(members)}"}
    return {"paths": paths}


def _hash(kinds: list[Kind]) -> str:
    facts = [[kind.kind, kind.subresources, kind.custom_schema] for kind in kinds]
    return hashlib.sha256(encode(facts)).hexdigest()[:32].upper()


def document(kinds: Iterable[Kind]) -> Object:
    """The document of the kinds of one group and version."""
    kinds = list(kinds)
    schemas: dict[str, Object] = {}
    wanted = list(_ALWAYS)
    names: dict[str, tuple[str, str]] = {}
    for kind in kinds:
        if kind.custom_schema is None and find(kind.schema_type):
            lists = f"{kind.schema_type}List"
            wanted += [kind.schema_type, lists] if find(lists) else [kind.schema_type]
            names[kind.plural] = (name_of(kind.schema_type), name_of(lists))
        else:
            name = custom_name(kind)
            names[kind.plural] = (name, f"{name}List")
            schemas[name] = _custom(kind)
            schemas[f"{name}List"] = _custom_list(kind, name)
        wanted += ["autoscaling/v1.Scale"] if "scale" in kind.subresources else []
    _add_types(schemas, wanted)
    for kind in kinds:
        for suffix, name in zip(("", "List"), names[kind.plural], strict=True):
            if name in schemas:
                _say_kind(schemas[name], kind, suffix)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.36.4"},
        "paths": openapi_paths.paths_of(kinds, {plural: one[0] for plural, one in names.items()}),
        "components": {"schemas": dict(sorted(schemas.items()))},
    }


def name_of(full: str) -> str:
    """What OpenAPI calls a type of the tables."""
    package, _, short = full.rpartition(".")
    return f"{packages()[package].openapi}.{short}"


def custom_name(kind: Kind) -> str:
    """``com.example.v1.Widget``."""
    return ".".join([*reversed(kind.group.split(".")), kind.version, kind.kind])


def _say_kind(schema: Object, kind: Kind, suffix: str) -> None:
    schema["x-kubernetes-group-version-kind"] = [
        {"group": kind.group, "version": kind.version, "kind": kind.kind + suffix}
    ]


def _add_types(schemas: dict[str, Object], wanted: list[str]) -> None:
    """These types and all that they are made of."""
    while wanted:
        full = wanted.pop()
        table = find(full)
        if table is None or name_of(full) in schemas:
            continue
        schemas[name_of(full)] = _type(table)
        wanted += [one.type for one in table.fields.values() if one.type not in LEAVES]


def _type(table: Type) -> Object:
    schema: Object = {"type": "object"}
    required = [one.name for one in table.fields.values() if one.required]
    if required:
        schema["required"] = required
    if table.fields:
        schema["properties"] = {one.name: _field(one) for one in table.fields.values()}
    if table.atomic:
        schema["x-kubernetes-map-type"] = "atomic"
    return schema


def _field(one: Field) -> Object:
    schema = _value(one.type, one.container, bare=one.pointer)
    if one.strategies:
        schema["x-kubernetes-patch-strategy"] = ",".join(sorted(one.strategies))
    if one.merge_key:
        schema["x-kubernetes-patch-merge-key"] = one.merge_key
    if one.list_type:
        schema["x-kubernetes-list-type"] = one.list_type
    if one.list_keys:
        schema["x-kubernetes-list-map-keys"] = list(one.list_keys)
    if one.map_type:
        schema["x-kubernetes-map-type"] = one.map_type
    if one.default is not None:
        schema["default"] = one.default
    return schema


def _value(name: str, container: str, *, bare: bool = False) -> Object:
    if container.startswith("[]"):
        return {"type": "array", "items": _value(name, container[2:])}
    if container:
        return {"type": "object", "additionalProperties": _value(name, container[5:])}
    if name in LEAVES:
        return dict(_LEAVES.get(name, {"type": "object"}))
    reference = {"$ref": _REF + name_of(name)}
    return reference if bare else {"allOf": [reference], "default": {}}


def _custom(kind: Kind) -> Object:
    schema: Object = copy_of(kind.custom_schema or {"x-kubernetes-preserve-unknown-fields": True})
    properties = schema.setdefault("properties", {})
    properties |= {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"allOf": [{"$ref": _REF + name_of("meta/v1.ObjectMeta")}]},
    }
    schema["type"] = "object"
    return schema


def _custom_list(kind: Kind, name: str) -> Object:
    return {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"$ref": _REF + name_of("meta/v1.ListMeta")},
            "items": {"type": "array", "items": {"$ref": _REF + name}},
        },
    }
