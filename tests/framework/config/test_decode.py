from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any, Literal

import msgspec
import pytest

from bayplan.framework.config.decode import Int32, Int64, decode
from bayplan.framework.config.report import Report


class Color(enum.Enum):
    RED = "Red"
    BLUE = "Blue"


class Inner(msgspec.Struct, frozen=True):
    name: str = ""


class Needy(msgspec.Struct, frozen=True):
    name: str


class Strict(msgspec.Struct, frozen=True):
    low: int = 0
    high: int = 0

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("low is above high")


class Everything(msgspec.Struct, frozen=True, rename="camel"):
    text: str = "default"
    count: int = 7
    small: Int32 = 0
    large: Int64 = 0
    share: float = 0.5
    flag: bool = False
    wait_for: timedelta = timedelta()
    secret: bytes = b""
    maybe: Int32 | None = None
    mode: Literal["fast", "slow"] = "fast"
    color: Color = Color.RED
    positive: Annotated[int, msgspec.Meta(gt=0)] = 1
    either: int | str = 0
    inner: Inner = Inner()
    inners: tuple[Inner, ...] = ()
    words: list[str] = msgspec.field(default_factory=list)
    unique: frozenset[str] = frozenset()
    numbers: Sequence[int] = ()
    pair: tuple[int, str] = (0, "")
    table: dict[str, int] = msgspec.field(default_factory=dict)
    nested: Mapping[str, Inner] = msgspec.field(default_factory=dict)
    by_number: dict[int, str] = msgspec.field(default_factory=dict)
    anything: Any = None
    needy: Needy | None = None
    needies: tuple[Needy, ...] = ()
    strict: Strict = Strict()


def read(value: Any) -> tuple[Everything | None, list[str]]:
    report = Report()
    return decode(value, Everything, (), report), [str(problem) for problem in report.problems]


@pytest.mark.parametrize(
    ("given", "attribute", "value"),
    [
        pytest.param({"count": 1000.0}, "count", 1000, id="a whole float is an int"),
        pytest.param({"share": 1}, "share", 1.0, id="an int is a float"),
        pytest.param({"waitFor": "1m"}, "wait_for", timedelta(minutes=1), id="a duration"),
        pytest.param({"secret": "aGk="}, "secret", b"hi", id="base64"),
        pytest.param({"maybe": None}, "maybe", None, id="null for what may be none"),
        pytest.param({"count": None}, "count", 7, id="null leaves the default"),
        pytest.param({"inner": None}, "inner", Inner(), id="null leaves a struct"),
        pytest.param({"inners": [None]}, "inners", (Inner(),), id="null in a list is an empty one"),
        pytest.param({"color": "Blue"}, "color", Color.BLUE, id="an enum"),
        pytest.param({"either": "x"}, "either", "x", id="a union"),
        pytest.param({"unique": ["a", "a"]}, "unique", frozenset("a"), id="a set"),
        pytest.param({"numbers": [1, 2.0]}, "numbers", (1, 2), id="a sequence"),
        pytest.param({"pair": [1, "x"]}, "pair", (1, "x"), id="a pair"),
        pytest.param({"table": {"a": 1e3}}, "table", {"a": 1000}, id="a dict"),
        pytest.param({"nested": {"a": {}}}, "nested", {"a": Inner()}, id="a dict of structs"),
        pytest.param({"byNumber": {"1": "x"}}, "by_number", {1: "x"}, id="keys that are numbers"),
        pytest.param({"anything": {"a": [1]}}, "anything", {"a": [1]}, id="anything"),
    ],
)
def test_values(given: dict[str, Any], attribute: str, value: object) -> None:
    built, problems = read(given)
    assert problems == []
    assert getattr(built, attribute) == value


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        pytest.param(
            {"text": 5},
            "text: cannot unmarshal number into field of type string; put it in quotes",
            id="a number as text",
        ),
        pytest.param(
            {"needies": [{"name": [1]}]},
            "needies[0].name: cannot unmarshal array into field of type string",
            id="an array as the text that an item must have",
        ),
        pytest.param(
            {"flag": "true"},
            "flag: cannot unmarshal string into field of type bool",
            id="text as bool",
        ),
        pytest.param(
            {"count": True},
            "count: cannot unmarshal bool into field of type int",
            id="a bool as int",
        ),
        pytest.param(
            {"small": 2**31},
            "small: cannot unmarshal number 2147483648 into field of type int32",
            id="too large for 32 bits",
        ),
        pytest.param(
            {"large": 2**63},
            "large: cannot unmarshal number 9223372036854775808 into field of type int64",
            id="too large for 64 bits",
        ),
        pytest.param(
            {"small": 1.5},
            "small: cannot unmarshal number 1.5 into field of type int32",
            id="a fraction as int",
        ),
        pytest.param(
            {"share": float("nan")}, "share: json: unsupported value: nan", id="not a number"
        ),
        pytest.param({"waitFor": "1"}, 'waitFor: time: invalid duration "1"', id="no duration"),
        pytest.param(
            {"waitFor": 1},
            "waitFor: cannot unmarshal number into field of type Duration",
            id="a number as duration",
        ),
        pytest.param(
            {"mode": "medium"},
            'mode: Unsupported value: "medium": supported values: "fast", "slow"',
            id="none of the literals",
        ),
        pytest.param(
            {"color": "Green"},
            'color: Unsupported value: "Green": supported values: "Red", "Blue"',
            id="none of the enum",
        ),
        pytest.param({"positive": 0}, "positive: Expected `int` >= 1", id="a rule of msgspec"),
        pytest.param({"either": []}, "either: Expected `int | str`, got `array`", id="no union"),
        pytest.param(
            {"inner": 1}, "inner: cannot unmarshal number into field of type Inner", id="no struct"
        ),
        pytest.param(
            {"words": "x"},
            "words: cannot unmarshal string into field of type []string",
            id="no list",
        ),
        pytest.param(
            {"words": ["a", 1]},
            "words[1]: cannot unmarshal number into field of type string; put it in quotes",
            id="a wrong item",
        ),
        pytest.param({"pair": [1]}, "pair: Expected `array` of length 2, got 1", id="half a pair"),
        pytest.param(
            {"table": {"a": "x"}},
            "table.a: cannot unmarshal string into field of type int",
            id="a wrong entry",
        ),
        pytest.param(
            {"table": []}, "table: cannot unmarshal array into field of type object", id="no dict"
        ),
        pytest.param(
            {"inners": [{}, {"nmae": "x"}]},
            'inners[1].nmae: unknown field "inners[1].nmae"; did you mean "name"?',
            id="a misspelt field",
        ),
        pytest.param({"needy": {}}, "needy.name: Required value", id="a missing field"),
        pytest.param(
            {"strict": {"low": 2}}, "strict: low is above high", id="a struct that checks itself"
        ),
        pytest.param([], "cannot unmarshal array into field of type Everything", id="no object"),
    ],
)
def test_problems(given: Any, problem: str) -> None:
    built, problems = read(given)
    assert problems == [problem]
    assert built is not None, "the rest is still of use"


def test_all_problems_at_once() -> None:
    built, problems = read({"text": 1, "flag": 2, "count": "x", "bogus": 1, "words": ["kept", 3]})
    assert len(problems) == 5
    assert built is not None
    assert built.words == ["kept", ""], "a stand-in keeps the numbers of the items after it"


def test_a_whole_that_cannot_be() -> None:
    report = Report()
    assert decode({}, Needy, ("args",), report) is None
    assert [str(problem) for problem in report.problems] == ["args.name: Required value"]


def test_a_field_in_the_wrong_place() -> None:
    report = Report()
    report.misplaced = {"extenders": "at the top level of the file"}
    decode({"extenders": []}, Inner, ("profiles", 0), report)
    assert report.problems[0].message == (
        'unknown field "profiles[0].extenders"; extenders belongs at the top level of the file'
    )
