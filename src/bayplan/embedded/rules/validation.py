"""What is wrong with an object, kind by kind; ``pod_validation`` has the pods.

The store asks before each write. Kinds that are not named here are checked for their metadata only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from bayplan.embedded import refusals
from bayplan.embedded.objects import Object, as_list, as_object, at, metadata, text_at
from bayplan.embedded.refusals import (
    FieldProblem,
    forbidden_field,
    invalid_value,
    required,
    unsupported_value,
)
from bayplan.embedded.rules import custom_schemas
from bayplan.embedded.rules.matching import selects
from bayplan.embedded.rules.names import metadata_problems
from bayplan.embedded.rules.pod_group_validation import group_problems, workload_problems
from bayplan.embedded.rules.pod_validation import pod_problems, template_problems
from bayplan.embedded.rules.quantities import amount_problems
from bayplan.errors import QuantityError, RequestRefused
from bayplan.model.label_syntax import key_problems

if TYPE_CHECKING:
    from bayplan.embedded.kinds import Kind

_Check = Callable[[Object, Object | None], list[FieldProblem]]

#: What a PriorityClass of a user may have at most; above it are the system's.
_HIGHEST_PRIORITY: Final = 1_000_000_000
SYSTEM_PRIORITIES: Final = {
    "system-node-critical": 2_000_001_000,
    "system-cluster-critical": 2_000_000_000,
}

_IMMUTABLE: Final = "field is immutable"


def check(kind: Kind, obj: Object, old: Object | None = None) -> None:
    """Refuse an object that breaks a rule, or a change that is not possible.

    Raises:
        RequestRefused: 422 with every problem, or 400 where a value cannot be read at all.
    """
    _check_shape(kind, obj)
    found = metadata_problems(kind, obj)
    if old is not None:
        found += _finalizer_problems(obj, old)
    if kind.custom_schema is not None:
        found += custom_schemas.problems(obj, kind.custom_schema)
    rule = _CHECKS.get(kind.shelf)
    if rule is not None:
        try:
            found += rule(obj, old)
        except QuantityError as error:
            raise _unreadable(kind, error.message) from error
    if found:
        name = text_at(obj, "metadata", "name")
        raise refusals.invalid(kind.kind, kind.group, name, found)


def _unreadable(kind: Kind, why: str) -> RequestRefused:
    return refusals.bad_request(
        f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {why}'
    )


_TEXT_FIELDS: Final = ("name", "generateName", "namespace", "uid", "resourceVersion")


def _check_shape(kind: Kind, obj: Object) -> None:
    """Refuse metadata whose fields have other types than everything here takes for granted."""
    meta = metadata(obj)
    for field in _TEXT_FIELDS:
        if meta.get(field) is not None and not isinstance(meta[field], str):
            raise _unreadable(kind, f"metadata.{field}: expected string, got {meta[field]!r}")
    for field in ("labels", "annotations"):
        given = meta.get(field)
        if given is None:
            meta.pop(field, None)
        elif not _is_map_of_strings(given):
            why = f"metadata.{field}: expected a map of strings, got {refusals.shown(given)}"
            raise _unreadable(kind, why)
    for field in ("finalizers", "ownerReferences"):
        if not isinstance(meta.get(field, []), list):
            raise _unreadable(kind, f"metadata.{field}: expected a list")
    for field in ("spec", "status"):
        if obj.get(field) is None:
            obj.pop(field, None)
        elif kind.schema_type and not isinstance(obj[field], dict):
            raise _unreadable(kind, f"{field}: expected an object")


def _is_map_of_strings(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


def _finalizer_problems(obj: Object, old: Object) -> list[FieldProblem]:
    if "deletionTimestamp" not in metadata(old):
        return []
    before = as_list(metadata(old).get("finalizers"))
    added = [one for one in as_list(metadata(obj).get("finalizers")) if one not in before]
    if not added:
        return []
    listed = ", ".join(f'"{one}"' for one in sorted(added))
    said = (
        "no new finalizers can be added if the object is being deleted, "
        f"found new finalizers []string{{{listed}}}"
    )
    return [forbidden_field("metadata.finalizers", said)]


def immutable(obj: Object, old: Object | None, *path: str) -> list[FieldProblem]:
    """A field that stays what it was at creation."""
    if old is None or at(obj, *path) == at(old, *path):
        return []
    return [invalid_value(".".join(path), at(obj, *path), _IMMUTABLE)]


def _priority_class(obj: Object, old: Object | None) -> list[FieldProblem]:
    name, value = text_at(obj, "metadata", "name"), obj.get("value") or 0
    if not isinstance(value, int):
        return [invalid_value("value", value, "must be an integer")]
    if old is not None:
        found = immutable(obj, old, "preemptionPolicy")
        if value != (old.get("value") or 0):
            found.append(forbidden_field("value", "may not be changed in an update."))
        return found
    if name.startswith("system-"):
        said = (
            "priority class names with 'system-' prefix are reserved for system use only. error: "
        )
        if name not in SYSTEM_PRIORITIES:
            why = f"{name} is not a known system priority class"
        elif value != SYSTEM_PRIORITIES[name]:
            why = f"value of {name} PriorityClass must be {SYSTEM_PRIORITIES[name]}"
        else:
            return []
        return [forbidden_field("metadata.name", said + why)]
    if value > _HIGHEST_PRIORITY:
        said = f"maximum allowed value of a user defined priority is {_HIGHEST_PRIORITY}"
        return [forbidden_field("value", said)]
    policy, known = obj.get("preemptionPolicy"), ("Never", "PreemptLowerPriority")
    return [] if policy in known else [unsupported_value("preemptionPolicy", policy, known)]


def _selecting(obj: Object, old: Object | None) -> list[FieldProblem]:
    """A workload: its selector picks its own template's pods and never changes."""
    selector = at(obj, "spec", "selector")
    found: list[FieldProblem] = []
    replicas = at(obj, "spec", "replicas")
    if isinstance(replicas, int) and replicas < 0:
        said = "must be greater than or equal to 0"
        found.append(invalid_value("spec.replicas", replicas, said))
    if not isinstance(selector, dict):
        found.append(required("spec.selector"))
    elif not selector:
        said = "empty selector is invalid for deployment"
        found.append(invalid_value("spec.selector", selector, said))
    labels = as_object(at(obj, "spec", "template", "metadata", "labels"))
    if not selects(selector, labels):
        said = "`selector` does not match template `labels`"
        found.append(invalid_value("spec.template.metadata.labels", labels, said))
    found += template_problems(obj)
    return found + immutable(obj, old, "spec", "selector")


def _job(obj: Object, old: Object | None) -> list[FieldProblem]:
    found = template_problems(obj)
    policy = at(obj, "spec", "template", "spec", "restartPolicy")
    if policy not in ("OnFailure", "Never"):
        said = 'valid values: "OnFailure", "Never"'
        found.append(required("spec.template.spec.restartPolicy", said))
    if old is not None and not at(old, "spec", "suspend"):
        found += immutable(obj, old, "spec", "template")
    return found + immutable(obj, old, "spec", "selector")


def _node(obj: Object, _old: Object | None) -> list[FieldProblem]:
    found: list[FieldProblem] = []
    for side in ("capacity", "allocatable"):
        for name, amount in as_object(at(obj, "status", side)).items():
            found += amount_problems(amount, f"status.{side}[{name}]")
    known = ("NoSchedule", "PreferNoSchedule", "NoExecute")
    for number, taint in enumerate(as_list(at(obj, "spec", "taints"))):
        where = f"metadata.taints[{number}]"
        key, effect = text_at(taint, "key"), text_at(taint, "effect")
        found += [invalid_value(f"{where}.key", key, said) for said in key_problems(key)]
        if not effect:
            found.append(required(f"{where}.effect"))
        elif effect not in known:
            found.append(unsupported_value(f"{where}.effect", effect, known))
    return found


def _budget(obj: Object, _old: Object | None) -> list[FieldProblem]:
    spec = as_object(obj.get("spec"))
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        said = "minAvailable and maxUnavailable cannot be both set"
        return [invalid_value("spec", spec, said)]
    return []


_MODES: Final = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")


def _access_modes(spec: Object) -> list[FieldProblem]:
    modes = as_list(spec.get("accessModes"))
    if not modes:
        return [required("spec.accessModes", "at least 1 access mode is required")]
    return [
        unsupported_value("spec.accessModes", one, _MODES) for one in modes if one not in _MODES
    ]


def _claim(obj: Object, _old: Object | None) -> list[FieldProblem]:
    found = _access_modes(as_object(obj.get("spec")))
    size: Any = at(obj, "spec", "resources", "requests", "storage")
    where = "spec.resources[storage]"
    return found + ([required(where)] if size is None else amount_problems(size, where))


def _volume(obj: Object, _old: Object | None) -> list[FieldProblem]:
    found = _access_modes(as_object(obj.get("spec")))
    size: Any = at(obj, "spec", "capacity", "storage")
    where = "spec.capacity[storage]"
    return found + ([required(where)] if size is None else amount_problems(size, where))


def _storage_class(obj: Object, old: Object | None) -> list[FieldProblem]:
    found = [] if obj.get("provisioner") else [required("provisioner")]
    known = ("Immediate", "WaitForFirstConsumer")
    if obj.get("volumeBindingMode") not in known:
        given = obj.get("volumeBindingMode")
        found.append(unsupported_value("volumeBindingMode", given, known))
    if old is not None:
        found += [
            forbidden_field(field, f"updates to {field} are forbidden.")
            for field in ("provisioner", "parameters", "volumeBindingMode", "reclaimPolicy")
            if obj.get(field) != old.get(field)
        ]
    return found


def _definition(obj: Object, old: Object | None) -> list[FieldProblem]:
    """A CustomResourceDefinition."""
    spec = as_object(obj.get("spec"))
    found = [
        required(f"spec.{path}")
        for path in ("group", "scope", "names.plural", "names.kind")
        if not text_at(spec, *path.split("."))
    ]
    name, group = text_at(obj, "metadata", "name"), text_at(spec, "group")
    if not found and name != f"{text_at(spec, 'names', 'plural')}.{group}":
        said = 'must be spec.names.plural+"."+spec.group'
        found.append(invalid_value("metadata.name", name, said))
    if spec.get("scope") not in (None, "Namespaced", "Cluster"):
        known = ("Cluster", "Namespaced")
        found.append(unsupported_value("spec.scope", spec["scope"], known))
    versions = [as_object(one) for one in as_list(spec.get("versions"))]
    if sum(one.get("storage") is True for one in versions) != 1:
        said = "must have exactly one version marked as storage version"
        found.append(invalid_value("spec.versions", versions, said))
    for number, one in enumerate(versions):
        if not isinstance(at(one, "schema", "openAPIV3Schema"), dict):
            where = f"spec.versions[{number}].schema.openAPIV3Schema"
            found.append(required(where, "schemas are required"))
    return found + immutable(obj, old, "spec", "scope")


def _lease(obj: Object, _old: Object | None) -> list[FieldProblem]:
    found = []
    for field in ("leaseDurationSeconds", "leaseTransitions"):
        value = at(obj, "spec", field)
        least = 1 if field == "leaseDurationSeconds" else 0
        if isinstance(value, int) and value < least:
            said = "must be greater than 0" if least else "must be greater than or equal to 0"
            found.append(invalid_value(f"spec.{field}", value, said))
    return found


_CHECKS: Final[dict[str, _Check]] = {
    "pods": pod_problems,
    "nodes": _node,
    "deployments.apps": _selecting,
    "replicasets.apps": _selecting,
    "statefulsets.apps": _selecting,
    "daemonsets.apps": _selecting,
    "jobs.batch": _job,
    "priorityclasses.scheduling.k8s.io": _priority_class,
    "podgroups.scheduling.k8s.io": group_problems,
    "workloads.scheduling.k8s.io": workload_problems,
    "poddisruptionbudgets.policy": _budget,
    "persistentvolumeclaims": _claim,
    "persistentvolumes": _volume,
    "storageclasses.storage.k8s.io": _storage_class,
    "leases.coordination.k8s.io": _lease,
    "customresourcedefinitions.apiextensions.k8s.io": _definition,
}
