"""FairQueues: a tree of queues that share the cluster by weight, by dominant-resource fairness.

Reads:  which queue a pod is in: the one that its label or annotation ``label`` names, if the pod's namespace may use it,
        or else the first that lists the namespace, or else ``default``; what the placed pods of each queue take, of what
        all nodes offer.
Says:   the next pod comes from the queue that has least of its due. A queue's share is that of the resource of which it
        has most (its dominant one), divided by its weight; at every level of the tree the child with the smallest goes
        first. Within a queue pods go by priority, then by time. Pods of system priority go before all queues.

A queue whose pods do not fit holds nobody up: they leave the ready pods until something happens. And a queue that was
passed over ``patience`` times in a row has its turn, whatever its share: whoever floods the scheduler with pods that fail
cannot starve the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from bayplan import Account, PodInfo, QueueSortPlugin, Reads

DEFAULT: Final = "default"
SYSTEM: Final = "system"
#: Priorities from here on are Kubernetes' own.
SYSTEM_PRIORITY: Final = 2_000_000_000


class Queue(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """A queue and those below it; pods are in queues that have none below."""

    name: str
    weight: float = 1.0
    #: Namespaces whose pods are in it, or may ask to be; without any, all may ask.
    namespaces: tuple[str, ...] = ()
    queues: tuple[Queue, ...] = ()


class FairQueues(QueueSortPlugin):
    """Takes pods from the queue that has least of its due."""

    reads = Reads.NOTHING

    queues: tuple[Queue, ...] = ()
    #: Label or annotation by which a pod names its queue.
    label: str = "bayplan.io/queue"
    default_weight: float = 1.0
    #: After so many turns of others a queue has its own; 0: never but by its share.
    patience: int = 100

    @classmethod
    def check_args(cls, args: Any) -> Iterator[tuple[str, str]]:
        seen: set[str] = set()
        for path, queue, _ in walk(args.queues):
            if not queue.name or queue.name in seen or queue.name == SYSTEM:
                what = f'a queue named "{queue.name}" already exists' if queue.name else "is empty"
                yield f"{path}.name", f"Invalid value: {what}"
            seen.add(queue.name)
            if not 0 < queue.weight < float("inf"):
                yield f"{path}.weight", "Invalid value: must be greater than 0"
            if queue.name == DEFAULT and queue.queues:
                yield f"{path}.queues", "Invalid value: the default queue has none below it"
        if not 0 < args.default_weight < float("inf"):
            yield "defaultWeight", "Invalid value: must be greater than 0"
        if args.patience < 0:
            yield "patience", "Invalid value: must not be negative"

    def setup(self) -> None:
        tree = self.queues
        if not any(queue.name == DEFAULT for _, queue, _ in walk(tree)):
            tree = (*tree, Queue(name=DEFAULT, weight=self.default_weight))
        self._tree = tree
        #: By queue that pods are in: the namespaces that it or one above it lists.
        self._allowed: dict[str, frozenset[str]] = {}
        self._by_namespace: dict[str, str] = {}
        #: Below each queue: those that pods are in.
        self._leaves: dict[str, tuple[str, ...]] = {}
        #: From the top of the tree down to each of those.
        self._way: dict[str, tuple[str, ...]] = {}
        for _, queue, above in walk(tree):
            below = (queue, *(one for _, one, _ in walk(queue.queues)))
            self._leaves[queue.name] = tuple(one.name for one in below if not one.queues)
            if not queue.queues:
                self._way[queue.name] = tuple(one.name for one in (*reversed(above), queue))
                listed = [name for one in (queue, *above) for name in one.namespaces]
                self._allowed[queue.name] = frozenset(listed)
                for name in listed:
                    self._by_namespace.setdefault(name, queue.name)
        #: How often in a row each queue was passed over.
        self._passed: dict[str, int] = {}
        # A configuration that is only checked has no cluster.
        if getattr(self, "handle", None) is not None:
            depth = max(map(len, self._way.values()))
            #: What the queues of each level of the tree have.
            self._accounts: list[Account] = [
                self.handle.view.account(f"{self.name} {level}", partial(self._queue_at, level))
                for level in range(depth)
            ]

    # --- where a pod waits ---------------------------------------------------------------------------------------------

    def sort_key(self, pod: PodInfo, queued_at: float) -> tuple[int, float]:
        return (-pod.priority, queued_at)

    def lane(self, pod: PodInfo) -> str:
        return SYSTEM if pod.priority >= SYSTEM_PRIORITY else self._queue_of(pod)

    def _queue_of(self, pod: PodInfo) -> str:
        for named in (pod.labels.get(self.label), pod.annotations.get(self.label)):
            if named in self._allowed:
                allowed = self._allowed[named]
                if not allowed or pod.namespace in allowed:
                    return named
        return self._by_namespace.get(pod.namespace, DEFAULT)

    def _queue_at(self, level: int, pod: PodInfo) -> str | None:
        """The queue at a level of the tree that a pod's queue is below, or is."""
        way = self._way[self._queue_of(pod)]
        return way[level] if level < len(way) else None

    # --- whose turn it is ----------------------------------------------------------------------------------------------

    def next_lane(self, waiting: Sequence[str]) -> str:
        if SYSTEM in waiting:
            return SYSTEM
        if len(waiting) == 1:
            self._passed.clear()
            return waiting[0]
        chosen = self._neglected(waiting) or self._least(waiting)
        self._passed = {lane: self._passed.get(lane, 0) + 1 for lane in waiting if lane != chosen}
        return chosen

    def _neglected(self, waiting: Sequence[str]) -> str:
        """The queue that was passed over most often, if that was too often."""
        if not self.patience or not self._passed:
            return ""
        most = max(waiting, key=lambda lane: self._passed.get(lane, 0))
        return most if self._passed.get(most, 0) >= self.patience else ""

    def _least(self, waiting: Sequence[str]) -> str:
        """Down the tree, at each level to the child that has least of its due; the first among equals."""
        capacity = self.handle.view.capacity()
        queues, ready = self._tree, set(waiting)
        for account in self._accounts:
            children = [one for one in queues if not ready.isdisjoint(self._leaves[one.name])]
            if not children:  # a pod that was put in no queue of ours
                break
            due = [share(account.used(one.name), capacity) / one.weight for one in children]
            chosen = children[due.index(min(due))]
            if not chosen.queues:
                return chosen.name
            queues = chosen.queues
        return waiting[0]


def share(used: Mapping[str, int], capacity: Mapping[str, int]) -> float:
    """Of the resource of which a queue has most: how much of all there is."""
    most = 0.0
    for name, amount in used.items():
        offered = capacity.get(name)
        if offered and amount > most * offered:
            most = amount / offered
    return most


def walk(
    queues: Sequence[Queue], path: str = "queues", above: tuple[Queue, ...] = ()
) -> Iterator[tuple[str, Queue, tuple[Queue, ...]]]:
    """Every queue of a tree: where the configuration has it, itself, and those above it."""
    for i, queue in enumerate(queues):
        yield f"{path}[{i}]", queue, above
        yield from walk(queue.queues, f"{path}[{i}].queues", (queue, *above))
