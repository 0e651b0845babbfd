"""The OpenAPI documents: nothing dangles, and kubectl finds what it looks for."""

from __future__ import annotations

import json
import re
from typing import Any

from bayplan.embedded import openapi
from bayplan.embedded.builtin import builtin_kinds
from bayplan.embedded.kinds import Kind, Kinds

KINDS = Kinds(builtin_kinds())
WIDGET = Kind(
    "example.com",
    "v1",
    "widgets",
    "Widget",
    True,
    custom_schema={"type": "object", "properties": {"spec": {"type": "object"}}},
    subresources=("status",),
)


def documents() -> dict[str, Any]:
    return {
        openapi.path_of(group, version): openapi.document(kinds)
        for group, versions in KINDS.groups().items()
        for version, kinds in versions.items()
    } | {"apis/example.com/v1": openapi.document([WIDGET])}


def test_every_document_is_in_the_index() -> None:
    index = openapi.index([*KINDS, WIDGET])["paths"]
    assert set(index) == set(documents())
    assert index["apis/apps/v1"]["serverRelativeURL"].startswith("/openapi/v3/apis/apps/v1?hash=")


def test_the_hash_changes_with_the_schema() -> None:
    other = Kind("example.com", "v1", "widgets", "Widget", True, custom_schema={"type": "object"})
    assert openapi.index([WIDGET]) != openapi.index([other])


def test_no_reference_dangles() -> None:
    for path, document in documents().items():
        named = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)))
        assert named <= set(document["components"]["schemas"]), path


def test_every_kind_can_be_patched_with_validation() -> None:
    found = {
        tuple(item["patch"]["x-kubernetes-group-version-kind"].values())
        for document in documents().values()
        for item in document["paths"].values()
        if "patch" in item
        and {"fieldValidation", "dryRun"} <= {one["name"] for one in item["patch"]["parameters"]}
    }
    wanted = {(k.group, k.version, k.kind) for k in KINDS if not k.create_only}
    assert found == wanted | {("example.com", "v1", "Widget")}


def test_lists_say_how_they_are_merged() -> None:
    schemas = openapi.document(KINDS.groups()["apps"]["v1"])["components"]["schemas"]
    ports = schemas["io.k8s.api.core.v1.Container"]["properties"]["ports"]
    assert ports == {
        "type": "array",
        "items": {
            "allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.ContainerPort"}],
            "default": {},
        },
        "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
        "x-kubernetes-list-type": "map",
        "x-kubernetes-patch-merge-key": "containerPort",
        "x-kubernetes-patch-strategy": "merge",
    }
    kind = schemas["io.k8s.api.apps.v1.Deployment"]["x-kubernetes-group-version-kind"]
    assert kind == [{"group": "apps", "version": "v1", "kind": "Deployment"}]


def test_a_custom_resource_gets_its_schema() -> None:
    document = openapi.document([WIDGET])
    schema = document["components"]["schemas"]["com.example.v1.Widget"]
    assert set(schema["properties"]) == {"apiVersion", "kind", "metadata", "spec"}
    path = document["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]
    accepted = set(path["patch"]["requestBody"]["content"])
    assert "application/strategic-merge-patch+json" not in accepted
    assert "application/apply-patch+yaml" in accepted
