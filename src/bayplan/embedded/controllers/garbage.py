"""Garbage: objects whose owners are all gone go too.

Fed by changes of every kind, custom ones included. An owner that is deleted in the foreground waits until its dependents
are gone; one that orphans them lets go of them first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from bayplan.embedded.deleting import FOREGROUND, ORPHAN, DeleteOptions
from bayplan.embedded.entries import Change, ChangeType
from bayplan.embedded.following import Desk, Key
from bayplan.embedded.objects import Object, as_list, at, metadata

if TYPE_CHECKING:
    from bayplan.embedded.store import Store

_OWNED: Final = b'"ownerReferences"'
_WAITS: Final = (b'"' + FOREGROUND.encode(), b'"' + ORPHAN.encode())

#: A shelf and the key of an object there.
_Place = tuple[str, str]


class Garbage:
    """The collector."""

    def __init__(self, store: Store) -> None:
        self._store = store
        #: Dependents by their owner's uid.
        self._dependents: dict[str, set[_Place]] = {}
        self._owners: dict[_Place, frozenset[str]] = {}
        #: Every object there is, by uid.
        self._living: set[str] = set()
        #: Owners that wait for their last dependent, by uid.
        self._waiting: dict[str, _Place] = {}
        self._resources: dict[str, str] = {}
        self._desk = Desk("garbage", self._look)
        self._ends: dict[str, Callable[[], None]] = {}

    def start(self) -> None:
        """Begin; needs a running loop."""
        self._follow_kinds()
        self._store.kinds.on_change(self._follow_kinds)
        # Only now is it known who is alive.
        for shelf, key in list(self._owners):
            self._desk.add((shelf, key))

    def stop(self) -> None:
        """End."""
        for end in self._ends.values():
            end()
        self._desk.close()

    def _follow_kinds(self) -> None:
        for kind in self._store.kinds:
            if kind.create_only or kind.shelf in self._ends:
                continue
            self._resources[kind.shelf] = kind.resource
            shelf = self._store.shelves[kind.shelf]
            for entry in list(shelf.entries.values()):
                self._note(kind.shelf, Change(ChangeType.ADDED, entry, None))
            self._ends[kind.shelf] = shelf.listen(partial(self._on_change, kind.shelf))

    def _on_change(self, shelf: str, change: Change) -> None:
        newly_owned = self._note(shelf, change)
        uid, place = change.entry.uid, (shelf, change.entry.key)
        if change.type is ChangeType.DELETED:
            for dependent in self._dependents.get(uid, ()):
                self._desk.add(dependent)
        elif newly_owned or any(one in change.entry.raw for one in _WAITS):
            self._desk.add(place)

    def _note(self, shelf: str, change: Change) -> bool:
        """Keep who owns what; whether this one has owners that it had not."""
        entry, place = change.entry, (shelf, change.entry.key)
        gone = change.type is ChangeType.DELETED
        owners: frozenset[str] = frozenset()
        if not gone and _OWNED in entry.raw:
            references = as_list(at(entry.decode(), "metadata", "ownerReferences"))
            owners = frozenset(str(one.get("uid")) for one in references)
        before = self._owners.get(place, frozenset())
        for uid in before - owners:
            siblings = self._dependents[uid]
            siblings.discard(place)
            if not siblings:
                del self._dependents[uid]
            if uid in self._waiting:
                self._desk.add(self._waiting[uid])
        for uid in owners - before:
            self._dependents.setdefault(uid, set()).add(place)
        if owners:
            self._owners[place] = owners
        else:
            self._owners.pop(place, None)
        if gone:
            self._living.discard(entry.uid)
            self._waiting.pop(entry.uid, None)
        else:
            self._living.add(entry.uid)
        return bool(owners - before)

    def _look(self, key: Key) -> None:
        shelf, name = key
        entry = self._store.shelves[shelf].entries.get(name)
        if entry is None:
            return
        obj = entry.decode()
        if "deletionTimestamp" not in metadata(obj):
            owners = self._owners.get(key)
            if owners and not owners & self._living:
                self._store.delete(self._resources[shelf], entry.name, entry.namespace)
            return
        finalizers = as_list(metadata(obj).get("finalizers"))
        if ORPHAN in finalizers:
            self._let_go(entry.uid)
            self._release(shelf, obj, ORPHAN)
        elif FOREGROUND in finalizers:
            dependents = self._dependents.get(entry.uid, set())
            for one in list(dependents):
                self._delete_dependent(one)
            if not self._dependents.get(entry.uid):
                self._release(shelf, obj, FOREGROUND)
            else:
                self._waiting[entry.uid] = key

    def _delete_dependent(self, place: _Place) -> None:
        entry = self._store.shelves[place[0]].entries.get(place[1])
        if entry is not None and "deletionTimestamp" not in metadata(entry.decode()):
            options = DeleteOptions(
                propagation="Foreground" if self._dependents.get(entry.uid) else ""
            )
            self._store.delete(self._resources[place[0]], entry.name, entry.namespace, options)

    def _let_go(self, uid: str) -> None:
        """Nobody is owned by this one any more."""

        def forget(obj: Object) -> None:
            meta = metadata(obj)
            kept = [one for one in as_list(meta.get("ownerReferences")) if one.get("uid") != uid]
            meta["ownerReferences"] = kept
            if not kept:
                del meta["ownerReferences"]

        for shelf, key in list(self._dependents.get(uid, ())):
            entry = self._store.shelves[shelf].entries[key]
            self._store.mutate(self._resources[shelf], entry.name, forget, entry.namespace)

    def _release(self, shelf: str, obj: Object, finalizer: str) -> None:
        """Take our finalizer away; the store deletes what has none left."""

        def without(current: Object | None) -> Object:
            changed = current or {}
            meta = metadata(changed)
            meta["finalizers"] = [
                one for one in as_list(meta.get("finalizers")) if one != finalizer
            ]
            return changed

        meta = metadata(obj)
        self._store.patch(self._resources[shelf], meta["name"], without, meta.get("namespace", ""))
