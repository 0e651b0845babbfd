"""Server-side apply: a client says which fields it wants, and owns them from then on.

Read by ``bayplan.embedded.patching``. What is applied is merged into the object; what the same client applied before and
no longer names, and nobody else owns, goes; what somebody else owns and would change is a conflict, unless forced.
Rules and messages as in structured-merge-diff v6 and apimachinery/pkg/util/managedfields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from bayplan.embedded import refusals
from bayplan.embedded.objects import Object, at, copy_of, text_at
from bayplan.embedded.patching.field_sets import (
    Difference,
    FieldSet,
    Path,
    fields_of,
    item_key,
    shown,
)
from bayplan.embedded.patching.ownership import (
    Manager,
    Managers,
    bare,
    managers_of,
    own,
    without,
    write_managers,
)
from bayplan.embedded.schema.checking import tidy, unknown_fields
from bayplan.embedded.schema.shapes import ANY, Shape, of_kind
from bayplan.errors import RequestRefused

if TYPE_CHECKING:
    from bayplan.embedded.kinds import Kind

#: Owns what was there before anybody applied anything.
_BEFORE: Final = "before-first-apply"


def apply(  # noqa: PLR0913 - the facts of one request
    kind: Kind,
    current: Object | None,
    config: Object,
    *,
    manager: str,
    force: bool = False,
    subresource: str = "",
    time: str = "",
) -> Object:
    """The object after an apply, with its managed fields; ``current`` is None where there is none yet.

    Raises:
        RequestRefused: 400 and 500 for a configuration that cannot be applied, 409 for fields that others own.
    """
    _check(kind, current, config)
    live = bare(current)
    config = bare(config)
    shape = of_kind(kind)
    managers = managers_of(current)
    if current is not None and not managers:
        first = Manager(_BEFORE, "Update", kind.api_version, time=time)
        managers[first] = own(Difference({}, live, shape).touched, kind, subresource)
    claimed = own(fields_of(config, shape), kind, subresource)
    last, others = _apart(managers, Manager(manager, "Apply", kind.api_version, subresource))
    owned: set[Path] = set(claimed).union(*others.values())
    merged: Object = _merged(copy_of(live), config, shape)
    _prune(merged, shape, frozenset().union(*last.values()), owned)
    changes = Difference(live, merged, shape)
    conflicts = {who: fields & changes.touched for who, fields in others.items()}
    if not force and any(conflicts.values()):
        raise _conflict({who: fields for who, fields in conflicts.items() if fields})
    result = without(others, changes)
    # Whoever changes nothing gets no new time.
    before = next(iter(last)).time if last else ""
    when = before if merged == live else time
    result[Manager(manager, "Apply", kind.api_version, subresource, when)] = claimed
    write_managers(merged, result)
    tidy(merged, shape)
    return merged


def _check(kind: Kind, current: Object | None, config: Object) -> None:
    version = text_at(config, "apiVersion")
    if version != kind.api_version:
        raise refusals.bad_request(
            "Incorrect version specified in apply patch. "
            f"Specified patch version: {version}, expected: {kind.api_version}"
        )
    if at(config, "metadata", "managedFields") is not None:
        raise refusals.bad_request("metadata.managedFields must be nil")
    unknown = unknown_fields(kind, config) if kind.schema_type else []
    if unknown:
        namespace, name = (text_at(config, "metadata", field) for field in ("namespace", "name"))
        raise RequestRefused(
            500,
            "",
            f"failed to create typed patch object ({namespace}/{name}; "
            f"{kind.group}/{kind.version}, Kind={kind.kind}): "
            + ", ".join(f".{field}: field not declared in schema" for field in unknown),
        )
    sent = text_at(config, "metadata", "resourceVersion")
    if sent and sent != text_at(current, "metadata", "resourceVersion"):
        name = text_at(config, "metadata", "name")
        raise refusals.conflict(kind.plural, kind.group, name)


def _apart(managers: Managers, me: Manager) -> tuple[Managers, Managers]:
    """My last entry, if there is one, and everybody else's."""
    mine = {who: fields for who, fields in managers.items() if who.is_same(me)}
    return mine, {who: fields for who, fields in managers.items() if who not in mine}


def _merged(live: Any, config: Any, shape: Shape) -> Any:
    if shape.atomic or shape.form == "leaf" or type(live) is not type(config):
        return _without_nulls(config)
    if isinstance(config, dict):
        for name, value in config.items():
            below = shape.field(name) or ANY
            if value is None:
                live.pop(name, None)
            else:
                live[name] = _merged(live.get(name), value, below)
        return live
    if isinstance(config, list) and shape.form == "list":
        return _merged_items(live, config, shape)
    return config


def _merged_items(live: list[Any], config: list[Any], shape: Shape) -> list[Any]:
    """Items of both: those of the configuration in its order, the others before whatever they stood before."""
    wanted: dict[str, Any] = {}
    for one in config:
        key = item_key(one, shape)
        if key in wanted:
            raise refusals.bad_request(f"duplicate entries for key [{key.partition(':')[2]}]")
        wanted[key] = one
    items = {item_key(one, shape): one for one in live}
    shared = [key for key in wanted if key in items]
    mine, theirs = list(wanted), list(items)
    result: list[Any] = []
    while mine or theirs:
        if theirs and theirs[0] not in wanted:
            result.append(items[theirs.pop(0)])
        elif theirs and (not shared or theirs[0] != shared[0]):
            # Ours as well, and the configuration has it elsewhere.
            theirs.pop(0)
        else:
            key = mine.pop(0)
            result.append(_merged(items.get(key), wanted[key], shape.element()))
            if shared and key == shared[0]:
                shared.pop(0)
    return result


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(one) for name, one in value.items() if one is not None}
    return value


def _prune(obj: Object, shape: Shape, last: FieldSet, owned: set[Path]) -> None:
    """Take away what was applied last time and has no owner any more.

    Whoever owns a field keeps the structs that it is in, but not the list item: that has an owner of its own.
    """
    kept = owned | {
        path[:length]
        for path in owned
        for length in range(1, len(path))
        if path[length - 1].startswith("f:")
    }
    for path in sorted(last - kept, key=len):
        _remove(obj, shape, path, 0, kept)


def _remove(place: Any, shape: Shape, path: Path, depth: int, kept: set[Path]) -> None:
    part, final = path[depth], depth == len(path) - 1
    key: Any
    if part.startswith("f:"):
        key = part[2:]
        if not isinstance(place, dict) or key not in place:
            return
        below = shape.field(key) or ANY
    else:
        if not isinstance(place, list) or shape.form != "list":
            return
        key = next((n for n, one in enumerate(place) if item_key(one, shape) == part), None)
        if key is None:
            return
        below = shape.element()
    if not final:
        _remove(place[key], below, path, depth + 1, kept)
        emptied = place[key] in ({}, []) and path[: depth + 1] not in kept
        if not emptied or (below.form == "struct" and below.always):
            return
    del place[key]


def _conflict(conflicts: Mapping[Manager, FieldSet]) -> RequestRefused:
    pairs = [
        (str(who), shown(path))
        for who in sorted(conflicts, key=str)
        for path in sorted(conflicts[who], key=_leaves_first)
    ]
    causes: list[Object] = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {who}", "field": field}
        for who, field in pairs
    ]
    if len(pairs) == 1:
        who, field = pairs[0]
        return refusals.apply_conflict(
            f"Apply failed with 1 conflict: conflict with {who}: {field}", causes
        )
    lines: list[str] = []
    for who in dict.fromkeys(who for who, _ in pairs):
        lines.append(f"conflicts with {who}:")
        lines += [f"- {field}" for one, field in pairs if one == who]
    return refusals.apply_conflict(
        f"Apply failed with {len(pairs)} conflicts: " + "\n".join(lines), causes
    )


def _leaves_first(path: Path) -> list[tuple[bool, str]]:
    """In Kubernetes' order a struct's own fields come before what is deeper."""
    return [(place < len(path) - 1, part) for place, part in enumerate(path)]
