"""A pod's own affinity terms, and the counts of the pods that match them.

Made once per shape and namespace; read by ``filtering`` and ``scoring``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayplan.cluster.terms import compile_terms

if TYPE_CHECKING:
    from bayplan.cluster.counts import Counts
    from bayplan.cluster.domains import DomainCounts
    from bayplan.cluster.namespaces import Namespaces
    from bayplan.cluster.podinfo import PodInfo, Shape
    from bayplan.cluster.tallies import Tally
    from bayplan.cluster.terms import PlacedTerm, Term


class Plan:
    """What the pods of one shape in one namespace ask of other pods."""

    __slots__ = (
        "affinity",
        "affinity_keys",
        "anti_affinity",
        "asks_namespaces",
        "error",
        "groups",
        "preferred",
    )

    def __init__(self, shape: Shape, namespace: str) -> None:
        terms = compile_terms(shape, namespace)
        #: Why the terms cannot be read.
        self.error = terms.problem
        #: All of these must be met by one and the same placed pod.
        self.affinity: tuple[Term, ...] = tuple(term.term for term in terms.affinity)
        self.affinity_keys = tuple(dict.fromkeys(term.topology_key for term in terms.affinity))
        self.anti_affinity: tuple[PlacedTerm, ...] = terms.anti_affinity
        self.preferred: tuple[PlacedTerm, ...] = terms.preferred
        self.asks_namespaces = any(term.namespace_selector.requirements for term in self.affinity)
        #: The sorts of pods that are counted.
        self.groups: tuple[tuple[Term, ...], ...] = (
            *((self.affinity,) if self.affinity else ()),
            *((term.term,) for term in (*self.anti_affinity, *self.preferred)),
        )


def plan_of(pod: PodInfo) -> Plan:
    """The plan of a pod, kept with its shape."""
    key = (Plan, pod.kin.namespace)
    memo = pod.shape.memo
    plan: Plan | None = memo.get(key)
    if plan is None:
        plan = memo[key] = Plan(pod.shape, pod.kin.namespace)
    return plan


def matches(namespaces: Namespaces, term: Term, other: PodInfo) -> bool:
    """Whether a term of the pod being placed speaks of another pod."""
    return namespaces.covered(term, other.namespace) and term.selector.matches(other.labels)


def matches_all(namespaces: Namespaces, terms: tuple[Term, ...], other: PodInfo) -> bool:
    """Whether there are terms and all of them speak of another pod."""
    return bool(terms) and all(matches(namespaces, term, other) for term in terms)


def speaks_of(namespaces: Namespaces, term: Term, pod: PodInfo) -> bool:
    """Whether a term of a placed pod speaks of the pod being placed."""
    return namespaces.covered_by_carrier(term, pod.namespace) and term.selector.matches(pod.labels)


def by_domain(counts: Counts, tally: Tally, key: str) -> DomainCounts:
    """The pods of a tally by domain of a topology key."""
    return counts.view(tally, counts.domains(key))
