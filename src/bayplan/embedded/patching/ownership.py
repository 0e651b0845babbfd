"""Who wrote which field: ``metadata.managedFields`` read, updated and written.

Every write that is no apply goes through ``track``; ``server_side_apply`` uses the same pieces. Rules as in
apimachinery/pkg/util/managedfields.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from bayplan.embedded.objects import Object, as_list, at, metadata
from bayplan.embedded.patching.field_sets import Difference, FieldSet, Path, read, written
from bayplan.embedded.schema.shapes import of_kind

if TYPE_CHECKING:
    from bayplan.embedded.kinds import Kind

#: Update managers of one object; the oldest beyond that become one.
MAX_UPDATERS: Final = 10
_ANCIENT: Final = "ancient-changes"

_NOBODYS: Final[FieldSet] = frozenset(
    {
        ("f:apiVersion",),
        ("f:kind",),
        ("f:metadata",),
        *(
            ("f:metadata", f"f:{name}")
            for name in (
                "name",
                "namespace",
                "creationTimestamp",
                "selfLink",
                "uid",
                "generation",
                "managedFields",
                "resourceVersion",
            )
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Manager:
    """One entry's identity: the same program may appear once per operation, version and subresource."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""
    #: Updates of different times are different managers; applies are not.
    time: str = ""

    def __str__(self) -> str:
        text = f'"{self.name}"'
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        if self.operation == "Update":
            text += f" using {self.api_version}"
        return text

    def is_same(self, other: Manager) -> bool:
        """Whether this is the same manager, at whatever time."""
        return replace(self, time="") == replace(other, time="")


Managers = dict[Manager, FieldSet]


def managers_of(obj: object) -> Managers:
    """The entries of an object's ``managedFields``; what cannot be read is left out."""
    found: Managers = {}
    for one in as_list(at(obj, "metadata", "managedFields")):
        if not isinstance(one, dict) or one.get("fieldsType", "FieldsV1") != "FieldsV1":
            continue
        fields = read(one.get("fieldsV1"))
        if one.get("operation") not in {"Apply", "Update"} or not fields:
            continue
        who = Manager(
            str(one.get("manager", "")),
            one["operation"],
            str(one.get("apiVersion", "")),
            str(one.get("subresource", "")),
            str(one.get("time", "")),
        )
        found[who] = found.get(who, frozenset()) | fields
    return found


def write_managers(obj: Object, managers: Managers) -> None:
    """Put the entries back into the object: applies first, then by time."""
    ordered = sorted(
        managers,
        key=lambda who: (who.operation, who.time, who.name, who.api_version, who.subresource),
    )
    entries: list[Any] = []
    for who in ordered:
        if not managers[who]:
            continue
        entry: Object = {
            "manager": who.name,
            "operation": who.operation,
            "apiVersion": who.api_version,
        }
        if who.time:
            entry["time"] = who.time
        entry |= {"fieldsType": "FieldsV1", "fieldsV1": written(managers[who])}
        if who.subresource:
            entry["subresource"] = who.subresource
        entries.append(entry)
    if entries:
        metadata(obj)["managedFields"] = entries
    else:
        metadata(obj).pop("managedFields", None)


def own(fields: set[Path] | FieldSet, kind: Kind, subresource: str) -> FieldSet:
    """What of these a write can come to own: not the envelope, and not what this door does not write."""
    closed = "f:spec" if subresource == "status" else "f:status" if kind.has_status else ""
    return frozenset(path for path in fields - _NOBODYS if path[0] != closed)


def track(
    kind: Kind,
    before: Object | None,
    after: Object,
    *,
    manager: str,
    subresource: str = "",
    time: str,
) -> None:
    """Note in ``after`` who wrote what, for a create, an update or a patch that is no apply.

    ``after`` is the object as it will be stored, ``time`` a timestamp as in ``creationTimestamp``. Managed fields that
    the client sent along are taken as they are, which is how kubectl hands fields over; an empty list forgets all.
    """
    sent = at(after, "metadata", "managedFields")
    if not subresource and sent in ([], [{}]):
        metadata(after).pop("managedFields")
        return
    managers = managers_of(before) if subresource else managers_of(after) or managers_of(before)
    if before is not None and not managers:
        # Nobody's so far: it is not worth beginning in the middle of an object's life.
        metadata(after).pop("managedFields", None)
        return
    changes = Difference(bare(before), bare(after), of_kind(kind))
    taken = own(changes.touched, kind, subresource)
    kept = without(managers, changes)
    if taken:
        me = Manager(manager or "unknown", "Update", kind.api_version, subresource, time)
        for other in [other for other in kept if other.is_same(me)]:
            taken |= kept.pop(other)
        kept[me] = taken
    write_managers(after, _capped(kept))


def without(managers: Managers, changes: Difference) -> Managers:
    """What the managers still own once somebody else has made these changes."""
    gone = changes.modified | changes.added | changes.removed
    left = {who: fields - gone for who, fields in managers.items()}
    return {who: fields for who, fields in left.items() if fields}


def _capped(managers: Managers) -> Managers:
    updaters = sorted(
        (who for who in managers if who.operation == "Update"), key=lambda who: (who.time, who.name)
    )
    if len(updaters) <= MAX_UPDATERS:
        return managers
    for who in updaters[: len(updaters) - MAX_UPDATERS + 1]:
        ancient = Manager(_ANCIENT, "Update", who.api_version, time=who.time)
        fields = managers.pop(who)
        for other in [other for other in managers if other.is_same(ancient)]:
            fields |= managers.pop(other)
        managers[ancient] = fields
    return managers


def bare(obj: Object | None) -> Object:
    """An object without its managed fields, which nobody owns."""
    if not obj:
        return {}
    meta = {name: one for name, one in metadata(obj).items() if name != "managedFields"}
    return obj | {"metadata": meta}
