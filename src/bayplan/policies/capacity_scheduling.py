"""CapacityScheduling: elastic quotas. Namespaces lend each other what they do not use, and take it back by preemption.

Reads:  the ElasticQuotas (``spec.min``: what a namespace is sure of; ``spec.max``: the most it may use), what the pods of
        each namespace take, pods that wait for room that was made for them.
Says:   turns a pod down that would take its namespace over ``max``, or all namespaces together over the sum of all
        ``min``. Eviction can cure both: a namespace within its minimum takes back what others have borrowed, one above it
        makes room among its own pods of lower priority. Pods without a quota never have pods with one evicted, nor the
        other way round.

Put it in DefaultPreemption's place at postFilter, or that evicts by priority alone. The rules are those of the plugin of
this name in Kubernetes' scheduler-plugins, but that a resource limits nobody unless a quota names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bayplan import (
    SKIP,
    Action,
    ClusterView,
    CycleState,
    Failures,
    FilterPlugin,
    Hint,
    Mask,
    Nodes,
    Nominated,
    PlacedPods,
    PodInfo,
    PreemptionPlugin,
    PreFilterPlugin,
    Quota,
    Quotas,
    Reads,
    Rejected,
    Resource,
    Skip,
    Verdicts,
    WakeOn,
    quantity_text,
)

#: So many of those who have borrowed are named.
TOLD = 3
#: Amounts beyond this are compared as if they were this.
HUGE = 1 << 62
#: What stands in the way of a pod also where some others are gone.
OUTCOMES = (
    Rejected("quota of the namespace: max exceeded all the same"),
    Rejected("quotas of all namespaces: exceeded all the same"),
)
WAITS = "preemption: waiting for pods that leave for others"
Amounts = Mapping[str, int]


def takes(pod: PodInfo) -> dict[str, int]:
    """What a pod counts for."""
    return {**pod.requests, "pods": 1}


def add(sums: dict[str, int], pod: PodInfo) -> None:
    for name, amount in takes(pod).items():
        sums[name] = sums.get(name, 0) + amount


class CapacityScheduling(PreemptionPlugin, PreFilterPlugin, FilterPlugin):
    """Keeps namespaces within their elastic quotas."""

    reads = Reads.QUOTAS | Reads.PROMISES
    watches = (Resource.ELASTIC_QUOTA,)

    _kept: tuple[Any, Ledger] | None = None

    # --- may the pod have it? ------------------------------------------------------------------------------------------

    def prefilter(
        self, pod: PodInfo, view: ClusterView, state: CycleState
    ) -> Skip | Rejected | None:
        return (
            SKIP if view.quotas.of(pod.namespace) is None else self._ledger(pod, view).objection()
        )

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Verdicts | Rejected | None:
        """What PreFilter said, asked again: in a what-if there are other pods."""
        return self._ledger(pod, self.handle.view).verdicts(nodes)

    def stamp(self, pod: PodInfo, view: ClusterView, state: CycleState) -> Any:
        if view.quotas.of(pod.namespace) is None:
            return None
        return (self._ledger(pod, view).objection(),)

    def sign(self, pod: PodInfo) -> str | None:
        """Room that was made for this very pod does not count against it, as it does against others like it."""
        view = self.handle.view
        return pod.key if view.promised_to(pod) and view.quotas.of(pod.namespace) else None

    def wakes_on(self) -> Sequence[WakeOn]:
        return (
            WakeOn(Resource.ELASTIC_QUOTA, Action.ALL),
            WakeOn(Resource.POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN, self._frees),
        )

    def _frees(self, pod: PodInfo, old: Any, new: Any) -> Hint:
        """Whether a pod that went, or asks for less now, was counted by a quota."""
        gone = old if new is None else new
        counted = gone is None or self.handle.view.quotas.of(gone.metadata.namespace) is not None
        return Hint.QUEUE if counted else Hint.SKIP

    def _ledger(self, pod: PodInfo, view: ClusterView) -> Ledger:
        """Kept while nothing changes: a search for victims asks hundreds of times."""
        at = (pod.key, pod.uid, pod.resource_version, view.versions(self.reads))
        if self._kept is None or self._kept[0] != at:
            self._kept = at, Ledger(pod, view)
        return self._kept[1]

    def postfilter(
        self, pod: PodInfo, view: ClusterView, state: CycleState, failures: Failures
    ) -> Nominated | Rejected:
        """Nobody goes where it is enough to wait for those who leave for others already."""
        if view.quotas.of(pod.namespace) is not None and self._ledger(pod, view).will_do():
            return Rejected(WAITS)
        return super().postfilter(pod, view, state, failures)

    # --- who has to go? ------------------------------------------------------------------------------------------------

    def evictable(self, pod: PodInfo, others: PlacedPods, state: CycleState) -> Mask:
        view = self.handle.view
        quotas = view.quotas
        lower = others.priority < pod.priority
        if quotas.of(pod.namespace) is None:
            return lower & others.by_namespace(lambda name: quotas.of(name) is None)
        if self._ledger(pod, view).within_minimum():
            asks = {name for name, amount in takes(pod).items() if amount}
            borrowers = {who for who, over in borrowers_of(quotas) if asks & over.keys()}
            borrowers.discard(pod.namespace)
            if borrowers:
                return others.by_namespace(borrowers.__contains__)
        return lower & others.by_namespace(lambda name: name == pod.namespace)


class Ledger:
    """What there is and what is used, for one pod."""

    def __init__(self, pod: PodInfo, view: ClusterView) -> None:
        quotas = view.quotas
        quota = quotas.of(pod.namespace)
        assert quota is not None
        self._pod, self._quotas, self._quota = pod, quotas, quota
        self._asks = {name: amount for name, amount in takes(pod).items() if amount > 0}
        self._own_promised: dict[str, int] = {}
        self._all_promised: dict[str, int] = {}
        self._borrowing: dict[str, bool] = {}
        #: Pods that leave for those to whom room is promised, and what they take as long as they are there.
        self._leaving: frozenset[str] = frozenset()
        self._own_leaving: dict[str, int] = {}
        self._all_leaving: dict[str, int] = {}
        claimed: set[str] = set()
        for other, _ in view.promised():
            if other.key != pod.key and self._count_promise(other):
                claimed |= view.claimed_by(other)
        if claimed:
            self._count_leaving(claimed, view)

    def _count_leaving(self, claimed: set[str], view: ClusterView) -> None:
        self._leaving = frozenset(claimed)
        for key in claimed:
            pod = view.pod(*key.split("/"))
            if pod is not None and self._quotas.of(pod.namespace) is not None:
                add(self._all_leaving, pod)
                if pod.namespace == self._pod.namespace:
                    add(self._own_leaving, pod)

    def _count_promise(self, other: PodInfo) -> bool:
        """Room that was made for another pod is as good as taken: by its own kind, or by what is its namespace's due."""
        if self._quotas.of(other.namespace) is None:
            return False
        own = other.namespace == self._pod.namespace
        if own and other.priority < self._pod.priority:
            return False
        if not own and self._borrows(other.namespace):
            return False
        add(self._all_promised, other)
        if own:
            add(self._own_promised, other)
        return True

    def _borrows(self, namespace: str) -> bool:
        known = self._borrowing.get(namespace)
        if known is None:
            known = self._borrowing[namespace] = bool(self._quotas.borrowed(namespace))
        return known

    def _own(self, name: str) -> int:
        """What the namespace uses of a resource, the pod not counted."""
        used = self._quotas.used(self._pod.namespace).get(name, 0)
        return used + self._own_promised.get(name, 0)

    def _all(self, name: str) -> int:
        """What all namespaces use of it."""
        return self._quotas.total_used.get(name, 0) + self._all_promised.get(name, 0)

    def will_do(self) -> bool:
        """Whether the quotas stand in the way now, and not once those have left who leave for others."""
        return self.objection() is not None and not any(
            most is not None and used + amount > most
            for name, amount in self._asks.items()
            for used, most in (
                (self._own_then(name), self._quota.max.get(name)),
                (self._all_then(name), self._quotas.guaranteed.get(name)),
            )
        )

    def _own_then(self, name: str) -> int:
        return self._own(name) - self._own_leaving.get(name, 0)

    def _all_then(self, name: str) -> int:
        return self._all(name) - self._all_leaving.get(name, 0)

    def within_minimum(self) -> bool:
        """Whether the namespace is sure of what the pod asks for."""
        guaranteed = self._quotas.guaranteed
        return all(
            self._own(name) + amount <= self._quota.min.get(name, 0)
            for name, amount in self._asks.items()
            if name in guaranteed
        )

    def objection(self) -> Rejected | None:
        """Why the pod may not have what it asks for."""
        reasons = [*self._over_max()] or [*self._over_all()]
        return Rejected(*reasons) if reasons else None

    def verdicts(self, nodes: Nodes) -> Verdicts | Rejected | None:
        """The same for each node of a what-if, on which pods are supposed gone; who leaves for others is gone anyway."""
        own, everybody = frozenset((self._quota.namespace,)), self._quotas.namespaces
        over_max, over_all = np.zeros(len(nodes), np.bool_), np.zeros(len(nodes), np.bool_)
        for name, amount in self._asks.items():
            for over, used, most, of in (
                (over_max, self._own_then(name), self._quota.max.get(name), own),
                (over_all, self._all_then(name), self._quotas.guaranteed.get(name), everybody),
            ):
                moved = nodes.moved(name, of, self._leaving)
                if moved is None:
                    return self.objection()
                if most is not None:
                    over |= moved > max(-HUGE, min(most - used - amount, HUGE))
        index = np.where(over_max, 1, np.where(over_all, 2, 0)).astype(np.int16)
        return Verdicts(index, OUTCOMES)

    def _over_max(self) -> Iterator[str]:
        for name, amount in self._asks.items():
            most = self._quota.max.get(name)
            used = self._own(name)
            if most is not None and used + amount > most:
                yield (
                    f"quota of namespace {self._quota.namespace}: {name} {quantity_text(name, used)} "
                    f"of max {quantity_text(name, most)} used"
                )

    def _over_all(self) -> Iterator[str]:
        for name, amount in self._asks.items():
            most = self._quotas.guaranteed.get(name)
            used = self._all(name)
            if most is not None and used + amount > most:
                yield (
                    f"quotas of all namespaces: {name} {quantity_text(name, used)} "
                    f"of {quantity_text(name, most)} used{self._lent(name)}"
                )

    def _lent(self, name: str) -> str:
        """Who has borrowed, those who have most first."""
        lent = [(who, over[name]) for who, over in borrowers_of(self._quotas) if name in over]
        lent.sort(key=lambda each: (-each[1], each[0]))
        told = [f"{quantity_text(name, amount)} by {who}" for who, amount in lent[:TOLD]]
        if len(lent) > TOLD:
            told.append(f"more by {len(lent) - TOLD} others")
        return f", borrowed {', '.join(told)}" if told else ""


def borrowers_of(quotas: Quotas) -> Iterator[tuple[str, Amounts]]:
    """The namespaces that use more than their minimum, and of what by how much."""
    quota: Quota
    for quota in quotas:
        over = quotas.borrowed(quota.namespace)
        if over:
            yield quota.namespace, over
