"""What controllers need to know about each pod, kept by owner and by namespace.

Fed by changes of pods, each decoded once here for all controllers. Read by the controllers, which ask for an owner's pods
instead of going through all there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayplan.embedded.entries import Change, ChangeType, Entry
from bayplan.embedded.following import Key, follow
from bayplan.embedded.objects import Object, as_list, at, text_at

if TYPE_CHECKING:
    from bayplan.embedded.store import Store


@dataclass(frozen=True, slots=True)
class Owner:
    """The controller in an object's ``ownerReferences``."""

    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class PodNote:
    """One pod, in brief."""

    namespace: str
    name: str
    uid: str
    owner: Owner | None
    labels: dict[str, str]
    annotations: dict[str, str]
    node: str
    phase: str
    ready: bool
    deleting: bool
    created: str

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return self.namespace, self.name

    @property
    def active(self) -> bool:
        """Neither done nor about to go."""
        return not self.deleting and self.phase not in ("Succeeded", "Failed")


#: Told of every change: the pod before, and the pod now.
Listener = Callable[[PodNote | None, PodNote | None], None]


class PodNotes:
    """All pods."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._by_owner: dict[str, dict[str, PodNote]] = {}
        self._by_namespace: dict[str, dict[str, PodNote]] = {}
        self._listeners: list[Listener] = []
        self._stop_following: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Begin; tells the listeners of what is there already."""
        self._stop_following = follow(self._store, "pods", self._on_pod)

    def stop(self) -> None:
        """End."""
        self._stop_following()

    def listen(self, listener: Listener) -> None:
        """Tell somebody of every change from ``start`` on."""
        self._listeners.append(listener)

    def of_owner(self, uid: str) -> Iterable[PodNote]:
        """The pods that an object controls."""
        return self._by_owner.get(uid, {}).values()

    def in_namespace(self, namespace: str) -> Iterable[PodNote]:
        """All pods of a namespace."""
        return self._by_namespace.get(namespace, {}).values()

    def _on_pod(self, change: Change) -> None:
        entry = change.entry
        before = self._by_namespace.get(entry.namespace, {}).get(entry.name)
        if before is not None:
            self._drop(before)
        after = None if change.type is ChangeType.DELETED else _note(entry)
        if after is not None:
            self._by_namespace.setdefault(after.namespace, {})[after.name] = after
            if after.owner is not None:
                self._by_owner.setdefault(after.owner.uid, {})[after.uid] = after
        for listener in self._listeners:
            listener(before, after)

    def _drop(self, note: PodNote) -> None:
        self._by_namespace[note.namespace].pop(note.name, None)
        if note.owner is not None:
            owned = self._by_owner.get(note.owner.uid, {})
            owned.pop(note.uid, None)
            if not owned:
                self._by_owner.pop(note.owner.uid, None)


def owner_of(obj: Object) -> Owner | None:
    """The controller of an object."""
    for one in as_list(at(obj, "metadata", "ownerReferences")):
        if one.get("controller"):
            return Owner(text_at(one, "kind"), text_at(one, "name"), text_at(one, "uid"))
    return None


def controller_reference(api_version: str, kind: str, obj: Object) -> Object:
    """What stands in the ``ownerReferences`` of an object that another one made."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": obj["metadata"]["name"],
        "uid": obj["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _note(entry: Entry) -> PodNote:
    pod = entry.decode()
    return PodNote(
        namespace=entry.namespace,
        name=entry.name,
        uid=entry.uid,
        owner=owner_of(pod),
        labels=entry.labels,
        annotations=at(pod, "metadata", "annotations") or {},
        node=entry.fields["spec.nodeName"],
        phase=entry.fields["status.phase"] or "Pending",
        ready=any(
            one.get("type") == "Ready" and one.get("status") == "True"
            for one in as_list(at(pod, "status", "conditions"))
        ),
        deleting="deletionTimestamp" in pod["metadata"],
        created=text_at(pod, "metadata", "creationTimestamp"),
    )
