"""What an informer's handler is told: each change once, in order, and never of the same version twice.

Fed by ``client.informer`` with whatever lists and watches bring; keeps track of what the handler knows, so that what a new
list leaves out can be told as gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from bayplan.client.decoding import Named, Unreadable
from bayplan.client.known import Known, Version
from bayplan.model import KubeObject
from bayplan.model.meta import ObjectMeta
from bayplan.telemetry.log import get_logger

T = TypeVar("T", bound=KubeObject)
T_contra = TypeVar("T_contra", bound=KubeObject, contravariant=True)

_log = get_logger(__name__)

#: So many unreadable versions are remembered as reported.
_REPORTED = 10_000


class Handler(Protocol[T_contra]):
    """Hears what there is. Calls are never nested and never overlap for one informer."""

    def on_put(self, obj: T_contra, /) -> None:
        """An object is new, or another version of one that is known; never the version that was there already."""

    def on_gone(self, namespace: str, name: str, uid: str, last: T_contra | None, /) -> None:
        """An object that is known does not exist any more, or has left the selection.

        Args:
            namespace: the object's.
            name: the object's.
            uid: of the one that is gone; the next ``on_put`` may be about another of the same name.
            last: its last version; None if it went unseen.
        """

    def on_listed(self) -> None:
        """A list has been handed over in full."""


class InformerObserver(Protocol):
    """Counts what goes wrong (``telemetry.metrics.Metrics``)."""

    def watch_restart(self, resource: str, cause: str) -> None:
        """A watch ended: ``closed``, ``expired``, ``silent`` or ``error``."""

    def object_skipped(self, resource: str) -> None:
        """An object could not be read, or its handler failed."""


class Delivery(Generic[T]):
    """One handler, and what it knows."""

    def __init__(
        self, resource: str, handler: Handler[T], observer: InformerObserver | None
    ) -> None:
        self._resource = resource
        self._handler = handler
        self._observer = observer
        self._known = Known()
        #: Uids and versions of objects that could not be read, so that each is reported once.
        self._reported: set[tuple[str, str]] = set()

    def __len__(self) -> int:
        """How many objects the handler knows."""
        return len(self._known)

    def put(self, item: T | Unreadable, *, listed: bool = False) -> None:
        """An object as it is now; one that cannot be read stays as it was known.

        Args:
            item: the object.
            listed: whether a list says so, which is right even where it is older than what we know: etcd may have been
                put back. A watch may tell of what a list has told already, and then is not.
        """
        if isinstance(item, Unreadable):
            self._skip(item)
            return
        meta = item.metadata
        if not meta.name:
            self.report("an object without a name")
            return
        known = self._known.get(meta.namespace, meta.name)
        if known is not None:
            if meta.resource_version == known[1] or (not listed and _is_older(meta, known)):
                return
            self._end_another(meta.namespace, meta.name, meta.uid)
        self._known.put(meta.namespace, meta.name, (meta.uid, meta.resource_version))
        try:
            self._handler.on_put(item)
        except Exception as error:  # noqa: BLE001 - a handler's fault with one object must not cost the others
            self._failed(item.key, error)

    def gone(self, item: T | Unreadable) -> None:
        """An object was deleted, or has left the selection."""
        meta = item.meta if isinstance(item, Unreadable) else item.metadata
        known = self._known.get(meta.namespace, meta.name)
        if known is None or (known[0] != meta.uid and _is_older(meta, known)):
            return  # or it is another, later one that we know
        last = None if isinstance(item, Unreadable) or known[0] != meta.uid else item
        self._end(meta.namespace, meta.name, known[0], last)

    def drop_unless(self, listed: Known) -> Iterator[None]:
        """Tell of the objects that are known and not listed, one per step; those between two are looked at as well."""
        for namespace, name in self._known.names():
            known = self._known.get(namespace, name)
            if known is not None and listed.get(namespace, name) is None:
                self._end(namespace, name, known[0], None)
            yield

    def listed(self) -> None:
        """A list is through."""
        try:
            self._handler.on_listed()
        except Exception as error:  # noqa: BLE001 - as above
            self._failed("everything listed", error)

    def report(self, what: str, consequence: str = "left out") -> None:
        """Something came that cannot be read."""
        if self._observer is not None:
            self._observer.object_skipped(self._resource)
        _log.warning(
            "Cannot read what the API server sent",
            resource=self._resource,
            err=what,
            consequence=consequence,
        )

    def _end_another(self, namespace: str, name: str, uid: str) -> None:
        """If another object had this name, it is gone: nobody says so of what happened while we did not watch."""
        known = self._known.get(namespace, name)
        if known is not None and uid and known[0] != uid:
            self._end(namespace, name, known[0], None)

    def _end(self, namespace: str, name: str, uid: str, last: T | None) -> None:
        self._known.drop(namespace, name)
        try:
            self._handler.on_gone(namespace, name, uid, last)
        except Exception as error:  # noqa: BLE001 - as above
            self._failed(f"{namespace}/{name}", error)

    def _skip(self, item: Unreadable) -> None:
        meta = item.meta
        self._end_another(meta.namespace, meta.name, meta.uid)
        version = (meta.uid or meta.name, meta.resource_version)
        if version in self._reported:
            return
        if len(self._reported) >= _REPORTED:
            self._reported.clear()
        self._reported.add(version)
        self.report(str(item.error), "skipped; what was known of it before stays as it was")

    def _failed(self, what: str, error: Exception) -> None:
        if self._observer is not None:
            self._observer.object_skipped(self._resource)
        _log.exception("A handler failed", err=error, resource=self._resource, object=what)


def _is_older(meta: ObjectMeta | Named, known: Version) -> bool:
    """Whether it comes from before what is known. Since Kubernetes 1.35 versions may be compared, if they are numbers."""
    new, old = meta.resource_version, known[1]
    return new.isdecimal() and old.isdecimal() and int(new) < int(old)
