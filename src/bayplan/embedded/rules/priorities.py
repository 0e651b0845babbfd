"""Admission: what a PriorityClass means for a pod, and that there is one default at most.

Called by the store for new pods and for priority classes; reads the classes that there are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from bayplan.embedded import refusals
from bayplan.embedded.objects import Object, section, text_at
from bayplan.embedded.rules.validation import SYSTEM_PRIORITIES

if TYPE_CHECKING:
    from bayplan.embedded.shelves import Shelves
    from bayplan.errors import RequestRefused

SHELF: Final = "priorityclasses.scheduling.k8s.io"
#: Kubernetes' own groups, whose classes count as those of pods do.
GROUPS: Final = "podgroups.scheduling.k8s.io"

_DESCRIPTIONS: Final = {
    "system-node-critical": "Used for system critical pods that must not be moved from their current node.",
    "system-cluster-critical": (
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."
    ),
}


def system_classes() -> list[Object]:
    """The two that every cluster has."""
    return [
        {
            "kind": "PriorityClass",
            "apiVersion": "scheduling.k8s.io/v1",
            "metadata": {"name": name},
            "value": value,
            "description": _DESCRIPTIONS[name],
        }
        for name, value in SYSTEM_PRIORITIES.items()
    ]


def _default_class(shelves: Shelves) -> Object | None:
    """The default of the lowest value, if there is one."""
    found = [
        obj
        for entry in shelves[SHELF].entries.values()
        if (obj := entry.decode()).get("globalDefault") is True
    ]
    return min(found, key=lambda one: one.get("value") or 0, default=None)


def resolve(pod: Object, shelves: Shelves, resource: str = "pods") -> None:
    """Write a new pod's priority from its class.

    Raises:
        RequestRefused: 403, if there is no such class, or the pod says another priority.
    """
    spec = section(pod, "spec")
    pod_name = text_at(pod, "metadata", "name")
    found = _class_of(spec, shelves, partial(refusals.forbidden, resource, "", pod_name))
    value = (found or {}).get("value") or 0
    policy = (found or {}).get("preemptionPolicy") or "PreemptLowerPriority"
    given = spec.get("priority")
    if given is not None and given != value:
        why = (
            f"the integer value of priority ({given}) must not be provided in pod spec; "
            f"priority admission controller computed {value} from the given PriorityClass name"
        )
        raise refusals.forbidden(resource, "", pod_name, why)
    if spec.get("preemptionPolicy") not in (None, policy):
        why = (
            f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be provided in pod spec; "
            f"priority admission controller computed {policy} from the given PriorityClass name"
        )
        raise refusals.forbidden(resource, "", pod_name, why)
    spec["priority"] = value
    spec["preemptionPolicy"] = policy


def resolve_group(group: Object, shelves: Shelves) -> None:
    """Write a new PodGroup's priority from its class, as with the gate WorkloadAwarePreemption.

    Raises:
        RequestRefused: 403, if there is no such class, or the group says another priority.
    """
    spec = section(group, "spec")
    name = text_at(group, "metadata", "name")
    refuse = partial(refusals.forbidden, "podgroups", "scheduling.k8s.io", name)
    found = _class_of(spec, shelves, refuse)
    value = (found or {}).get("value") or 0
    given = spec.get("priority")
    if given is not None and given != value:
        raise refuse(
            f"priority set in the pod group ({given}) must match the priority computed ({value}) "
            "based on the priority class set in the spec"
        )
    spec["priority"] = value


def _class_of(
    spec: Object, shelves: Shelves, refuse: Callable[[str], RequestRefused]
) -> Object | None:
    """The class that a new object names, or the default, whose name is written into it."""
    name = text_at(spec, "priorityClassName")
    if name:
        entry = shelves[SHELF].entries.get(name)
        if entry is None:
            raise refuse(f"no PriorityClass with name {name} was found")
        return entry.decode()
    found = _default_class(shelves)
    if found is not None:
        spec["priorityClassName"] = found["metadata"]["name"]
    return found


def check_default(priority_class: Object, shelves: Shelves) -> None:
    """Refuse a second default.

    Raises:
        RequestRefused: 403.
    """
    if priority_class.get("globalDefault") is not True:
        return
    name = text_at(priority_class, "metadata", "name")
    default = _default_class(shelves)
    if default is not None and default["metadata"]["name"] != name:
        why = (
            f"PriorityClass {default['metadata']['name']} is already marked as default. "
            "Only one default can exist"
        )
        raise refusals.forbidden("priorityclasses", "scheduling.k8s.io", name, why)
