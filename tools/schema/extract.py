"""Writes the tables of field names under src/bayplan/embedded/schema from Kubernetes' published API description.

    python tools/schema/extract.py FOLDER_WITH_OPENAPI_V3_JSON FOLDER_WITH_STAGING_SRC src/bayplan/embedded/schema/tables

The staging sources are the modules k8s.io/{api,apimachinery,apiextensions-apiserver} as the Go module cache holds them:
``generated.proto`` has the numbers, ``types.go`` tells which fields are pointers. Read by nobody at run time. Run it when the embedded API is to speak a newer release of Kubernetes; only names, types,
numbers and merge rules are taken. The format is described in src/bayplan/embedded/schema/types.py.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

PACKAGES = {
    "io.k8s.api.core.v1": "core/v1",
    "io.k8s.api.apps.v1": "apps/v1",
    "io.k8s.api.batch.v1": "batch/v1",
    "io.k8s.api.policy.v1": "policy/v1",
    "io.k8s.api.scheduling.v1": "scheduling/v1",
    "io.k8s.api.scheduling.v1alpha2": "scheduling/v1alpha2",
    "io.k8s.api.storage.v1": "storage/v1",
    "io.k8s.api.coordination.v1": "coordination/v1",
    "io.k8s.api.events.v1": "events/v1",
    "io.k8s.api.rbac.v1": "rbac/v1",
    "io.k8s.api.autoscaling.v1": "autoscaling/v1",
    "io.k8s.api.autoscaling.v2": "autoscaling/v2",
    "io.k8s.api.resource.v1": "resource/v1",
    "io.k8s.api.networking.v1": "networking/v1",
    "io.k8s.api.discovery.v1": "discovery/v1",
    "io.k8s.api.node.v1": "node/v1",
    "io.k8s.api.authentication.v1": "authentication/v1",
    "io.k8s.api.authorization.v1": "authorization/v1",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1": "apiextensions/v1",
    "io.k8s.apimachinery.pkg.apis.meta.v1": "meta/v1",
}
PROTO = {
    "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1": "apiextensions/v1",
    "k8s.io.apimachinery.pkg.apis.meta.v1": "meta/v1",
} | {name.removeprefix("io."): f"k8s.{alias}" for name, alias in PACKAGES.items()}
PROTO = {
    (
        name if name.startswith("k8s.io.") else "k8s.io." + name.removeprefix("k8s.")
    ): alias.removeprefix("k8s.")
    for name, alias in PROTO.items()
}
LEAVES = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "Quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "IntOrString",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "RawExtension",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "Time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "MicroTime",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "FieldsV1",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Duration": "Duration",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": "JSON",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": "JSON",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": "JSON",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": "JSON",
}
PROTO_LEAVES = {name.split(".")[-1]: leaf for name, leaf in LEAVES.items()}


def reference(name: str, here: str) -> str:
    if name in LEAVES:
        return LEAVES[name]
    package, _, short = name.rpartition(".")
    alias = PACKAGES.get(package)
    if alias is None:
        return "object"
    return short if alias == here else f"{alias}.{short}"


def type_of(schema: dict[str, Any], here: str) -> str:  # noqa: PLR0911 - one per type
    if "$ref" in schema:
        return reference(schema["$ref"].rpartition("/")[2], here)
    if "allOf" in schema:
        return type_of(schema["allOf"][0], here)
    match schema.get("type"):
        case "array":
            return "[]" + type_of(schema["items"], here)
        case "object" if "additionalProperties" in schema:
            return "map[]" + type_of(schema["additionalProperties"], here)
        case "object":
            return "object"
        case "string":
            return {"byte": "bytes"}.get(schema.get("format", ""), "string")
        case "integer":
            return str(schema.get("format", "int64"))
        case "number":
            return "double"
        case "boolean":
            return "bool"
    return "JSON"


def flags_of(schema: dict[str, Any]) -> list[str]:
    flags = []
    if strategy := schema.get("x-kubernetes-patch-strategy"):
        key = schema.get("x-kubernetes-patch-merge-key", "")
        flags.append(f"patch={strategy}" + (f":{key}" if key else ""))
    if kind := schema.get("x-kubernetes-list-type"):
        keys = ",".join(schema.get("x-kubernetes-list-map-keys", []))
        flags.append(f"list={kind}" + (f":{keys}" if keys else ""))
    if kind := schema.get("x-kubernetes-map-type"):
        flags.append(f"map={kind}")
    default = schema.get("default")
    if default not in (None, {}, [], "", 0, False):
        flags.append("default=" + json.dumps(default))
    return flags


def proto_type(text: str, here: str) -> str:
    if text.startswith("map<"):
        return "map[]" + proto_type(text[4:-1].split(",")[1].strip(), here)
    if text in {"string", "int32", "int64", "bool", "double", "bytes"}:
        return text
    short = text.rpartition(".")[2]
    if short in PROTO_LEAVES:
        return PROTO_LEAVES[short]
    if "." not in text:
        return short
    alias = PROTO.get(text.lstrip(".").rpartition(".")[0])
    return "object" if alias is None else short if alias == here else f"{alias}.{short}"


def read_proto(staging: Path) -> dict[str, dict[str, dict[str, tuple[int, str]]]]:
    """Per alias and message: field -> (number, type)."""
    found: dict[str, dict[str, dict[str, tuple[int, str]]]] = {}
    for path in sorted(staging.rglob("generated.proto")):
        text = path.read_text(encoding="utf-8")
        package = re.search(r"^package ([\w.]+);", text, re.M)
        alias = PROTO.get(package[1]) if package else None
        if alias is None:
            continue
        messages: dict[str, dict[str, tuple[int, str]]] = {}
        for name, body in re.findall(r"^message (\w+) \{\n(.*?)^\}", text, re.M | re.S):
            fields = re.findall(
                r"^  (optional |repeated |)(map<[^>]*>|[\w.]+) (\w+) = (\d+);", body, re.M
            )
            messages[name] = {
                field: (
                    int(number),
                    ("[]" if label == "repeated " else "") + proto_type(kind, alias),
                )
                for label, kind, field, number in fields
            }
        found[alias] = messages
    return found


def read_pointers(staging: Path) -> dict[tuple[str, str], set[str]]:
    """Per alias and type: the fields that are pointers in Go, for which zero is not the same as absent."""
    found: dict[tuple[str, str], set[str]] = {}
    embedded: dict[tuple[str, str], list[str]] = {}
    for proto in sorted(staging.rglob("generated.proto")):
        package = re.search(r"^package ([\w.]+);", proto.read_text(encoding="utf-8"), re.M)
        alias = PROTO.get(package[1]) if package else None
        if alias is None:
            continue
        text = "\n".join(
            path.read_text(encoding="utf-8")
            for path in sorted(proto.parent.glob("*.go"))
            if not path.name.startswith(("zz_", "generated", "types_swagger"))
        )
        for name, body in re.findall(r"^type (\w+) struct \{\n(.*?)^\}", text, re.M | re.S):
            found[alias, name] = set(re.findall(r'^\s+\w+\s+\*[^`]+`json:"([^",]+)', body, re.M))
            embedded[alias, name] = re.findall(r'^\s+([A-Z]\w+)\s+`json:",inline"', body, re.M)
    for (alias, name), parts in embedded.items():
        for part in parts:
            found[alias, name] |= found.get((alias, part), set())
    return found


def main(openapi: Path, staging: Path, out: Path) -> None:
    schemas: dict[str, Any] = {}
    for path in sorted(openapi.glob("*.json")):
        schemas |= (
            json.loads(path.read_text(encoding="utf-8")).get("components", {}).get("schemas", {})
        )
    protos = read_proto(staging)
    pointers = read_pointers(staging)
    out.mkdir(parents=True, exist_ok=True)
    for package, alias in PACKAGES.items():
        named = {
            name.rpartition(".")[2]: schema
            for name, schema in schemas.items()
            if name.rpartition(".")[0] == package and name not in LEAVES
        }
        messages = protos.get(alias, {})
        lines = [f"package {package}"]
        for name in sorted(named.keys() | messages.keys()):
            if name in PROTO_LEAVES and f"{package}.{name}" in LEAVES:
                continue
            made = type_lines(name, named.get(name), messages.get(name, {}), alias)
            lines += [starred(line, pointers.get((alias, name), set())) for line in made]
        (out / (alias.replace("/", ".") + ".txt")).write_text(
            "\n".join(lines) + "\n", encoding="utf-8"
        )


def bare(name: str) -> str:
    """``xKubernetesListType`` and ``x-kubernetes-list-type`` are one field; so are ``ref`` and ``$ref``."""
    return name.lstrip("$").replace("-", "").lower()


def starred(line: str, pointers: set[str]) -> str:
    field, _, rest = line.strip().partition(" ")
    return f"  {field} *{rest}" if line.startswith("  ") and field in pointers else line


def type_lines(
    name: str, schema: dict[str, Any] | None, message: dict[str, tuple[int, str]], alias: str
) -> list[str]:
    if schema is None:
        lines = [f"wire {name}"]
        return lines + [f"  {field} {kind} {number}" for field, (number, kind) in message.items()]
    head = f"type {name}"
    for flag in flags_of({key: value for key, value in schema.items() if key != "default"}):
        head += f" {flag}"
    lines = [head]
    rest = dict(message)
    for field, one in sorted(schema.get("properties", {}).items()):
        wire = next((one for one in rest if bare(one) == bare(field)), "")
        number, _ = rest.pop(wire, (0, ""))
        flags = (["required"] if field in schema.get("required", ()) else []) + flags_of(one)
        lines.append(" ".join([f"  {field}", type_of(one, alias), str(number), *flags]))
    lines += [f"  ~{field} {kind} {number}" for field, (number, kind) in rest.items()]
    return lines


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
