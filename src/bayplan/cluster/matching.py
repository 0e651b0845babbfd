"""Who matches whom without asking everybody: selectors found by labels, and labels found by selectors.

Used by ``counts``. A selector that wants ``app=web`` in one namespace is filed under just that; it is only compared with
pods that have it. Thousands of workloads that select their own pods thus cost nothing to each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from bayplan.model.selectors import Operator

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import Kin
    from bayplan.cluster.terms import Term

T = TypeVar("T")

#: A namespace (None: any) and a label with its value (None: any).
Anchor = tuple[str | None, tuple[str, str] | None]
#: With more anchors than this a term is filed under fewer, broader ones.
MANY: Final = 32


def anchors(terms: Iterable[Term]) -> list[Anchor]:
    """Places such that whatever matches all ``terms`` is found at one of them."""
    return min((_anchors(term) for term in terms), key=_breadth)


def _breadth(places: list[Anchor]) -> tuple[bool, bool, int]:
    namespace, label = places[0]
    return label is None, namespace is None, len(places)


def _anchors(term: Term) -> list[Anchor]:
    labels: list[tuple[str, str] | None] = [None]
    fewest = MANY
    for wanted in term.selector.requirements:
        if wanted.operator is Operator.IN and len(wanted.values) <= fewest:
            labels, fewest = [(wanted.key, value) for value in wanted.values], len(wanted.values)
    by_name = term.namespace_selector.nothing and len(term.namespaces) * len(labels) <= MANY
    namespaces: list[str | None] = [*term.namespaces] if by_name else [None]
    # A term that can match nobody is filed where nobody looks.
    return [(namespace, label) for namespace in namespaces for label in labels] or [("", ("", ""))]


class TermFile(Generic[T]):
    """Things with terms, found by the kins they may match."""

    def __init__(self) -> None:
        self._places: dict[Anchor, dict[T, None]] = {}

    def add(self, thing: T, places: Iterable[Anchor]) -> None:
        """File a thing."""
        for place in places:
            self._places.setdefault(place, {})[thing] = None

    def remove(self, thing: T, places: Iterable[Anchor]) -> None:
        """Take a thing out again."""
        for place in places:
            things = self._places[place]
            del things[thing]
            if not things:
                del self._places[place]

    def candidates(self, kin: Kin) -> Iterator[T]:
        """All that may match a kin, each once or more."""
        if not self._places:
            return
        labels: list[tuple[str, str] | None] = [None, *kin.labels.items()]
        for namespace in (kin.namespace, None):
            for label in labels:
                things = self._places.get((namespace, label))
                if things is not None:
                    yield from things


class KinFile(Generic[T]):
    """Things with a kin each, found by the terms that may match it."""

    def __init__(self) -> None:
        self._all: dict[str, dict[T, None]] = {}
        self._labelled: dict[str, dict[tuple[str, str], T | dict[T, None]]] = {}

    def add(self, thing: T, kin: Kin) -> None:
        """File a thing under its kin."""
        self._all.setdefault(kin.namespace, {})[thing] = None
        if not kin.labels:
            return
        places = self._labelled.setdefault(kin.namespace, {})
        for label in kin.labels.items():
            held = places.get(label)
            # Most labels that tell pods apart are carried by one kin: no dict of its own for that.
            if held is None:
                places[label] = thing
            elif isinstance(held, dict):
                held[thing] = None
            else:
                places[label] = {held: None, thing: None}

    def remove(self, thing: T, kin: Kin) -> None:
        """Take a thing out again."""
        everyone = self._all[kin.namespace]
        del everyone[thing]
        if not everyone:
            del self._all[kin.namespace]
        if not kin.labels:
            return
        places = self._labelled[kin.namespace]
        for label in kin.labels.items():
            held = places[label]
            if isinstance(held, dict):
                del held[thing]
            if not isinstance(held, dict) or not held:
                del places[label]
        if not places:
            del self._labelled[kin.namespace]

    def in_namespace(self, namespace: str) -> Iterable[T]:
        """All whose kin is in this namespace."""
        return list(self._all.get(namespace, ()))

    def candidates(self, places: Iterable[Anchor]) -> Iterator[T]:
        """All that a term filed at ``places`` may match, each once or more."""
        for namespace, label in places:
            namespaces = self._all if namespace is None else (namespace,)
            for name in namespaces:
                yield from self._at(name, label)

    def _at(self, namespace: str, label: tuple[str, str] | None) -> Iterable[T]:
        if label is None:
            return self._all.get(namespace, ())
        empty: Mapping[tuple[str, str], T | dict[T, None]] = {}
        held = self._labelled.get(namespace, empty).get(label)
        if held is None:
            return ()
        return held if isinstance(held, dict) else (held,)
