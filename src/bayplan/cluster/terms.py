"""Compiled pod affinity terms: hashable, so that equal ones are counted once.

Compiled from specs by ``compile_terms``, for plugins and for the placed pods that carry terms; matched by ``counts``
against kins.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from bayplan.errors import SelectorError
from bayplan.model.label_syntax import aggregate
from bayplan.model.selectors import NOTHING, Selector, compile_label_selector

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import Shape
    from bayplan.model.pod import Affinity, PodAffinityTerm


class Term:
    """Pods of some namespaces with some labels."""

    __slots__ = ("_hash", "namespace_selector", "namespaces", "selector")

    def __init__(
        self, namespaces: frozenset[str], namespace_selector: Selector, selector: Selector
    ) -> None:
        #: Namespaces by name.
        self.namespaces = namespaces
        #: Further namespaces, by their labels.
        self.namespace_selector = namespace_selector
        self.selector = selector
        # Terms are keys of every look-up; hashing selectors anew each time would cost more than the look-up.
        self._hash = hash((namespaces, namespace_selector, selector))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Term)
            and self.namespaces == other.namespaces
            and self.selector == other.selector
            and self.namespace_selector == other.namespace_selector
        )

    def __repr__(self) -> str:
        return f"Term({sorted(self.namespaces)}, {self.namespace_selector!r}, {self.selector!r})"


class PlacedTerm(NamedTuple):
    """A term and the topology over which it holds; ``weight`` counts for preferred ones."""

    term: Term
    topology_key: str
    weight: int = 0


_PlacedTerms: TypeAlias = tuple[PlacedTerm, ...]


class Terms(NamedTuple):
    """All inter-pod terms of a pod."""

    affinity: tuple[PlacedTerm, ...] = ()
    anti_affinity: tuple[PlacedTerm, ...] = ()
    #: Preferred ones; those of anti-affinity with a weight below zero.
    preferred: tuple[PlacedTerm, ...] = ()
    #: What cannot be read. Such a pod cannot be placed; once it is, the parts that can be read still hold.
    problem: str = ""


NO_TERMS: Final = Terms()


def in_namespace(namespace: str, selector: Selector) -> Term:
    """The pods of one namespace that a selector selects."""
    return Term(frozenset((namespace,)), NOTHING, selector)


def compile_terms(shape: Shape, namespace: str) -> Terms:
    """The terms of a pod with this shape in this namespace."""
    affinity = shape.spec.affinity
    if affinity is None:
        return NO_TERMS
    key = (compile_terms, namespace)
    known: Terms | None = shape.memo.get(key)
    if known is None:
        known = shape.memo[key] = compile_affinity(affinity, namespace)
    return known


def compile_affinity(affinity: Affinity | None, namespace: str) -> Terms:
    """The terms of a pod in ``namespace`` with this affinity."""
    if affinity is None:
        return NO_TERMS
    near, far = affinity.pod_affinity, affinity.pod_anti_affinity
    problems: list[str] = []

    def compile_all(what: str, terms: Iterable[tuple[PodAffinityTerm, int]]) -> _PlacedTerms:
        try:
            return tuple(_compile(term, namespace, weight) for term, weight in terms)
        except SelectorError as error:
            problems.append(f"{what}: {error}")
            return ()

    required = compile_all("requiredAffinityTerms", ((t, 0) for t in near.required))
    excluded = compile_all("requiredAntiAffinityTerms", ((t, 0) for t in far.required))
    liked = ((w.pod_affinity_term, w.weight) for w in near.preferred)
    disliked = ((w.pod_affinity_term, -w.weight) for w in far.preferred)
    preferred = compile_all("preferredAffinityTerms", liked)
    preferred += compile_all("preferredAntiAffinityTerms", disliked)
    return Terms(required, excluded, preferred, aggregate(problems) if problems else "")


def _compile(term: PodAffinityTerm, namespace: str, weight: int) -> PlacedTerm:
    selector = compile_label_selector(term.label_selector)
    names = term.namespaces
    if not names and term.namespace_selector is None:
        names = (namespace,)  # the pod's own is meant where none is said
    by_labels = compile_label_selector(term.namespace_selector)
    return PlacedTerm(Term(frozenset(names), by_labels, selector), term.topology_key, weight)
