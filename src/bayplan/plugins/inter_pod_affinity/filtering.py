"""Which nodes satisfy the required terms: the pod's own, and those that placed pods carry against it.

State of PreFilter: counts per topology key and domain. They are the cluster's own arrays as long as nobody supposes
anything; the clone that a what-if changes copies what it changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.cluster.carriers import Role
from bayplan.cluster.painting import Painting, Table
from bayplan.cluster.terms import compile_terms
from bayplan.framework.state import StateKey
from bayplan.framework.status import Rejected, Verdicts, unresolvable
from bayplan.plugins.inter_pod_affinity.plan import by_domain, matches, matches_all, speaks_of

if TYPE_CHECKING:
    from bayplan.cluster.domains import DomainMap
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.terms import PlacedTerm
    from bayplan.cluster.view import ClusterView, Nodes
    from bayplan.plugins.inter_pod_affinity.plan import Plan

#: Verdicts by number, 0 passes; of several that apply to a node the highest is the one that Kubernetes meets first.
OUTCOMES: Final = (
    Rejected("node(s) didn't satisfy existing pods anti-affinity rules"),
    Rejected("node(s) didn't match pod anti-affinity rules"),
    unresolvable("node(s) didn't match pod affinity rules"),
)
UNWELCOME: Final = 1
AWAY: Final = 2
NOT_NEAR: Final = 3


class Pairs:
    """Pods per domain of one topology key."""

    __slots__ = ("_copied", "counts", "domains")

    def __init__(self, domains: DomainMap, counts: NDArray[np.int32], *, copied: bool) -> None:
        self.domains = domains
        self.counts = counts
        self._copied = copied

    def clone(self) -> Pairs:
        """The same counts, to be changed apart."""
        return Pairs(self.domains, self.counts, copied=False)

    def change(self, row: int, delta: int) -> None:
        """Suppose that a pod that counts comes to a row or leaves it."""
        domain = int(self.domains.where[row])
        if domain < 0:
            return
        if not self._copied:
            self.counts, self._copied = self.counts.copy(), True
        self.counts[domain] += delta

    def add(self, more: NDArray[np.int32]) -> None:
        """Count further pods."""
        self.counts, self._copied = self.counts + more, True


class Required:
    """Everything that the required terms look at."""

    __slots__ = ("affinity", "anti_affinity", "existing", "index", "plan", "pod", "view")

    def __init__(
        self,
        plan: Plan,
        pod: PodInfo,
        view: ClusterView,
        index: Painting[np.int16] | None = None,
    ) -> None:
        self.plan = plan
        self.pod = pod
        self.view = view
        #: By topology key: pods that match all of the pod's affinity terms.
        self.affinity: dict[str, Pairs] = {}
        #: By term: pods that match the pod's anti-affinity terms.
        self.anti_affinity: list[Pairs] = []
        #: By topology key: placed pods whose anti-affinity terms speak of the pod, once per term.
        self.existing: dict[str, Pairs] = {}
        #: Verdicts on all nodes by number.
        self.index: Painting[np.int16] = Painting() if index is None else index

    def clone(self) -> Required:
        """A copy for a what-if."""
        clone = Required(self.plan, self.pod, self.view)
        clone.affinity = {key: pairs.clone() for key, pairs in self.affinity.items()}
        clone.anti_affinity = [pairs.clone() for pairs in self.anti_affinity]
        clone.existing = {key: pairs.clone() for key, pairs in self.existing.items()}
        return clone

    def change(self, other: PodInfo, row: int, delta: int) -> None:
        """Suppose that another pod comes to a row or leaves it."""
        namespaces, plan = self.view.cluster.namespaces, self.plan
        for carried in _anti_affinity_of(other):
            if speaks_of(namespaces, carried.term, self.pod):
                self._existing(carried.topology_key).change(row, delta)
        if matches_all(namespaces, plan.affinity, other):
            for pairs in self.affinity.values():
                pairs.change(row, delta)
        for wanted, pairs in zip(plan.anti_affinity, self.anti_affinity, strict=True):
            if matches(namespaces, wanted.term, other):
                pairs.change(row, delta)

    def _existing(self, key: str) -> Pairs:
        pairs = self.existing.get(key)
        if pairs is None:
            domains = self.view.cluster.counts.domains(key)
            nobody = np.zeros(domains.room, np.int32)
            pairs = self.existing[key] = Pairs(domains, nobody, copied=True)
        return pairs

    def starts_series(self) -> bool:
        """Whether the pod may be the first of a series that wants to be near itself.

        Nobody matches its terms anywhere yet, and it matches them itself.
        """
        return not any(pairs.counts.any() for pairs in self.affinity.values()) and matches_all(
            self.view.cluster.namespaces, self.plan.affinity, self.pod
        )


REQUIRED: Final = StateKey[Required]("required pod affinity")


def _anti_affinity_of(pod: PodInfo) -> tuple[PlacedTerm, ...]:
    return compile_terms(pod.shape, pod.namespace).anti_affinity


def count(plan: Plan, pod: PodInfo, view: ClusterView, before: Required | None) -> Required | None:
    """The counts as they are now; None where no required term has anything to do with the pod.

    ``before`` are those of the same class at an earlier attempt.
    """
    counts = view.cluster.counts
    state = Required(plan, pod, view, None if before is None else before.index)
    for carrier in counts.interest(pod.kin).carriers:
        if carrier.role is not Role.ANTI_AFFINITY or not carrier.total:
            continue
        key = carrier.placed.topology_key
        found = counts.view(carrier, counts.domains(key))
        if not found.total:
            continue
        pairs = state.existing.get(key)
        if pairs is None:
            state.existing[key] = Pairs(found.map, found.counts, copied=False)
        else:
            pairs.add(found.counts)
    if not (state.existing or plan.affinity or plan.anti_affinity):
        return None
    if plan.affinity:
        near = counts.tally(plan.affinity)
        for key in plan.affinity_keys:
            found = by_domain(counts, near, key)
            state.affinity[key] = Pairs(found.map, found.counts, copied=False)
    for wanted in plan.anti_affinity:
        found = by_domain(counts, counts.tally((wanted.term,)), wanted.topology_key)
        state.anti_affinity.append(Pairs(found.map, found.counts, copied=False))
    return state


def judge(state: Required, nodes: Nodes) -> Verdicts | None:
    """A verdict per node."""
    tables: dict[str, NDArray[np.int16]] = {}
    for key, pairs in state.existing.items():
        _note(tables, key, pairs.counts > 0, UNWELCOME)
    for wanted, pairs in zip(state.plan.anti_affinity, state.anti_affinity, strict=True):
        _note(tables, wanted.topology_key, pairs.counts > 0, AWAY)
    first = bool(state.affinity) and state.starts_series()
    for key, pairs in state.affinity.items():
        if first:
            lacking = np.zeros(len(pairs.counts), np.bool_)
            lacking[-1] = True  # what a node without the label finds
        else:
            lacking = pairs.counts <= 0
        _note(tables, key, lacking, NOT_NEAR)
    listed = list(tables.items())
    if not listed:
        return None
    index = state.index.paint(nodes, listed, _look_up)
    return Verdicts(index, OUTCOMES) if np.count_nonzero(index) else None


def _look_up(tables: Sequence[Table], nodes: Nodes) -> NDArray[np.int16]:
    index: NDArray[np.int16] | None = None
    for key, table in tables:
        found = table.take(nodes.label(key))
        index = found if index is None else np.maximum(index, found, out=index)
    assert index is not None
    return index


def _note(
    tables: dict[str, NDArray[np.int16]], key: str, applies: NDArray[np.bool_], verdict: int
) -> None:
    """Give domains a verdict, unless they have a higher one."""
    if not applies.any():
        return
    verdicts = applies.astype(np.int16)
    verdicts *= verdict
    known = tables.get(key)
    tables[key] = verdicts if known is None else np.maximum(known, verdicts, out=verdicts)
