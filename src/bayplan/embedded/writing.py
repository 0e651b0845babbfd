"""What the server does to an object's metadata when it is written, whatever its kind.

Pure functions over plain objects, called by the store: names and uids at creation, what a client cannot change
afterwards, the split between an object and its status, and counting generations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from bayplan.embedded import refusals
from bayplan.embedded.objects import Object, copy_of, key_of, metadata, number_at, text_at

if TYPE_CHECKING:
    from bayplan.embedded.kinds import Kind

#: What is appended to ``generateName``: letters that look like nothing else and spell no words.
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX: Final = 5
#: A generated name is at most this long before its suffix.
_LONGEST_BASE: Final = 63 - _SUFFIX

#: A client sets none of these.
_SERVERS_OWN: Final = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
)

#: Resources whose status subresource may change labels and annotations too.
_STATUS_WITH_LABELS: Final = frozenset({"pods", "nodes"})


def check_place(kind: Kind, obj: Object, namespace: str, name: str = "") -> None:
    """Fill in the namespace and name that the URL gives, and refuse an object that names others.

    Raises:
        RequestRefused: 400.
    """
    meta = metadata(obj)
    if kind.namespaced:
        if meta.setdefault("namespace", namespace) != namespace:
            raise refusals.bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
    else:
        meta.pop("namespace", None)
    if name and meta.setdefault("name", name) != name:
        raise refusals.bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL ({name})"
        )


def begin(kind: Kind, obj: Object, stamp: str, uid: str, name_from: Callable[[str], str]) -> None:
    """Make a new object's metadata: name, uid, time, generation; without a status unless the kind takes one.

    ``name_from`` makes a name of ``generateName``.

    Raises:
        RequestRefused: the object carries a resourceVersion.
    """
    meta = metadata(obj)
    if meta.pop("resourceVersion", "") not in ("", "0", None):
        raise refusals.plain_error("resourceVersion should not be set on objects to be created")
    for field in _SERVERS_OWN:
        meta.pop(field, None)
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = name_from(str(meta["generateName"]))
    meta["uid"] = uid
    meta["creationTimestamp"] = stamp
    if kind.has_generation:
        meta["generation"] = 1
    if kind.has_status and not kind.creates_status:
        obj.pop("status", None)


def generated(base: str, below: Callable[[int], int]) -> str:
    """A name from ``generateName``."""
    letters = "".join(_LETTERS[below(len(_LETTERS))] for _ in range(_SUFFIX))
    return base[:_LONGEST_BASE] + letters


def carry_on(kind: Kind, obj: Object, old: Object) -> None:
    """Give an object the metadata that only the server changes, from the state before."""
    meta, before = metadata(obj), metadata(old)
    for field in _SERVERS_OWN:
        if field in before:
            meta[field] = before[field]
        else:
            meta.pop(field, None)
    if kind.has_generation:
        meta["generation"] = number_at(old, "metadata", "generation") or 1
    if "managedFields" not in meta and "managedFields" in before:
        meta["managedFields"] = before["managedFields"]
    if "generateName" in before:
        meta["generateName"] = before["generateName"]


def split(kind: Kind, obj: Object, old: Object, subresource: str) -> Object:
    """The object as it may be written: without its status, or as ``status`` subresource with nothing else."""
    if not kind.has_status:
        return obj
    if subresource != "status":
        _take(obj, old, "status")
        return obj
    merged: Object = copy_of(old) | {"status": obj.get("status", {})}
    if "status" not in obj:
        del merged["status"]
    kept, given = metadata(merged), metadata(obj)
    fields = ["managedFields", "finalizers"]
    if kind.shelf in _STATUS_WITH_LABELS:
        fields += ["labels", "annotations"]
    for field in fields:
        if field in given:
            kept[field] = given[field]
    kept["resourceVersion"] = given.get("resourceVersion", "")
    return merged


def _take(obj: Object, source: Object, field: str) -> None:
    if field in source:
        obj[field] = source[field]
    else:
        obj.pop(field, None)


def count_generation(kind: Kind, obj: Object, old: Object) -> None:
    """Count the change if it is one of what the object should be."""
    if not kind.has_generation:
        return
    apart = {"metadata", "status"} if kind.has_status else {"metadata"}
    if {k: v for k, v in obj.items() if k not in apart} != {
        k: v for k, v in old.items() if k not in apart
    }:
        metadata(obj)["generation"] = number_at(old, "metadata", "generation") + 1


def check_version(kind: Kind, obj: Object, old: Object) -> None:
    """Refuse a write that was made from another state than the current one.

    Raises:
        RequestRefused: 409, or 422 where the kind insists on a version.
    """
    given = text_at(obj, "metadata", "resourceVersion")
    name = text_at(old, "metadata", "name")
    if given in ("", "0"):
        if kind.needs_version:
            problem = refusals.invalid_value(
                "metadata.resourceVersion", 0, "must be specified for an update"
            )
            raise refusals.invalid(kind.plural, kind.group, name, [problem])
        return
    if given != text_at(old, "metadata", "resourceVersion"):
        raise refusals.conflict(kind.plural, kind.group, name)


def check_uid(kind: Kind, obj: Object, old: Object) -> None:
    """Refuse a write that is meant for an earlier object of the name.

    Raises:
        RequestRefused: 409.
    """
    given, real = text_at(obj, "metadata", "uid"), text_at(old, "metadata", "uid")
    if not given or given == real:
        return
    name, namespace = text_at(old, "metadata", "name"), text_at(old, "metadata", "namespace")
    why = (
        f"StorageError: invalid object, Code: 4, Key: /registry/{kind.plural}/{key_of(namespace, name)}, "
        "ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {given}, UID in object meta: {real}"
    )
    raise refusals.conflict(kind.plural, kind.group, name, why)


def check_patched_uid(kind: Kind, obj: Object, old: Object) -> None:
    """The same for a patch, where kube-apiserver says it in other words.

    Raises:
        RequestRefused: 422.
    """
    given = text_at(obj, "metadata", "uid")
    if given and given != text_at(old, "metadata", "uid"):
        problem = refusals.invalid_value("metadata.uid", given, "field is immutable")
        raise refusals.invalid(kind.kind, kind.group, text_at(old, "metadata", "name"), [problem])
