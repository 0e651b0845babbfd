"""The tables: they hang together, and say what Kubernetes says in places that everything else depends on."""

from __future__ import annotations

import pytest

from bayplan.embedded.builtin import builtin_kinds
from bayplan.embedded.schema.shapes import ANY, of_kind, of_type
from bayplan.embedded.schema.types import LEAVES, find, packages


def test_every_type_that_a_field_names_is_there() -> None:
    missing = [
        f"{table.package}.{table.name}.{field.name}: {field.type}"
        for package in packages().values()
        for table in package.types.values()
        for field in table.fields.values()
        if field.type not in LEAVES and find(field.type) is None
    ]
    assert missing == []


def test_every_builtin_kind_has_a_type() -> None:
    assert [kind.resource for kind in builtin_kinds() if find(kind.schema_type) is None] == []


@pytest.mark.parametrize(
    ("type_name", "field", "number", "pointer"),
    [
        pytest.param("core/v1.PodSpec", "schedulerName", 19, False, id="a plain string"),
        pytest.param("core/v1.PodSpec", "priority", 25, True, id="a number that may be zero"),
        pytest.param("core/v1.Binding", "target", 2, False, id="a message"),
        pytest.param("coordination/v1.LeaseSpec", "renewTime", 4, True, id="a time"),
        pytest.param("meta/v1.ObjectMeta", "labels", 11, False, id="a map"),
    ],
)
def test_numbers_in_protobuf(type_name: str, field: str, number: int, pointer: bool) -> None:
    table = find(type_name)
    assert table is not None
    found = table.fields[field]
    assert (found.number, found.pointer) == (number, pointer)
    assert table.by_number[number] is found


def test_how_lists_are_merged() -> None:
    spec = of_type("core/v1.PodSpec")
    ports = of_type("core/v1.Container").field("ports")
    volumes = spec.field("volumes")
    tolerations = spec.field("tolerations")
    assert ports is not None
    assert volumes is not None
    assert tolerations is not None
    assert (ports.merge_key, ports.list_keys) == ("containerPort", ("containerPort", "protocol"))
    assert ports.key_default("protocol") == "TCP"
    assert volumes.strategies == {"merge", "retainKeys"}
    assert tolerations.atomic


def test_shapes_of_a_custom_resource() -> None:
    schema: dict[str, object] = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "rules": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"],
                        "items": {"type": "object", "properties": {"name": {"type": "string"}}},
                    },
                    "hosts": {"type": "array", "items": {"type": "string"}},
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    "limits": {"type": "object", "additionalProperties": {"type": "integer"}},
                },
            }
        },
    }
    kind = next(iter(builtin_kinds()))
    custom = type(kind)("example.com", "v1", "widgets", "Widget", True, custom_schema=schema)
    shape = of_kind(custom)
    spec = shape.field("spec")
    assert spec is not None
    assert shape.field("metadata") == of_type("meta/v1.ObjectMeta")
    assert shape.field("data") is None
    rules, hosts, free, limits = (spec.field(n) for n in ("rules", "hosts", "free", "limits"))
    assert rules is not None
    assert rules.list_keys == ("name",)
    assert hosts is not None
    assert hosts.atomic
    assert free is not None
    assert free.field("anything") is ANY
    assert limits is not None
    assert limits.form == "map"
    assert limits.element().type == "integer"
