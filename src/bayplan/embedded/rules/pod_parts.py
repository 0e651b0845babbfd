"""Subresources of a pod that change what the pod itself may not: ``resize`` and ``ephemeralcontainers``.

Called by the store for a write to one of them: everything else of the pod stays what it was.
"""

from __future__ import annotations

from typing import Final

from bayplan.embedded import refusals
from bayplan.embedded.objects import Object, as_list, as_object, at, copy_of, metadata, text_at
from bayplan.embedded.rules.pod_defaults import quality_of_service

PARTS: Final = frozenset({"resize", "ephemeralcontainers"})


def with_part(pod: Object, old: Object, subresource: str) -> Object:
    """The pod as it was, with the part that a write to a subresource is about."""
    changed: Object = copy_of(old)
    metadata(changed)["resourceVersion"] = text_at(pod, "metadata", "resourceVersion")
    if "managedFields" in metadata(pod):
        metadata(changed)["managedFields"] = metadata(pod)["managedFields"]
    spec = as_object(changed.get("spec"))
    if subresource == "ephemeralcontainers":
        spec["ephemeralContainers"] = as_list(at(pod, "spec", "ephemeralContainers"))
        return changed
    for field in ("containers", "initContainers"):
        wanted = {text_at(one, "name"): one for one in as_list(at(pod, "spec", field))}
        for container in as_list(spec.get(field)):
            given = as_object(wanted.get(text_at(container, "name")))
            container["resources"] = as_object(given.get("resources"))
    if at(pod, "spec", "resources") is not None:
        spec["resources"] = at(pod, "spec", "resources")
    return changed


def check_part(pod: Object, old: Object, subresource: str) -> None:
    """Refuse a change of a part that is not possible.

    Raises:
        RequestRefused: 422.
    """
    name = text_at(old, "metadata", "name")
    if subresource == "resize":
        before = text_at(old, "status", "qosClass")
        if before and quality_of_service(pod) != before:
            said = "Pod QOS Class may not change as a result of resizing"
            problem = refusals.invalid_value("spec", before, said)
            raise refusals.invalid("Pod", "", name, [problem])
        return
    kept = as_list(at(pod, "spec", "ephemeralContainers"))
    for one in as_list(at(old, "spec", "ephemeralContainers")):
        if one not in kept:
            said = f'existing ephemeral containers "{text_at(one, "name")}" may not be removed'
            problem = refusals.forbidden_field("spec.ephemeralContainers", said)
            raise refusals.invalid("Pod", "", name, [problem])
