"""The rights in ``deploy/rbac.yaml``: as they are, less one, and as a set to compare."""

from __future__ import annotations

from pathlib import Path

import yaml

from bayplan.testing.control_plane import Obj

RBAC = Path(__file__).resolve().parents[2] / "deploy" / "rbac.yaml"

#: API group, resource, verb.
Rights = set[tuple[str, str, str]]


def documented() -> list[Obj]:
    """What the file has, as objects."""
    return list(yaml.safe_load_all(RBAC.read_text(encoding="utf-8")))


def role_of(objects: list[Obj], kind: str = "ClusterRole") -> Obj:
    """The one role of this kind."""
    (role,) = (obj for obj in objects if obj["kind"] == kind)
    return role


def rights(role: Obj) -> Rights:
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def without(verb: str, resource: str) -> list[Obj]:
    """The documented objects, with a cluster role that lacks one verb of one resource."""
    objects = documented()
    role = role_of(objects)
    role["rules"] = [
        {"apiGroups": [group], "resources": [each], "verbs": [right]}
        for group, each, right in sorted(rights(role))
        if (each, right) != (resource, verb)
    ]
    return objects
