"""Everything that is watched beside pods and nodes: volumes, claims, classes, namespaces, services, budgets and the like.

Fed by one informer per kind. There are few of these objects, so that the last version of those that may wake pods is kept
for hints to compare with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from bayplan.framework.events import Action, ClusterEvent, Resource
from bayplan.model.meta import KubeObject, ObjectMeta

if TYPE_CHECKING:
    from bayplan.cluster.cluster import Cluster
    from bayplan.runtime.ingest.waking import Waker

K = TypeVar("K", bound=KubeObject)


class Objects(Generic[K]):
    """Handler of one such kind (``client.informer.Handler``)."""

    def __init__(
        self,
        kind: type[K],
        cluster: Cluster,
        waker: Waker,
        resource: Resource | None = None,
        on_change: Callable[[], None] | None = None,
    ) -> None:
        self._kind = kind
        self._cluster = cluster
        self._waker = waker
        #: What the kind is called in events; None: it never wakes a pod.
        self._resource = resource
        self._last: dict[str, K] = {}
        #: Whoever waits for an object of this kind to change.
        self._on_change = on_change

    def on_put(self, obj: K) -> None:
        """An object was added or changed."""
        if self._resource is None:
            self._cluster.put(obj)
            return
        with self._waker.handling() as wake:
            old, self._last[obj.key] = self._last.get(obj.key), obj
            self._cluster.put(obj)
            action = Action.ADD if old is None else Action.UPDATE
            wake(ClusterEvent.of(self._resource, action, old, obj))
        self._changed()

    def on_gone(self, namespace: str, name: str, uid: str, last: K | None) -> None:
        """An object was deleted."""
        meta = ObjectMeta(name=name, namespace=namespace, uid=uid)
        if self._resource is None:
            self._cluster.remove(last or self._kind(metadata=meta))
            return
        with self._waker.handling() as wake:
            known = self._last.pop(f"{namespace}/{name}" if namespace else name, None)
            old = last or known
            if old is None:
                return
            self._cluster.remove(old)
            wake(ClusterEvent.of(self._resource, Action.DELETE, old, None))
        self._changed()

    def _changed(self) -> None:
        if self._on_change is not None:
            self._on_change()

    def on_listed(self) -> None:
        """Nothing waits for a complete list here."""
