from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bayplan.cluster.cluster import Cluster
from bayplan.cluster.terms import NO_TERMS, PlacedTerm, Term, compile_affinity, compile_terms
from bayplan.model.selectors import (
    EVERYTHING,
    NOTHING,
    LabelSelector,
    Selector,
    compile_label_selector,
)
from bayplan.testing import PodBuilder, make_pod


def selector(**labels: str) -> Selector:
    return compile_label_selector(LabelSelector(match_labels=labels))


def with_terms(*terms: dict[str, Any], anti: bool = False, weight: int = 0) -> PodBuilder:
    pod = make_pod("p")
    kind = "podAntiAffinity" if anti else "podAffinity"
    if weight:
        weighted = [{"weight": weight, "podAffinityTerm": term} for term in terms]
        rules: dict[str, Any] = {"preferredDuringSchedulingIgnoredDuringExecution": weighted}
    else:
        rules = {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}
    pod.manifest["spec"]["affinity"] = {kind: rules}
    return pod


WEB = {"matchLabels": {"app": "web"}}


@pytest.mark.parametrize(
    ("term", "compiled"),
    [
        pytest.param(
            {"labelSelector": WEB},
            Term(frozenset({"own"}), NOTHING, selector(app="web")),
            id="nothing said of namespaces: the own one",
        ),
        pytest.param(
            {"labelSelector": WEB, "namespaces": ["a", "b"]},
            Term(frozenset("ab"), NOTHING, selector(app="web")),
            id="names",
        ),
        pytest.param(
            {"labelSelector": WEB, "namespaceSelector": {}},
            Term(frozenset(), EVERYTHING, selector(app="web")),
            id="an empty namespace selector: all, without naming the own one",
        ),
        pytest.param(
            {"labelSelector": WEB, "namespaces": ["a"], "namespaceSelector": WEB},
            Term(frozenset("a"), selector(app="web"), selector(app="web")),
            id="both",
        ),
        pytest.param({}, Term(frozenset({"own"}), NOTHING, NOTHING), id="no selector: nobody"),
        pytest.param(
            {"labelSelector": {}}, Term(frozenset({"own"}), NOTHING, EVERYTHING), id="everybody"
        ),
    ],
)
def test_one_term(term: dict[str, Any], compiled: Term) -> None:
    shape = Cluster().info(with_terms({"topologyKey": "zone", **term}).build()).shape
    assert compile_terms(shape, "own").affinity == (PlacedTerm(compiled, "zone"),)
    assert hash(compile_terms(shape, "own").affinity[0].term) == hash(compiled)


def test_kinds_of_terms() -> None:
    term = {"topologyKey": "zone", "labelSelector": WEB}
    near = Cluster().info(with_terms(term, weight=5).build()).shape
    away = Cluster().info(with_terms(term, anti=True, weight=5).build()).shape
    required = Cluster().info(with_terms(term, anti=True).build()).shape
    assert [t.weight for t in compile_terms(near, "own").preferred] == [5]
    assert [t.weight for t in compile_terms(away, "own").preferred] == [-5]
    assert len(compile_terms(required, "own").anti_affinity) == 1
    assert compile_terms(Cluster().info(make_pod("p").build()).shape, "own") is NO_TERMS


def test_terms_of_the_same_shape_differ_by_namespace() -> None:
    shape = Cluster().info(with_terms({"topologyKey": "zone", "labelSelector": WEB}).build()).shape
    one, other = (compile_terms(shape, name).affinity[0].term for name in ("a", "b"))
    assert one != other
    assert compile_terms(shape, "a") is compile_terms(shape, "a"), "compiled once"


def test_terms_that_cannot_be_read() -> None:
    bad = {"matchExpressions": [{"key": "app", "operator": "Near"}]}
    for field in ("labelSelector", "namespaceSelector"):
        shape = Cluster().info(with_terms({"topologyKey": "zone", field: bad}).build()).shape
        terms = compile_terms(shape, "own")
        assert terms.affinity == ()
        assert terms.problem.startswith('requiredAffinityTerms: "Near" is not a valid')


def test_terms_that_can_be_read_hold_though_others_cannot() -> None:
    bad = {"matchExpressions": [{"key": "app", "operator": "Near"}]}
    pod = with_terms({"topologyKey": "zone", "labelSelector": bad})
    affinity = pod.build().spec.affinity
    assert affinity is not None
    away = (
        with_terms({"topologyKey": "zone", "labelSelector": WEB}, anti=True).build().spec.affinity
    )
    assert away is not None
    both = msgspec.structs.replace(affinity, pod_anti_affinity=away.pod_anti_affinity)
    terms = compile_affinity(both, "own")
    assert terms.problem
    assert terms.affinity == ()
    assert len(terms.anti_affinity) == 1
