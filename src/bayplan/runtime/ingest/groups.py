"""Pod groups, as the watches of their APIs tell of them: each object becomes a ``Group``, and its pods are let in.

Fed by one informer per API, where the API is served; a group that changes in nothing but its status wakes nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayplan.framework.events import Action, ClusterEvent, Resource
from bayplan.model.group_forms import group_from
from bayplan.model.pod_group import Group, GroupApi, GroupKey

if TYPE_CHECKING:
    from bayplan.clock import Clock
    from bayplan.cluster.cluster import Cluster
    from bayplan.model.groups import CoschedulingPodGroup, PodGroup
    from bayplan.queueing.scheduling import SchedulingQueue
    from bayplan.runtime.ingest.waking import Waker

_ADDED: Final = ClusterEvent(Resource.POD_GROUP, Action.ADD).label
_CHANGED: Final = ClusterEvent(Resource.POD_GROUP, Action.UPDATE).label


class Groups:
    """Handler of the groups of one API (``client.informer.Handler``)."""

    def __init__(
        self, api: GroupApi, cluster: Cluster, queue: SchedulingQueue, waker: Waker, clock: Clock
    ) -> None:
        self._api = api
        self._gangs = cluster.gangs
        self._queue = queue
        self._waker = waker
        self._clock = clock
        self._known: dict[GroupKey, Group] = {}

    def on_served(self, served: bool) -> None:  # noqa: FBT001 - the informer's answer
        """Whether such groups can exist; where they cannot, nobody waits for one."""
        if served == (self._api in self._gangs.served):
            return
        if served:
            self._gangs.served.add(self._api)
            return
        self._gangs.served.discard(self._api)
        for key in list(self._queue.groups()):
            self._queue.on_group(key, self._clock.monotonic(), _CHANGED)
        self._changed()

    def on_put(self, written: PodGroup | CoschedulingPodGroup) -> None:
        """A group was added or changed."""
        group = group_from(written, self._api)
        before = self._known.get(group.key)
        self._known[group.key] = group
        self._gangs.put(group)
        if before is None or _matters(before) != _matters(group):
            label = _ADDED if before is None else _CHANGED
            self._queue.on_group(group.key, self._clock.monotonic(), label)
        self._changed()

    def on_gone(
        self,
        namespace: str,
        name: str,
        uid: str,
        last: PodGroup | CoschedulingPodGroup | None,
    ) -> None:
        """A group was deleted: its pods wait until there is one of that name again."""
        key = GroupKey(namespace, name, native=self._api is GroupApi.NATIVE)
        self._known.pop(key, None)
        self._gangs.remove(key, self._api, uid)
        if self._gangs.group(key) is None:
            # Out of the queue with them, where they are told what they wait for.
            self._queue.on_group(key, self._clock.monotonic(), _CHANGED)
        self._changed()

    def on_listed(self) -> None:
        """Nothing waits for a complete list here."""

    def _changed(self) -> None:
        for changed in self._waker.on_change:
            changed()


def _matters(group: Group) -> tuple[object, ...]:
    """What the decision about a group goes by."""
    return (
        group.min_member,
        sorted(group.min_resources.items()),
        group.priority,
        group.topology,
        group.uid,
    )
