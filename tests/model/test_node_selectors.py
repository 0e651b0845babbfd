"""Node selectors: terms, names, weights, and errors that only take their own term out."""

from __future__ import annotations

import pytest

from bayplan.errors import SelectorError
from bayplan.model.node_selectors import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    compile_node_selector,
    compile_preferred_terms,
    named_nodes,
)


def has(key: str, operator: str, *values: str) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key, operator, values)


def labelled(*requirements: NodeSelectorRequirement) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=requirements)


def called(*requirements: NodeSelectorRequirement) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_fields=requirements)


N1 = has("metadata.name", "In", "n1")
SSD = has("disk", "In", "ssd")
BROKEN = has("disk", "Near", "ssd")


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param([], False, id="no terms match nothing"),
        pytest.param([NodeSelectorTerm()], False, id="an empty term matches nothing"),
        pytest.param([NodeSelectorTerm(), labelled(SSD)], True, id="but spoils no other"),
        pytest.param([labelled(SSD)], True, id="a label"),
        pytest.param([labelled(has("disk", "In", "hdd"))], False, id="another value"),
        pytest.param([labelled(SSD, has("gpu", "Exists"))], False, id="all of a term"),
        pytest.param([labelled(has("gpu", "Exists")), labelled(SSD)], True, id="any term"),
        pytest.param([labelled(has("cores", "Gt", "7"))], True, id="greater"),
        pytest.param([labelled(has("cores", "Lt", "8"))], False, id="less"),
        pytest.param([called(N1)], True, id="the name"),
        pytest.param([called(has("metadata.name", "NotIn", "n1"))], False, id="not the name"),
        pytest.param([called(has("metadata.uid", "In", "u"))], False, id="another field is empty"),
        pytest.param([called(has("metadata.uid", "NotIn", "u"))], True, id="which differs"),
        pytest.param(
            [NodeSelectorTerm((has("gpu", "Exists"),), (N1,))], False, id="name and labels"
        ),
        pytest.param([labelled(BROKEN), labelled(SSD)], True, id="a broken term spoils no other"),
        pytest.param([labelled(SSD, BROKEN)], False, id="a broken term matches nothing"),
    ],
)
def test_matching(terms: list[NodeSelectorTerm], expected: bool) -> None:
    matcher = compile_node_selector(NodeSelector(tuple(terms)))
    assert matcher.matches({"disk": "ssd", "cores": "8"}, "n1") is expected


def test_a_node_without_a_name_has_no_fields() -> None:
    assert compile_node_selector(NodeSelector((called(N1),))).matches({}, "")


@pytest.mark.parametrize(
    ("term", "error"),
    [
        pytest.param(labelled(SSD), "", id="nothing wrong"),
        pytest.param(
            labelled(SSD, BROKEN),
            'nodeSelectorTerms[0].matchExpressions[1].operator: Unsupported value: "Near": supported values:'
            ' "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
            id="unknown operator",
        ),
        pytest.param(
            labelled(has("cores", "Gt", "x")),
            'nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: "x": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
            id="not an integer",
        ),
        pytest.param(
            called(has("metadata.name", "Exists")),
            'nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: "Exists": supported values:'
            ' "In", "NotIn"',
            id="unknown operator for a field",
        ),
        pytest.param(
            called(has("metadata.name", "In", "a", "b")),
            'nodeSelectorTerms[0].matchFields[0].values: Invalid value: ["a","b"]: must have one element',
            id="two names",
        ),
        pytest.param(
            NodeSelectorTerm((has("a", "In"),), (has("metadata.name", "In"),)),
            "[nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: null: for 'in', 'notin' operators,"
            " values set can't be empty, nodeSelectorTerms[0].matchFields[0].values: Invalid value: null:"
            " must have one element]",
            id="labels and fields",
        ),
    ],
)
def test_errors(term: NodeSelectorTerm, error: str) -> None:
    assert compile_node_selector(NodeSelector((term,))).error == error


def test_path_goes_in_front_of_errors() -> None:
    found = compile_node_selector(NodeSelector((labelled(BROKEN),)), "required").error
    assert found.startswith("required.nodeSelectorTerms[0].matchExpressions[0].operator: ")


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param([], None, id="no terms"),
        pytest.param([called(N1)], {"n1"}, id="one"),
        pytest.param(
            [called(N1), called(has("metadata.name", "In", "n2"))], {"n1", "n2"}, id="two"
        ),
        pytest.param([called(N1), labelled(SSD)], None, id="a term that names none"),
        pytest.param([called(N1, has("metadata.name", "In", "n2"))], set(), id="a contradiction"),
        pytest.param([called(has("metadata.name", "NotIn", "n1"))], None, id="only excluded"),
        pytest.param([called(N1), NodeSelectorTerm()], None, id="an empty term"),
    ],
)
def test_named_nodes(terms: list[NodeSelectorTerm], expected: set[str] | None) -> None:
    assert named_nodes(NodeSelector(tuple(terms))) == expected


def test_preferences_add_up() -> None:
    preferences = compile_preferred_terms(
        [
            PreferredSchedulingTerm(10, labelled(SSD)),
            PreferredSchedulingTerm(5, called(N1)),
            PreferredSchedulingTerm(100, labelled(has("gpu", "Exists"))),
            PreferredSchedulingTerm(50, NodeSelectorTerm()),
            # Without weight nobody reads it, so nobody minds that it is broken.
            PreferredSchedulingTerm(0, labelled(BROKEN)),
        ]
    )
    assert preferences.score({"disk": "ssd"}, "n1") == 15
    assert preferences.score({}, "n2") == 0
    assert len(preferences.terms) == 3


def test_one_broken_preference_breaks_all() -> None:
    terms = [
        PreferredSchedulingTerm(1, labelled(SSD)),
        PreferredSchedulingTerm(1, labelled(BROKEN)),
    ]
    with pytest.raises(
        SelectorError, match=r"^\[1\]\.matchExpressions\[0\]\.operator: Unsupported"
    ):
        compile_preferred_terms(terms)


def test_terms_show_their_requirements() -> None:
    (term,) = compile_node_selector(NodeSelector((NodeSelectorTerm((SSD,), (N1,)),))).terms
    assert [(one.key, one.operator, one.values) for one in term.labels] == [
        ("disk", "In", ("ssd",))
    ]
    assert [(one.field, one.operator, one.value) for one in term.fields] == [
        ("metadata.name", "In", "n1")
    ]
    assert hash(term) == hash(term)
