"""What is said about documents that cannot be read, where decoding in the large does not show it."""

from __future__ import annotations

import msgspec
import pytest

from bayplan.model.malformed import explain
from bayplan.model.node import Node
from bayplan.model.pod import Pod


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(RecursionError("deep"), "Pod: nested too deeply", id="depth"),
        pytest.param(
            msgspec.DecodeError("JSON is malformed: x"), "Pod: JSON is malformed: x", id="JSON"
        ),
        pytest.param(ValueError("Out of range"), "Pod: out of range", id="anything else"),
        pytest.param(
            msgspec.ValidationError("Expected `int | null`, got `str` - at `$.spec.priority`"),
            "Pod: spec.priority: expected int, got str",
            id="a field",
        ),
        pytest.param(
            msgspec.ValidationError("Expected `object`, got `array`"),
            "Pod: expected object, got array",
            id="the whole document",
        ),
    ],
)
def test_words(error: Exception, expected: str) -> None:
    assert str(explain(Pod, None, error)) == expected


@pytest.mark.parametrize(
    ("tree", "obj"),
    [
        pytest.param({"metadata": {"name": "n", "namespace": 7}}, "Node n", id="half a name"),
        pytest.param({"metadata": {"namespace": "x"}}, "Node x", id="only a namespace"),
        pytest.param({"metadata": "n"}, "Node", id="no metadata"),
        pytest.param([], "Node", id="no object"),
    ],
)
def test_names(tree: object, obj: str) -> None:
    assert explain(Node, tree, ValueError("x")).obj == obj


def test_an_entry_is_found_among_thousands() -> None:
    labels: dict[str, object] = {f"l{number}": "x" for number in range(2000)}
    labels["wrong"] = 1
    tree = {"metadata": {"labels": labels}}
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(tree, Node)
    assert explain(Node, tree, caught.value).path == "metadata.labels.wrong"


def test_a_place_that_is_not_there_is_told_as_it_is() -> None:
    error = msgspec.ValidationError("Expected `str`, got `int` - at `$.metadata.labels[...]`")
    assert explain(Node, {}, error).path == "metadata.labels"
