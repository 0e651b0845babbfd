"""What happens to the objects of a namespace that is deleted: they go too, and the namespace last.

Listens to the store. In a real cluster a controller does this; here the API does it itself, so that deleting a namespace
works without one. What has finalizers or a grace period holds the namespace up until it is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayplan.embedded.entries import Change, ChangeType
from bayplan.embedded.objects import section
from bayplan.embedded.selecting import Selection
from bayplan.embedded.store import NAMESPACES

if TYPE_CHECKING:
    from bayplan.embedded.kinds import Kind
    from bayplan.embedded.store import Store


class NamespaceEmptier:
    """Empties namespaces."""

    def __init__(self, store: Store) -> None:
        self._store = store
        #: Namespaces on their way out.
        self._ending: set[str] = set()
        self._listened: set[str] = set()
        store.shelves[NAMESPACES].listen(self._on_namespace)

    def resume(self) -> None:
        """Go on with namespaces that were on their way out when the server stopped."""
        for entry in list(self._store.shelves[NAMESPACES].entries.values()):
            if entry.fields.get("status.phase") == "Terminating":
                self._begin(entry.name)

    def _on_namespace(self, change: Change) -> None:
        name = change.entry.name
        if change.type is ChangeType.DELETED:
            self._ending.discard(name)
        elif change.entry.fields.get("status.phase") == "Terminating" and name not in self._ending:
            self._begin(name)

    def _begin(self, name: str) -> None:
        self._ending.add(name)
        for kind in self._kinds():
            if kind.shelf not in self._listened:
                self._listened.add(kind.shelf)
                self._store.shelves[kind.shelf].listen(self._on_change)
            self._store.delete_all(kind, Selection(name))
        self._end_if_empty(name)

    def _on_change(self, change: Change) -> None:
        if change.type is ChangeType.DELETED and change.entry.namespace in self._ending:
            self._end_if_empty(change.entry.namespace)

    def _end_if_empty(self, name: str) -> None:
        held = any(
            next(self._store.shelves[kind.shelf].select(Selection(name)), None)
            for kind in self._kinds()
        )
        if held or not self._store.find(NAMESPACES, name):
            return
        self._store.finalize(NAMESPACES, name, lambda obj: section(obj, "spec").clear())

    def _kinds(self) -> list[Kind]:
        """One kind for every shelf whose objects live in namespaces."""
        by_shelf = {
            kind.shelf: kind
            for kind in self._store.kinds
            if kind.namespaced and not kind.create_only
        }
        return list(by_shelf.values())
