"""The types of the Kubernetes API, read from the tables beside this file.

A table is one API package. ``type Container`` begins a type; the lines below it are its fields::

    ports []ContainerPort 6 patch=merge:containerPort list=map:containerPort,protocol
    name  type            number-in-protobuf  flags

``[]T`` is a list, ``map[]T`` a map with string keys, ``*T`` a value for which zero is not the same as absent,
``apps/v1.X`` a type of another package. A field ``~x T 2`` exists
in protobuf only: JSON writes what is inside it in its place. ``wire X`` is a type that JSON never names.

Read by strategic merge patch and server-side apply (how to merge), field validation (what exists), the OpenAPI
documents and the protobuf decoder. Written by ``tools/schema/extract.py``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Final

#: Types that have no fields of their own.
LEAVES: Final = frozenset(
    {
        "string",
        "int32",
        "int64",
        "bool",
        "double",
        "bytes",
        "object",
        "JSON",
        "Quantity",
        "IntOrString",
        "RawExtension",
        "Time",
        "MicroTime",
        "FieldsV1",
        "Duration",
    }
)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a type."""

    name: str
    #: The full name of the innermost type: ``core/v1.Container`` or a leaf.
    type: str
    #: ``[]``, ``map[]``, ``map[][]`` or empty.
    container: str
    #: Zero and absent are two things.
    pointer: bool
    #: Number in protobuf; 0 where it is in an inlined message.
    number: int
    required: bool
    #: Directives of strategic merge patch: ``merge``, ``replace``, ``retainKeys``.
    strategies: frozenset[str]
    #: The key by which strategic merge patch tells the items of a list apart.
    merge_key: str
    #: ``map``, ``set``, ``atomic`` or empty, and for ``map`` the keys: how server-side apply merges.
    list_type: str
    list_keys: tuple[str, ...]
    map_type: str
    default: object
    #: Protobuf has a message here that JSON writes flat.
    inlined: bool


@dataclass(slots=True)
class Type:
    """A type and its fields."""

    name: str
    package: str
    atomic: bool = False
    #: Protobuf only.
    wire_only: bool = False
    fields: dict[str, Field] = field(default_factory=dict)
    by_number: dict[int, Field] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Package:
    """One table: ``core/v1`` and what OpenAPI calls it."""

    alias: str
    openapi: str
    types: dict[str, Type]


@cache
def packages() -> dict[str, Package]:
    """Every table, by alias."""
    folder = resources.files("bayplan.embedded.schema").joinpath("tables")
    found = {}
    for file in sorted(folder.iterdir(), key=lambda one: one.name):
        if file.name.endswith(".txt"):
            package = _read(file.name.removesuffix(".txt"), file.read_text(encoding="utf-8"))
            found[package.alias] = package
    return found


@cache
def find(name: str) -> Type | None:
    """The type with a full name such as ``core/v1.Pod``; None for leaves and strangers."""
    package, _, short = name.rpartition(".")
    table = packages().get(package)
    return table.types.get(short) if table else None


def _read(stem: str, text: str) -> Package:
    group, _, version = stem.rpartition(".")
    alias = f"{group}/{version}"
    openapi = ""
    types: dict[str, Type] = {}
    current = Type("", alias)
    for line in text.splitlines():
        word, _, rest = line.strip().partition(" ")
        if line.startswith("  "):
            one = _field(word, rest, alias)
            if one.number:
                current.by_number[one.number] = one
            if not one.inlined:
                current.fields[one.name] = one
        elif word == "package":
            openapi = rest
        else:
            name, *flags = rest.split(" ")
            current = Type(name, alias, atomic="map=atomic" in flags, wire_only=word == "wire")
            types[name] = current
    return Package(alias, openapi, types)


def _field(name: str, rest: str, alias: str) -> Field:
    type_name, number, *flags = rest.split(" ", 2)
    words = dict(_flag(word) for word in (flags[0].split(" ") if flags else ()))
    inner = type_name.removeprefix("*").replace("map[]", "").replace("[]", "")
    container = type_name.removeprefix("*").removesuffix(inner)
    if inner not in LEAVES and "/" not in inner:
        inner = f"{alias}.{inner}"
    strategies, _, merge_key = words.get("patch", "").partition(":")
    list_type, _, list_keys = words.get("list", "").partition(":")
    return Field(
        name=name.removeprefix("~"),
        type=inner,
        container=container,
        pointer=type_name.startswith("*"),
        number=int(number),
        required="required" in words,
        strategies=frozenset(filter(None, strategies.split(","))),
        merge_key=merge_key,
        list_type=list_type,
        list_keys=tuple(filter(None, list_keys.split(","))),
        map_type=words.get("map", ""),
        default=json.loads(words["default"]) if "default" in words else None,
        inlined=name.startswith("~"),
    )


def _flag(word: str) -> tuple[str, str]:
    name, _, value = word.partition("=")
    return name, value
