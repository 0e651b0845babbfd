"""The places where pods wait, and the books that go with them: by key, by place, and by who turned them down.

A pod that waits is in exactly one place. Which one, and when it moves, is ``queueing.scheduling``'s to say; here it is done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from bayplan.errors import PluginError
from bayplan.framework.runner import call
from bayplan.queueing.backoff import Backoff
from bayplan.queueing.entry import Place, Queued, QueueSettings
from bayplan.queueing.lanes import ready_pods
from bayplan.queueing.parked import Parked
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.framework.plugin import QueueSortPlugin
    from bayplan.model.pod_group import GroupKey

_log: Final = get_logger(__name__)


class Places:
    """Every pod that waits."""

    def __init__(self, sort: QueueSortPlugin, settings: QueueSettings) -> None:
        self._sort = sort
        self.by_key: dict[str, Queued] = {}
        self.active = ready_pods(sort)
        self.backoff = Backoff(settings)
        self.parked = Parked()
        #: Pods that are in a group, by group; one that left is not there.
        self.by_group: dict[GroupKey, dict[Queued, None]] = {}
        #: How many pods were turned down, by (plugin, profile).
        self.turned_down: Counter[tuple[str, str]] = Counter()

    # --- coming and going ----------------------------------------------------------------------------------------------

    def enter(self, queued: Queued) -> None:
        """The pod is the queue's now; where it waits is to be said next."""
        self.by_key[queued.pod.key] = queued
        self._join(queued)
        for plugin in queued.rejectors:
            self.turned_down[plugin, queued.profile] += 1

    def exit(self, queued: Queued) -> None:
        """The pod is the queue's no more."""
        self.leave(queued)
        del self.by_key[queued.pod.key]
        self._quit(queued)
        for plugin in queued.rejectors:
            self.turned_down[plugin, queued.profile] -= 1

    def _join(self, queued: Queued) -> None:
        group = queued.pod.group
        if group is not None:
            self.by_group.setdefault(group, {})[queued] = None

    def _quit(self, queued: Queued) -> None:
        group = queued.pod.group
        if group is not None:
            siblings = self.by_group[group]
            del siblings[queued]
            if not siblings:
                del self.by_group[group]

    def reassign(self, queued: Queued, pod: PodInfo, profile: str) -> None:
        """Another profile decides the pod from now on; where it waits is to be said next."""
        self.exit(queued)
        queued.pod, queued.profile = pod, profile
        self.enter(queued)

    # --- from place to place -------------------------------------------------------------------------------------------

    def put_active(self, queued: Queued) -> None:
        """Ready to be tried."""
        queued.place = Place.ACTIVE
        self.active.push(queued, self._sort_key(queued))

    def put_backoff(self, queued: Queued) -> None:
        """Not before its backoff is over."""
        queued.place = Place.BACKOFF
        self.backoff.add(queued, self._sort_key(queued))

    def park(self, queued: Queued) -> None:
        """Not before something happens."""
        self.parked.add(queued)

    def gate(self, queued: Queued, plugin: str) -> None:
        """Not before ``plugin`` lets it in."""
        queued.gating_plugin = plugin
        if plugin not in queued.rejectors:
            queued.unschedulable_plugins |= {plugin}
            self.turned_down[plugin, queued.profile] += 1
        # Whoever flushed it did not bring it any further.
        queued.was_flushed = False
        self.parked.add(queued)

    def leave(self, queued: Queued) -> None:
        """Out of where the pod is, if it is anywhere."""
        place = queued.place
        if place is Place.ACTIVE:
            self.active.remove(queued)
        elif place is Place.BACKOFF:
            self.backoff.remove(queued)
        elif place is not Place.OUT:
            self.parked.remove(queued)
        queued.place = Place.OUT

    def replace(self, queued: Queued, pod: PodInfo) -> None:
        """The pod as it is now, in the same place; it keeps its turn unless its sort key changed."""
        if queued.is_parked:
            self.parked.remove(queued)
            self._exchange(queued, pod)
            self.parked.add(queued)
            return
        place, key_before = queued.place, self._sort_key(queued)
        self._exchange(queued, pod)
        if self._sort_key(queued) != key_before or self.active.is_astray(queued):
            self.leave(queued)
            if place is Place.ACTIVE:
                self.put_active(queued)
            else:
                self.put_backoff(queued)

    def _exchange(self, queued: Queued, pod: PodInfo) -> None:
        self._quit(queued)
        queued.pod = pod
        self._join(queued)

    def in_order(self, pods: Iterable[Queued]) -> list[Queued]:
        """As QueueSort would have them, those of equal rank as they come."""
        return sorted(pods, key=self._sort_key)

    def _sort_key(self, queued: Queued) -> tuple[int, Any]:
        if queued.goes_first:
            return (-1, queued.queued_at)
        try:
            key = call(self._sort, "QueueSort", self._sort.sort_key, queued.pod, queued.queued_at)
        except PluginError as error:
            _log.error("Pod is tried after all others", error, pod=queued.pod.key)
            return (1, 0)
        return (0, key)

    # --- looking in ----------------------------------------------------------------------------------------------------

    def counts(self) -> dict[str, int]:
        """How many pods wait, by queue."""
        return {
            Place.ACTIVE.value: len(self.active),
            Place.BACKOFF.value: len(self.backoff),
            Place.UNSCHEDULABLE.value: self.parked.ungated_count,
            Place.GATED.value: self.parked.gated_count,
        }

    def longest_waits(self, now: float) -> dict[str, float]:
        """How long the oldest pod of each queue has waited. Looks at every pod, 10 ms for 100,000: asked once per scrape."""
        longest = dict.fromkeys(self.counts(), 0.0)
        for queued in self.by_key.values():
            since = queued.initial_attempt_at
            waited = now - (queued.queued_at if since is None else since)
            if waited > longest[queued.place.value]:
                longest[queued.place.value] = waited
        return longest

    def audit(self) -> Iterator[str]:
        """What is wrong with the books."""
        held: Counter[Queued] = Counter()
        for places, pods in (
            ((Place.ACTIVE,), self.active),
            ((Place.BACKOFF,), self.backoff),
            ((Place.UNSCHEDULABLE, Place.GATED), self.parked),
        ):
            held.update(pods)
            yield from (f"{q!r} is not where it says" for q in pods if q.place not in places)
        yield from (f"{q!r} is in {n} places" for q, n in held.items() if n > 1)
        if set(held) != set(self.by_key.values()):
            yield "pods by key are not the pods in the places"
        yield from (f"{q!r} under {key}" for key, q in self.by_key.items() if q.pod.key != key)
        members = {queued for group in self.by_group.values() for queued in group}
        if members != {queued for queued in self.by_key.values() if queued.pod.group is not None}:
            yield "pods by group are not the pods that are in a group"
        yield from self.parked.audit()
        recount = Counter((p, q.profile) for q in self.by_key.values() for p in q.rejectors)
        if recount != self.turned_down:
            yield f"turned down: {dict(self.turned_down)}, recounted {dict(recount)}"
