"""Objects as the store keeps them, and the changes that happen to them.

An ``Entry`` is one version of an object: its bytes, and the few facts that finding it needs. A ``Change`` leads from
one entry to the next. Both are immutable and shared by everyone who watches.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from bayplan.embedded.fields import fields_of
from bayplan.embedded.objects import Object, decode, encode, key_of, metadata, text_at

_NO_LABELS: Final[dict[str, str]] = {}


class Entry:
    """One version of an object."""

    __slots__ = ("_views", "fields", "key", "labels", "name", "namespace", "raw", "uid", "version")

    def __init__(self, shelf: str, obj: Object, version: int) -> None:
        meta = metadata(obj)
        meta["resourceVersion"] = str(version)
        self.version = version
        self.namespace: str = meta.get("namespace") or ""
        self.name: str = meta["name"]
        self.uid: str = meta.get("uid") or ""
        self.key = key_of(self.namespace, self.name)
        self.labels: dict[str, str] = meta.get("labels") or _NO_LABELS
        #: Selectable fields beside name and namespace.
        self.fields = fields_of(shelf, obj)
        self.raw = encode(obj)
        self._views: dict[object, bytes] | None = None

    def decode(self) -> Object:
        """A copy of the object, the caller's own."""
        obj: Object = decode(self.raw)
        return obj

    def view(self, key: object) -> bytes | None:
        """The object in another form, if someone has made it already."""
        return self._views.get(key) if self._views else None

    def remember(self, key: object, raw: bytes) -> bytes:
        """Keep another form of the object for the next who asks."""
        if self._views is None:
            self._views = {}
        self._views[key] = raw
        return raw


class ChangeType(StrEnum):
    """As in watch events."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Change:
    """What happened to one object at one version."""

    __slots__ = ("_memory", "entry", "previous", "type", "version")

    def __init__(self, kind: ChangeType, entry: Entry, previous: Entry | None) -> None:
        self.type = kind
        #: The object now; if it was deleted, its last state under the version of its deletion.
        self.entry = entry
        self.previous = previous
        self.version = entry.version
        self._memory: dict[object, Any] | None = None

    def recall(self, key: object) -> Any:
        """What was made of this change for another watcher."""
        return self._memory.get(key) if self._memory else None

    def remember(self, key: object, value: Any) -> None:
        """Keep something for the next watcher."""
        if self._memory is None:
            self._memory = {}
        self._memory[key] = value

    def forget(self) -> None:
        """Drop what was made for watchers: everybody has it who was there."""
        self._memory = None


def at_version(shelf: str, entry: Entry, version: int) -> Entry:
    """The same state under another version, as watchers see an object that left their selection."""
    return Entry(shelf, entry.decode(), version)


def name_of(obj: Object) -> str:
    """The object's name."""
    return text_at(obj, "metadata", "name")
