"""The objects of the API, to be looked at: get, list, watch. ``store`` adds the writing.

A kind is named by its resource, ``"pods"``, ``"deployments.apps"``, or given as a ``Kind``. Objects are plain dicts, the
caller's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bayplan.clock import Clock
from bayplan.embedded import refusals
from bayplan.embedded.builtin import builtin_kinds
from bayplan.embedded.entries import Change, ChangeType, Entry
from bayplan.embedded.kinds import Kind, Kinds
from bayplan.embedded.objects import Object, key_of
from bayplan.embedded.rendering import from_storage
from bayplan.embedded.selecting import selection
from bayplan.embedded.shelf import Shelf
from bayplan.embedded.shelves import Shelves

#: What a watcher in this process is called with: what happened, and the object as it is now.
Watcher = Callable[[ChangeType, Object], None]


class Reading:
    """What there is."""

    def __init__(self, clock: Clock, *, window: int) -> None:
        self.clock = clock
        self.kinds = Kinds(builtin_kinds())
        self.shelves = Shelves(window=window)
        self._computed: dict[str, Callable[[], Shelf]] = {}

    @property
    def version(self) -> int:
        """The version of the newest write."""
        return self.shelves.version

    def kind(self, kind: Kind | str) -> Kind:
        """The kind that a name stands for.

        Raises:
            RequestRefused: 404, there is none.
        """
        if isinstance(kind, Kind):
            return kind
        found = self.kinds.named(kind)
        if found is None:
            raise refusals.no_such_path()
        return found

    def serve_computed(self, kind: Kind, make: Callable[[], Shelf]) -> None:
        """Serve objects that nobody writes: ``make`` is called whenever somebody reads them."""
        self._computed[kind.shelf] = make
        self.kinds.add(kind)

    def shelf(self, kind: Kind) -> Shelf:
        """The objects of a kind as they are now."""
        make = self._computed.get(kind.shelf)
        return self.shelves[kind.shelf] if make is None else make()

    def find(self, kind: Kind | str, name: str, namespace: str = "") -> Entry | None:
        """The object's entry, if it is there."""
        shelf = self.shelf(self.kind(kind))
        return shelf.entries.get(key_of(namespace, name))

    def entry(self, kind: Kind | str, name: str, namespace: str = "") -> Entry:
        """The object's entry.

        Raises:
            RequestRefused: 404.
        """
        found = self.find(kind, name, namespace)
        if found is None:
            known = self.kind(kind)
            raise refusals.not_found(known.plural, known.group, name)
        return found

    def get(self, kind: Kind | str, name: str, namespace: str = "") -> Object:
        """An object.

        Raises:
            RequestRefused: 404.
        """
        return from_storage(self.kind(kind), self.entry(kind, name, namespace).decode())

    def list(
        self, kind: Kind | str, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> Sequence[Object]:
        """The objects of a selection, in order of namespace and name."""
        known = self.kind(kind)
        wanted = selection(known, namespace, labels, fields)
        entries = list(self.shelf(known).select(wanted))
        return [from_storage(known, entry.decode()) for entry in entries]

    def watch(
        self, kind: Kind | str, watcher: Watcher, namespace: str = "", *, labels: str = ""
    ) -> Callable[[], None]:
        """Call ``watcher`` with every change from now on; what is returned ends it."""
        known = self.kind(kind)
        wanted = selection(known, namespace, labels, "")

        def listen(change: Change) -> None:
            if wanted.matches(change.entry):
                watcher(change.type, from_storage(known, change.entry.decode()))

        return self.shelves[known.shelf].listen(listen)
