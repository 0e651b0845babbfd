"""The paths in an OpenAPI document: which verbs a kind has, and which query parameters they take.

kubectl looks here whether the server validates fields, runs dry and patches strategically. Read by ``openapi``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from bayplan.embedded.objects import Object
from bayplan.embedded.patching import content_types

if TYPE_CHECKING:
    from bayplan.embedded.kinds import Kind

_REF: Final = "#/components/schemas/"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_JSON: Final = "application/json"

_WRITE: Final = ("dryRun", "fieldManager", "fieldValidation")
_LIST: Final = (
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
)
_DELETE: Final = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
_NUMBERS: Final = {"limit", "timeoutSeconds", "gracePeriodSeconds"}
_FLAGS: Final = {"allowWatchBookmarks", "sendInitialEvents", "watch", "force", "orphanDependents"}


def paths_of(kinds: Iterable[Kind], schemas: Mapping[str, str]) -> Object:
    """All paths of some kinds; ``schemas`` names the schema of each plural."""
    found: Object = {}
    for kind in kinds:
        root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
        schema = schemas[kind.plural]
        inside = f"{root}/namespaces/{{namespace}}" if kind.namespaced else root
        given = ["namespace"] if kind.namespaced else []
        found[f"{inside}/{kind.plural}"] = _collection(kind, schema, given)
        if kind.create_only:
            continue
        if kind.namespaced:
            lists = _operation(kind, "list", _LIST, f"{schema}List")
            found[f"{root}/{kind.plural}"] = {"get": lists}
        item = f"{inside}/{kind.plural}/{{name}}"
        found[item] = _item(kind, schema, [*given, "name"])
        for name in kind.subresources:
            if name in {"status", "scale"}:
                below = schema if name == "status" else "io.k8s.api.autoscaling.v1.Scale"
                found[f"{item}/{name}"] = _item(kind, below, [*given, "name"], whole=False)
    return found


def _collection(kind: Kind, schema: str, given: list[str]) -> Object:
    made: Object = {"parameters": [_in_path(name) for name in given]}
    if not kind.create_only:
        made["get"] = _operation(kind, "list", _LIST, f"{schema}List")
        made["delete"] = _operation(kind, "deletecollection", (*_LIST, *_DELETE), f"{_META}.Status")
    made["post"] = _operation(kind, "post", _WRITE, schema, body=schema)
    return made


def _item(kind: Kind, schema: str, given: list[str], *, whole: bool = True) -> Object:
    made: Object = {
        "parameters": [_in_path(name) for name in given],
        "get": _operation(kind, "get", (), schema),
        "put": _operation(kind, "put", _WRITE, schema, body=schema),
    }
    patch = _operation(kind, "patch", (*_WRITE, "force"), schema)
    body = {"schema": {"$ref": f"{_REF}{_META}.Patch"}}
    patch["requestBody"] = {
        "required": True,
        "content": dict.fromkeys(content_types(kind), body),
    }
    made["patch"] = patch
    if whole:
        made["delete"] = _operation(
            kind, "delete", _DELETE, f"{_META}.Status", body=f"{_META}.DeleteOptions"
        )
    return made


def _operation(
    kind: Kind, action: str, parameters: Iterable[str], answer: str, *, body: str = ""
) -> Object:
    made: Object = {
        "operationId": f"{action}{kind.version}{kind.kind}",
        "parameters": [_in_query(name) for name in parameters],
        "responses": {"200": {"description": "OK", "content": _content(answer)}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {
            "group": kind.group,
            "version": kind.version,
            "kind": kind.kind,
        },
    }
    if body:
        made["requestBody"] = {"content": _content(body)}
    return made


def _content(schema: str) -> Object:
    return {_JSON: {"schema": {"$ref": _REF + schema}}}


def _in_path(name: str) -> Object:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _in_query(name: str) -> Object:
    kind = "integer" if name in _NUMBERS else "boolean" if name in _FLAGS else "string"
    return {"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": True}}
