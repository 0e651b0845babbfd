"""The forms in which one kind's objects are answered: as they are, metadata alone, or rows of a table.

A ``Form`` turns entries into the bytes of an item, a list and a watch event. What it makes of an entry or a change it
leaves there, so a change is encoded once, however many watch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from bayplan.embedded.objects import Object, encode
from bayplan.embedded.rendering import from_storage, item, rendered

if TYPE_CHECKING:
    from bayplan.embedded.entries import Entry
    from bayplan.embedded.kinds import Kind
    from bayplan.embedded.lists import Page


class Form(Protocol):
    """How a client wants objects."""

    @property
    def key(self) -> object:
        """Equal for forms that make the same bytes."""

    @property
    def headed(self) -> bool:
        """Whether the first frame of a watch says more than the others."""

    def one(self, entry: Entry) -> bytes:
        """A single object."""

    def page(self, page: Page) -> bytes:
        """A list."""

    def frame(self, entry: Entry, *, first: bool) -> bytes:
        """The object of a watch event; ``first`` in its watch."""

    def bookmark(self, version: int, *, initial_end: bool) -> bytes:
        """The object of a bookmark."""


def list_bytes(head: Object, page: Page, items: Sequence[bytes]) -> bytes:
    """A list around items that are bytes already."""
    meta: Object = {"resourceVersion": str(page.version)}
    if page.token:
        meta["continue"] = page.token
    if page.remaining is not None:
        meta["remainingItemCount"] = page.remaining
    start = encode(head | {"metadata": meta})[:-1]
    return b"".join((start, b',"items":[', b",".join(items), b"]}\n"))


def bookmark_object(api_version: str, kind: str, version: int, *, initial_end: bool) -> Object:
    """What a bookmark shows: nothing but a version."""
    meta: Object = {"resourceVersion": str(version), "creationTimestamp": None}
    if initial_end:
        meta["annotations"] = {"k8s.io/initial-events-end": "true"}
    return {"kind": kind, "apiVersion": api_version, "metadata": meta}


class Plain:
    """Objects as they are."""

    headed = False

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self.key: object = ("plain", kind.api_version, kind.kind)

    def one(self, entry: Entry) -> bytes:
        return rendered(self._kind, entry)

    def page(self, page: Page) -> bytes:
        kind = self._kind
        head = {"kind": kind.list_kind, "apiVersion": kind.api_version}
        return list_bytes(head, page, [item(kind, entry) for entry in page.entries])

    def frame(self, entry: Entry, *, first: bool) -> bytes:
        return rendered(self._kind, entry)

    def bookmark(self, version: int, *, initial_end: bool) -> bytes:
        kind = self._kind
        return encode(
            bookmark_object(kind.api_version, kind.kind, version, initial_end=initial_end)
        )


class MetadataOnly:
    """Nothing but the metadata: ``PartialObjectMetadata``, which garbage collectors read."""

    headed = False
    _API = "meta.k8s.io/v1"

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self.key: object = "metadata"

    def one(self, entry: Entry) -> bytes:
        found = entry.view(self.key)
        if found is None:
            found = entry.remember(self.key, encode(partial(self._kind, entry.decode())))
        return found

    def page(self, page: Page) -> bytes:
        head = {"kind": "PartialObjectMetadataList", "apiVersion": self._API}
        return list_bytes(head, page, [self.one(entry) for entry in page.entries])

    def frame(self, entry: Entry, *, first: bool) -> bytes:
        return self.one(entry)

    def bookmark(self, version: int, *, initial_end: bool) -> bytes:
        return encode(
            bookmark_object(self._API, "PartialObjectMetadata", version, initial_end=initial_end)
        )


def partial(kind: Kind, obj: Object) -> Object:
    """An object's metadata under the name by which it is answered."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": from_storage(kind, obj)["metadata"],
    }
