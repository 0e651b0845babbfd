"""Objects as clients get them: in the version they ask for, as JSON bytes made once and shared.

Called by lists, watches and single reads. An object is kept in one version; another version of it is a view.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from bayplan.embedded import event_groups
from bayplan.embedded.objects import Object, encode

if TYPE_CHECKING:
    from bayplan.embedded.entries import Entry
    from bayplan.embedded.kinds import Kind


@cache
def _head(api_version: str, kind: str) -> bytes:
    """How the bytes of a stored object begin."""
    return encode({"kind": kind, "apiVersion": api_version})[:-1]


def rendered(kind: Kind, entry: Entry) -> bytes:
    """The object in this kind's version."""
    if entry.raw.startswith(_head(kind.api_version, kind.kind)):
        return entry.raw
    key = ("version", kind.api_version, kind.kind)
    return entry.view(key) or entry.remember(key, encode(from_storage(kind, entry.decode())))


def item(kind: Kind, entry: Entry) -> bytes:
    """The object as an item of a list: built-in kinds are not named again in each item."""
    raw = rendered(kind, entry)
    if not kind.schema_type:
        return raw
    return b"{" + raw[len(_head(kind.api_version, kind.kind)) + 1 :]


def from_storage(kind: Kind, obj: Object) -> Object:
    """A stored object in this kind's version."""
    if kind.shelf == "events" and kind.group:
        return event_groups.to_events(obj)
    return {"kind": kind.kind, "apiVersion": kind.api_version} | _rest(obj)


def to_storage(kind: Kind, obj: Object) -> Object:
    """An object of this kind's version as it is kept, its kind and version in front."""
    if kind.shelf == "events":
        obj = event_groups.to_core(obj | {"apiVersion": kind.api_version})
        return {"kind": "Event", "apiVersion": "v1"} | _rest(obj)
    return {"kind": kind.kind, "apiVersion": kind.api_version} | _rest(obj)


def _rest(obj: Object) -> Object:
    head = {"metadata": obj.get("metadata") or {}}
    return head | {k: v for k, v in obj.items() if k not in ("kind", "apiVersion", "metadata")}
