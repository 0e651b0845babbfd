"""Lines of a watch and pages of a list, as objects of one kind. Pure.

The quick way reads a whole line into its typed struct at once; only what does not fit, bookmarks and errors among it, is
looked at again slowly. An object that cannot be read comes out as ``Unreadable``, which still says which one it is. Used by
``client.informer``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

import msgspec

from bayplan.errors import DecodeError
from bayplan.model import KubeObject, decode_as, shapes

T = TypeVar("T", bound=KubeObject)

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"
BOOKMARK: Final = "BOOKMARK"
ERROR: Final = "ERROR"
_CHANGES: Final = frozenset((ADDED, MODIFIED, DELETED))

_FOREIGN: Final = (msgspec.MsgspecError, ValueError, RecursionError)


class Named(msgspec.Struct, rename="camel", gc=False):
    """The part of an object's metadata that says which version of which object it is."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _NamedObject(msgspec.Struct, gc=False):
    metadata: Named = msgspec.field(default_factory=Named)


class _RawEvent(msgspec.Struct, gc=False):
    type: str = ""
    object: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)


class _ListMeta(msgspec.Struct, rename="camel", frozen=True):
    resource_version: str = ""
    next_page: str = msgspec.field(default="", name="continue")


class _RawList(msgspec.Struct):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[msgspec.Raw] | None = None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An object that does not fit its kind."""

    meta: Named
    error: DecodeError


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """An object was added, modified or deleted."""

    type: str
    object: T | Unreadable


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Nothing happened up to this resourceVersion."""

    resource_version: str


@dataclass(frozen=True, slots=True)
class Failure:
    """The watch ends with a ``Status``."""

    status: bytes


@dataclass(frozen=True, slots=True)
class Noise:
    """A line that says nothing to us."""

    why: str


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A part of a list."""

    items: list[T | Unreadable]
    resource_version: str
    #: Where the next part begins; empty: there is none.
    next_page: str


Line: TypeAlias = Change[T] | Bookmark | Failure | Noise


class Decoder(Generic[T]):
    """Reads what the API server sends of one kind."""

    def __init__(self, kind: type[T]) -> None:
        self._kind = kind
        self._check = shapes.quantity_check(kind)
        event = msgspec.defstruct(
            "Event", [("type", str), ("object", kind)], gc=False, kw_only=True
        )
        page = msgspec.defstruct(
            "List",
            [("items", list[kind]), ("metadata", _ListMeta, _ListMeta())],  # type: ignore[valid-type]
        )
        self._events: msgspec.json.Decoder[Any] = msgspec.json.Decoder(event)
        self._pages: msgspec.json.Decoder[Any] = msgspec.json.Decoder(page)

    def line(self, line: bytes) -> Line[T]:
        """One line of a watch; raises nothing."""
        try:
            event = self._events.decode(line)
        except _FOREIGN:
            return self._slow_line(line)
        kind = event.type
        if kind in _CHANGES:
            return Change(kind, self._checked(event.object, line))
        return self._slow_line(line)

    def page(self, body: bytes) -> Page[T]:
        """One part of a list; raises ``DecodeError`` if it is none."""
        try:
            found = self._pages.decode(body)
            if self._check is not None:
                for obj in found.items:
                    self._check(obj)
        except (*_FOREIGN, DecodeError):
            return self._slow_page(body)
        return Page(found.items, found.metadata.resource_version, found.metadata.next_page)

    def _checked(self, obj: T, line: bytes) -> T | Unreadable:
        if self._check is None:
            return obj
        try:
            self._check(obj)
        except DecodeError:
            return self._slow_object(_raw_event(line).object)
        return obj

    def _slow_line(self, line: bytes) -> Line[T]:
        try:
            event = _raw_event(line)
        except _FOREIGN as error:
            return Noise(f"not an event in JSON: {error}")
        if event.type == ERROR:
            return Failure(bytes(event.object))
        if event.type == BOOKMARK:
            return Bookmark(_named(event.object).resource_version)
        if event.type in _CHANGES:
            return Change(event.type, self._slow_object(event.object))
        return Noise(f"an event of unknown type {event.type[:40]!r}")

    def _slow_page(self, body: bytes) -> Page[T]:
        try:
            found = msgspec.json.decode(body, type=_RawList)
        except _FOREIGN as error:
            raise DecodeError(f"not a list in JSON: {error}") from None
        items = [self._slow_object(item) for item in found.items or ()]
        return Page(items, found.metadata.resource_version, found.metadata.next_page)

    def _slow_object(self, raw: msgspec.Raw) -> T | Unreadable:
        try:
            return decode_as(self._kind, bytes(raw))
        except DecodeError as error:
            return Unreadable(_named(raw), error)


def _raw_event(line: bytes) -> _RawEvent:
    return msgspec.json.decode(line, type=_RawEvent)


def _named(raw: msgspec.Raw) -> Named:
    try:
        return msgspec.json.decode(raw, type=_NamedObject).metadata
    except _FOREIGN:
        return Named()
