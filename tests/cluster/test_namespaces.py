from __future__ import annotations

import pytest

from bayplan.cluster.namespaces import Namespaces
from bayplan.cluster.terms import Term
from bayplan.model.decode import decode_as
from bayplan.model.namespace import Namespace
from bayplan.model.selectors import (
    EVERYTHING,
    LabelSelector,
    LabelSelectorRequirement,
    compile_label_selector,
)


def namespace(name: str, **labels: str) -> Namespace:
    return decode_as(Namespace, {"metadata": {"name": name, "labels": labels}})


def term(*names: str, selector: dict[str, str] | None = None) -> Term:
    wanted = None if selector is None else LabelSelector(match_labels=selector)
    return Term(frozenset(names), compile_label_selector(wanted), EVERYTHING)


#: It only excludes, and so holds for a namespace of which no labels are known.
EXCLUDING = Term(
    frozenset(),
    compile_label_selector(
        LabelSelector(match_expressions=(LabelSelectorRequirement("team", "NotIn", ("x", "y")),))
    ),
    EVERYTHING,
)


@pytest.mark.parametrize(
    ("wanted", "name", "of_the_pod", "of_a_carrier"),
    [
        pytest.param(term("blue"), "blue", True, True, id="by name"),
        pytest.param(term("gone"), "gone", True, True, id="by name, though there is no object"),
        pytest.param(term("blue"), "green", False, False, id="another name"),
        pytest.param(term(selector={"team": "x"}), "blue", True, True, id="by label"),
        pytest.param(term(selector={"team": "x"}), "green", False, False, id="another label"),
        pytest.param(term(selector={"team": "x"}), "gone", False, False, id="no object, no label"),
        pytest.param(term(selector={}), "gone", True, True, id="everywhere"),
        pytest.param(term("green", selector={"team": "x"}), "green", True, True, id="a union"),
        pytest.param(term(), "blue", False, False, id="nowhere"),
        pytest.param(EXCLUDING, "gone", True, True, id="exclusion, no object"),
        pytest.param(EXCLUDING, "blue", True, False, id="exclusion: upstream's two answers"),
    ],
)
def test_covered(wanted: Term, name: str, of_the_pod: bool, of_a_carrier: bool) -> None:
    namespaces = Namespaces()
    namespaces.put(namespace("blue", team="x"))
    namespaces.put(namespace("green", team="y"))
    assert namespaces.covered(wanted, name) is of_the_pod
    assert namespaces.covered_by_carrier(wanted, name) is of_a_carrier


def test_a_version_for_every_change_and_for_nothing_else() -> None:
    namespaces = Namespaces()
    seen = [namespaces.version]
    for act, obj in (
        (namespaces.put, namespace("blue")),
        (namespaces.put, namespace("blue")),
        (namespaces.put, namespace("blue", team="x")),
        (namespaces.remove, namespace("green")),
        (namespaces.remove, namespace("blue")),
    ):
        act(obj)
        seen.append(namespaces.version)
    assert seen == [0, 1, 1, 2, 2, 3]
    assert len(namespaces) == 0
