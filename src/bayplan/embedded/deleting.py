"""How an object goes: at once, after a grace period, or when its finalizers are done.

``plan`` decides from the object and the request alone; the store carries it out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bayplan.embedded import refusals
from bayplan.embedded.objects import (
    Object,
    as_list,
    as_object,
    at,
    metadata,
    number_at,
    seconds_of,
    text_at,
    timestamp,
)

if TYPE_CHECKING:
    from bayplan.embedded.kinds import Kind

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"

_DEFAULT_GRACE_S: Final = 30


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """What a client asks for with a deletion."""

    grace_s: int | None = None
    uid: str = ""
    version: str = ""
    #: ``Foreground``, ``Background``, ``Orphan`` or empty.
    propagation: str = ""
    dry_run: bool = False

    @classmethod
    def of(cls, body: Object, query: dict[str, str] | None = None) -> DeleteOptions:
        """From a ``DeleteOptions`` body and the query, which is read where the body is silent."""
        query = query or {}
        grace: Any = body.get("gracePeriodSeconds")
        if grace is None and query.get("gracePeriodSeconds", "").lstrip("-").isdigit():
            grace = int(query["gracePeriodSeconds"])
        propagation = body.get("propagationPolicy") or query.get("propagationPolicy", "")
        if body.get("orphanDependents") is True or query.get("orphanDependents") == "true":
            propagation = "Orphan"
        preconditions = as_object(body.get("preconditions"))
        return cls(
            grace_s=max(grace, 1) if isinstance(grace, int) and grace < 0 else grace,
            uid=preconditions.get("uid") or "",
            version=preconditions.get("resourceVersion") or "",
            propagation=propagation,
            dry_run=bool(body.get("dryRun")) or bool(query.get("dryRun")),
        )


def check(kind: Kind, obj: Object, options: DeleteOptions) -> None:
    """Refuse to delete another object than the one that is meant.

    Raises:
        RequestRefused: 409.
    """
    uid, version = text_at(obj, "metadata", "uid"), text_at(obj, "metadata", "resourceVersion")
    name = text_at(obj, "metadata", "name")
    if options.uid and options.uid != uid:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({uid}). "
            "The object might have been deleted and then recreated"
        )
        raise refusals.conflict(kind.kind, kind.group, name, why)
    if options.version and options.version != version:
        why = (
            f"the ResourceVersion in the precondition ({options.version}) does not match the "
            f"ResourceVersion in record ({version}). The object might have been modified"
        )
        raise refusals.conflict(kind.kind, kind.group, name, why)


def mark(kind: Kind, obj: Object, options: DeleteOptions, now_s: float) -> bool:
    """Note in the object that it is to go; True where it can go at once.

    The object is changed in place. It is left as it is where the deletion adds nothing to one that is under way.
    """
    meta = metadata(obj)
    _note_propagation(meta, options.propagation)
    if kind.shelf == "pods" and not _mark_pod(obj, options.grace_s, now_s):
        return False
    if kind.shelf == "namespaces" and at(obj, "spec", "finalizers"):
        obj["status"] = as_object(obj.get("status")) | {"phase": "Terminating"}
        _stamp(meta, now_s, None)
        return False
    if as_list(meta.get("finalizers")):
        _stamp(meta, now_s, 0)
        return False
    return True


def is_over(kind: Kind, obj: Object) -> bool:
    """Whether an object that was to go has nothing left that holds it, as seen after an update."""
    meta = metadata(obj)
    if "deletionTimestamp" not in meta or as_list(meta.get("finalizers")):
        return False
    if kind.shelf == "namespaces":
        return not at(obj, "spec", "finalizers")
    return number_at(obj, "metadata", "deletionGracePeriodSeconds") == 0


def _stamp(meta: Object, now_s: float, grace_s: int | None) -> None:
    if "deletionTimestamp" not in meta:
        meta["deletionTimestamp"] = timestamp(now_s)
        if meta.get("generation"):
            meta["generation"] += 1
    if grace_s is not None:
        meta["deletionGracePeriodSeconds"] = grace_s


def _mark_pod(pod: Object, asked_s: int | None, now_s: float) -> bool:
    """True where nobody has to end containers first."""
    meta = metadata(pod)
    if "deletionTimestamp" not in meta:
        grace_s = _grace_of(pod, asked_s)
        _stamp(meta, now_s + grace_s, grace_s)
        return grace_s == 0
    pending_s = number_at(pod, "metadata", "deletionGracePeriodSeconds")
    if pending_s == 0:
        return True
    if asked_s is None or asked_s >= pending_s:
        return False
    if asked_s == 0:
        meta["deletionGracePeriodSeconds"] = 0
        return True
    # A grace period can only be made shorter, and the end moves with it, though not into the past.
    started_s = (seconds_of(str(meta["deletionTimestamp"])) or now_s) - pending_s
    ends_s = started_s + asked_s
    meta["deletionTimestamp"] = timestamp(max(ends_s, now_s))
    meta["deletionGracePeriodSeconds"] = asked_s if ends_s >= now_s else 1
    return False


def _grace_of(pod: Object, asked_s: int | None) -> int:
    if not text_at(pod, "spec", "nodeName"):
        return 0
    if text_at(pod, "status", "phase") in ("Succeeded", "Failed"):
        return 0
    if asked_s is not None:
        return asked_s
    own = at(pod, "spec", "terminationGracePeriodSeconds")
    if not isinstance(own, int):
        return _DEFAULT_GRACE_S
    return own if own >= 0 else 1


def _note_propagation(meta: Object, propagation: str) -> None:
    finalizer = {"Foreground": FOREGROUND, "Orphan": ORPHAN}.get(propagation)
    others = [one for one in as_list(meta.get("finalizers")) if one not in (FOREGROUND, ORPHAN)]
    if finalizer:
        meta["finalizers"] = [*others, finalizer]
    elif propagation and others != meta.get("finalizers", []):
        meta["finalizers"] = others
