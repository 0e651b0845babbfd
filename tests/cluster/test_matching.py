"""Whoever matches is among the candidates: missing one would be a wrong count, one too many costs only time."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.matching import MANY, KinFile, TermFile, anchors
from bayplan.cluster.podinfo import Kin
from bayplan.cluster.terms import Term
from bayplan.model.selectors import (
    EVERYTHING,
    NOTHING,
    LabelSelector,
    LabelSelectorRequirement,
    compile_label_selector,
)

NAMES = ["blue", "green", "red"]


def expression(key: str, operator: str, *values: str) -> LabelSelector:
    return LabelSelector(match_expressions=(LabelSelectorRequirement(key, operator, values),))


SELECTORS = st.sampled_from(
    [
        None,
        LabelSelector(),
        LabelSelector(match_labels={"app": "web"}),
        LabelSelector(match_labels={"app": "web", "tier": "x"}),
        expression("app", "In", "web", "db"),
        expression("app", "In", "db", *(f"v{i}" for i in range(MANY + 1))),
        expression("app", "NotIn", "web"),
        expression("tier", "Exists"),
        expression("app", "DoesNotExist"),
    ]
).map(compile_label_selector)
NAMESPACES = st.frozensets(st.sampled_from(NAMES)) | st.just(
    frozenset(f"ns{i}" for i in range(MANY + 1))
)
TERMS = st.builds(Term, NAMESPACES, st.sampled_from([NOTHING, NOTHING, EVERYTHING]), SELECTORS)
LABELS = st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["web", "db", "x"]))
KINS = st.lists(st.tuples(st.sampled_from(NAMES), LABELS), max_size=6).map(
    lambda drawn: [Kin(i, *one) for i, one in enumerate(drawn)]
)


def matches(terms: Iterable[Term], kin: Kin) -> bool:
    return all(
        (kin.namespace in term.namespaces or term.namespace_selector.matches({}))
        and term.selector.matches(kin.labels)
        for term in terms
    )


@given(KINS, st.lists(st.lists(TERMS, min_size=1, max_size=2), max_size=6), st.data())
def test_everybody_who_matches_is_a_candidate(
    kins: list[Kin], sets: list[list[Term]], data: st.DataObject
) -> None:
    by_kin, by_term = KinFile[int](), TermFile[int]()
    for kin in kins:
        by_kin.add(kin.id, kin)
    for number, terms in enumerate(sets):
        by_term.add(number, anchors(terms))
    gone = data.draw(st.sets(st.integers(0, 5)))
    for kin in kins:
        if kin.id in gone:
            by_kin.remove(kin.id, kin)
    for number, terms in enumerate(sets):
        if number in gone:
            by_term.remove(number, anchors(terms))
    left = [kin for kin in kins if kin.id not in gone]
    for number, terms in enumerate(sets):
        found = set(by_kin.candidates(anchors(terms)))
        assert {kin.id for kin in left if matches(terms, kin)} <= found <= {kin.id for kin in left}
        for kin in left:
            if number not in gone and matches(terms, kin):
                assert number in set(by_term.candidates(kin))
    for kin in kins:
        assert not gone & set(by_term.candidates(kin))
    for name in NAMES:
        assert set(by_kin.in_namespace(name)) == {k.id for k in left if k.namespace == name}


def test_a_selector_of_one_label_in_one_namespace_is_compared_with_nobody_else() -> None:
    by_kin = KinFile[int]()
    for number in range(100):
        kin = Kin(number, "blue", {"app": f"app-{number}"})
        by_kin.add(kin.id, kin)
    selector = compile_label_selector(LabelSelector(match_labels={"app": "app-7"}))
    wanted = Term(frozenset({"blue"}), NOTHING, selector)
    assert list(by_kin.candidates(anchors([wanted]))) == [7]
