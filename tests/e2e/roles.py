"""The rights that the chart gives: as they are, less one, and as a set to compare."""

from __future__ import annotations

from bayplan.testing.control_plane import Obj
from tests.deploy.chart import RIGHTS, render

#: API group, resource, verb.
Rights = set[tuple[str, str, str]]


def documented() -> list[Obj]:
    """The service account of the chart as it comes, and its rights."""
    return render().of_kind(*RIGHTS)


def role_of(objects: list[Obj], kind: str = "ClusterRole") -> Obj:
    """The account's role of this kind."""
    (role,) = (
        obj for obj in objects if obj["kind"] == kind and obj["metadata"]["name"] == "bayplan"
    )
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
