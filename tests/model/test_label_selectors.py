"""Label selectors: what they match, when two are the same, what is refused."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.errors import SelectorError
from bayplan.model.label_selectors import (
    EVERYTHING,
    NOTHING,
    LabelSelector,
    LabelSelectorRequirement,
    Operator,
    Requirement,
    Selector,
    compile_label_selector,
    parse_int64,
    requirement,
    selector_from_map,
)


def expression(key: str, operator: str, *values: str) -> LabelSelectorRequirement:
    return LabelSelectorRequirement(key, operator, values)


def compiled(*expressions: LabelSelectorRequirement, **labels: str) -> Selector:
    return compile_label_selector(LabelSelector(labels, expressions))


@pytest.mark.parametrize(
    ("selector", "labels", "expected"),
    [
        pytest.param(compile_label_selector(None), {}, False, id="none matches nothing"),
        pytest.param(compiled(), {"a": "b"}, True, id="empty matches everything"),
        pytest.param(compiled(a="b"), {"a": "b", "c": "d"}, True, id="a label that is there"),
        pytest.param(compiled(a="b"), {"a": "c"}, False, id="a label with another value"),
        pytest.param(compiled(a=""), {}, False, id="an empty value is not an absent label"),
        pytest.param(compiled(expression("a", "In", "x", "y")), {"a": "y"}, True, id="in"),
        pytest.param(compiled(expression("a", "In", "x")), {}, False, id="in, but absent"),
        pytest.param(compiled(expression("a", "NotIn", "x")), {"a": "x"}, False, id="not in"),
        pytest.param(compiled(expression("a", "NotIn", "x")), {}, True, id="not in, as absent"),
        pytest.param(compiled(expression("a", "Exists")), {"a": ""}, True, id="exists"),
        pytest.param(compiled(expression("a", "Exists")), {}, False, id="does exist, but absent"),
        pytest.param(compiled(expression("a", "DoesNotExist")), {}, True, id="does not exist"),
        pytest.param(compiled(expression("a", "DoesNotExist")), {"a": ""}, False, id="but exists"),
        pytest.param(
            compiled(expression("a", "Exists"), b="c"), {"a": "x"}, False, id="all must hold"
        ),
    ],
)
def test_matching(selector: Selector, labels: dict[str, str], expected: bool) -> None:
    assert selector.matches(labels) is expected


@pytest.mark.parametrize(
    ("operator", "bound", "value", "expected"),
    [
        pytest.param(Operator.GT, "5", "6", True, id="greater"),
        pytest.param(Operator.GT, "5", "5", False, id="equal is not greater"),
        pytest.param(Operator.LT, "5", "-6", True, id="less"),
        pytest.param(Operator.LT, "5", "05", False, id="leading zeros"),
        pytest.param(Operator.GT, "-5", "+4", True, id="signs"),
        pytest.param(Operator.GT, "5", "six", False, id="not a number"),
        pytest.param(Operator.GT, "5", "6.0", False, id="not an integer"),
        pytest.param(Operator.GT, "5", "9223372036854775808", False, id="beyond 64 bits"),
        pytest.param(Operator.GT, "5", None, False, id="absent"),
    ],
)
def test_comparing(operator: Operator, bound: str, value: str | None, expected: bool) -> None:
    assert Requirement("a", operator, (bound,)).matches_value(value) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("0", 0, id="zero"),
        pytest.param("-0", 0, id="minus zero"),
        pytest.param("+000", 0, id="only zeros"),
        pytest.param("-9223372036854775808", -(2**63), id="smallest"),
        pytest.param("9" * 5000, None, id="too long"),
        pytest.param("0" * 5000 + "7", 7, id="many zeros"),
        pytest.param("1_000", None, id="underscore"),
        pytest.param(" 1", None, id="blank"),
        pytest.param("", None, id="empty"),
        pytest.param("-", None, id="sign"),
        pytest.param("٣", None, id="digits of another script"),
    ],
)
def test_integers_are_read_as_go_does(text: str, expected: int | None) -> None:
    assert parse_int64(text) == expected


def test_empty_and_nothing() -> None:
    assert EVERYTHING.empty
    assert not NOTHING.empty
    assert not NOTHING.matches({})
    assert not compiled(a="b").empty
    assert compile_label_selector(LabelSelector()) == EVERYTHING
    assert selector_from_map({}) == EVERYTHING


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(compiled(a="b", c="d"), compiled(c="d", a="b"), id="order of labels"),
        pytest.param(compiled(a="b"), compiled(expression("a", "In", "b")), id="spelling"),
        pytest.param(compiled(a="b"), selector_from_map({"a": "b"}), id="a map"),
        pytest.param(
            compiled(expression("a", "In", "x", "y", "x")),
            compiled(expression("a", "In", "y", "x")),
            id="order of values, and doubles",
        ),
        pytest.param(
            compiled(expression("a", "Exists"), expression("b", "Exists")),
            compiled(*[expression(key, "Exists") for key in "bab"]),
            id="order of expressions, and doubles",
        ),
    ],
)
def test_selectors_of_the_same_meaning_are_equal(one: Selector, other: Selector) -> None:
    assert one == other
    assert hash(one) == hash(other)


def test_both() -> None:
    both = compiled(a="b") & compiled(c="d")
    assert both == compiled(a="b", c="d")
    assert (both & EVERYTHING) == both
    assert (both & NOTHING) == NOTHING


def test_unpacking_a_requirement() -> None:
    key, operator, values = compiled(a="b").requirements[0]
    assert (key, operator, values) == ("a", "In", ("b",))


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        pytest.param(
            LabelSelector(match_expressions=(expression("a", "Gt", "1"),)),
            '"Gt" is not a valid label selector operator',
            id="an operator for nodes",
        ),
        pytest.param(
            LabelSelector(match_expressions=(expression("a", "In"),)),
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
            id="no values",
        ),
        pytest.param(
            LabelSelector(match_expressions=(expression("a", "Exists", "x"),)),
            'values: Invalid value: ["x"]: values set must be empty for exists and does not exist',
            id="values for exists",
        ),
        pytest.param(
            LabelSelector({"": "x"}),
            'key: Invalid value: "": name part must be non-empty; name part must consist of',
            id="an empty key",
        ),
        pytest.param(
            LabelSelector({"a": "bad!"}),
            'values[0][a]: Invalid value: "bad!": a valid label must be an empty string or',
            id="a bad value",
        ),
        pytest.param(
            LabelSelector({"a b": "bad!"}),
            '[key: Invalid value: "a b": name part must consist of',
            id="two problems",
        ),
    ],
)
def test_what_is_refused(selector: LabelSelector, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        compile_label_selector(selector)
    assert caught.value.message.startswith(message)


def test_requirement_with_a_path() -> None:
    with pytest.raises(SelectorError, match=r"^spec\.values: Invalid value: null: for 'Gt', 'Lt'"):
        requirement("a", Operator.GT, (), path="spec")
    with pytest.raises(SelectorError, match="the value must be an integer"):
        requirement("a", Operator.LT, ("x",))


def test_a_map_is_not_checked() -> None:
    assert selector_from_map({"bad key": "bad!"}).matches({"bad key": "bad!"})


KEYS = st.sampled_from(["a", "b", "c"])
VALUES = st.sampled_from(["", "x", "y", "1", "2"])
WITH_VALUES = st.builds(
    LabelSelectorRequirement,
    KEYS,
    st.sampled_from(["In", "NotIn"]),
    st.lists(VALUES, min_size=1).map(tuple),
)
WITHOUT_VALUES = st.builds(
    LabelSelectorRequirement, KEYS, st.sampled_from(["Exists", "DoesNotExist"])
)
SELECTORS = st.builds(
    LabelSelector,
    st.dictionaries(KEYS, VALUES),
    st.lists(WITH_VALUES | WITHOUT_VALUES).map(tuple),
)
LABELS = st.dictionaries(KEYS, VALUES)


def naive(selector: LabelSelector, labels: dict[str, str]) -> bool:
    """The rules once more, straight from the object."""
    answers = [labels.get(key) == value for key, value in selector.match_labels.items()]
    for one in selector.match_expressions:
        there, value = one.key in labels, labels.get(one.key)
        answers.append(
            {
                "In": there and value in one.values,
                "NotIn": not there or value not in one.values,
                "Exists": there,
                "DoesNotExist": not there,
            }[one.operator]
        )
    return all(answers)


@given(SELECTORS, LABELS)
def test_compiled_matches_as_the_rules_say(selector: LabelSelector, labels: dict[str, str]) -> None:
    assert compile_label_selector(selector).matches(labels) is naive(selector, labels)


@given(SELECTORS, st.randoms(use_true_random=False))
def test_order_and_doubles_make_no_difference(selector: LabelSelector, random: object) -> None:
    expressions = list(selector.match_expressions) * 2
    random.shuffle(expressions)  # type: ignore[attr-defined]
    shuffled = [
        msgspec.structs.replace(one, values=tuple(reversed(one.values))) for one in expressions
    ]
    labels = dict(reversed(selector.match_labels.items()))
    other = compile_label_selector(LabelSelector(labels, tuple(shuffled)))
    assert other == compile_label_selector(selector)
    assert hash(other) == hash(compile_label_selector(selector))
