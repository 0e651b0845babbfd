"""What all controllers have in common: they look at an object whenever it, or a pod of it, has changed.

``cluster`` makes, starts and stops them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from bayplan.embedded.entries import Change
from bayplan.embedded.following import Desk, Key, follow

if TYPE_CHECKING:
    from bayplan.embedded.controllers.pod_notes import PodNote, PodNotes
    from bayplan.embedded.store import Store


class Controller(ABC):
    """Keeps the objects of one resource as they ask to be."""

    #: ``jobs.batch``
    resource: ClassVar[str]
    #: The kind by which pods name their owner: a change of theirs is a reason to look at it.
    kind: ClassVar[str] = ""

    def __init__(self, store: Store, pods: PodNotes) -> None:
        self._store = store
        self._pods = pods
        self._desk = Desk(self.resource, self._look)
        self._ends: list[Callable[[], None]] = []
        pods.listen(self._on_pod)

    def start(self) -> None:
        """Begin; needs a running loop."""
        self._ends = [
            follow(self._store, resource, told) for resource, told in self._followed().items()
        ]

    def stop(self) -> None:
        """End."""
        for end in self._ends:
            end()
        self._desk.close()

    def _followed(self) -> dict[str, Callable[[Change], None]]:
        """The resources whose changes it hears of, beside pods."""
        return {self.resource: self._on_change}

    def _on_change(self, change: Change) -> None:
        self._desk.add((change.entry.namespace, change.entry.name))

    def _on_pod(self, before: PodNote | None, after: PodNote | None) -> None:
        for note in (before, after):
            if note is not None and note.owner is not None and note.owner.kind == self.kind:
                self._desk.add((note.namespace, note.owner.name))

    @abstractmethod
    def _look(self, key: Key) -> bool | None:
        """Bring one object a step further; whether there is more to do at once."""
