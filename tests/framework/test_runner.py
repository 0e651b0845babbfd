"""What a plugin may answer, and what is said of one that answers nonsense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bayplan.errors import DataMissing, PluginError
from bayplan.framework.plugin import FilterPlugin, ScorePlugin
from bayplan.framework.runner import (
    call,
    check_range,
    index_of,
    normalized_scores,
    raw_scores,
    whole,
)
from bayplan.framework.status import Rejected, Verdicts, unresolvable

BUSY, OLD = Rejected("busy"), unresolvable("old")


class Picky(FilterPlugin, ScorePlugin):
    """Says whatever a test has it say."""

    reason = "not picked"


PICKY = Picky()


def ints(*numbers: int, dtype: Any = np.int16) -> Any:
    return np.array(numbers, dtype)


# --- exceptions ----------------------------------------------------------------------------------------------------------


def test_what_a_plugin_raises_names_it_and_the_point() -> None:
    def broken(divisor: int) -> float:
        return 1 / divisor

    assert call(PICKY, "Filter", broken, 2) == 0.5
    with pytest.raises(PluginError) as caught:
        call(PICKY, "Filter", broken, 0)
    error = caught.value
    assert (error.plugin, error.point) == ("Picky", "Filter")
    assert str(error) == 'running Filter plugin "Picky": ZeroDivisionError: division by zero'
    assert isinstance(error.__cause__, ZeroDivisionError)


def test_bayplans_own_errors_keep_their_words() -> None:
    def missing() -> None:
        raise DataMissing("nobody has told the price of n1")

    with pytest.raises(PluginError, match=r'"Picky": nobody has told the price of n1$'):
        call(PICKY, "Score", missing)


def test_an_error_that_names_its_plugin_is_passed_on() -> None:
    inner = PluginError("Other", "Score", "x")

    def other() -> None:
        raise inner

    with pytest.raises(PluginError) as caught:
        call(PICKY, "Filter", other)
    assert caught.value is inner


# --- filters -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(None, ["", "", ""], id="nothing to object"),
        pytest.param(BUSY, ["busy"] * 3, id="no node at all"),
        pytest.param(np.array([True, True, True]), ["", "", ""], id="a mask that lets all pass"),
        pytest.param(np.array([True, False, True]), ["", "not picked", ""], id="a mask"),
        pytest.param(Verdicts(ints(0, 1, 2), (BUSY, OLD)), ["", "busy", "old"], id="verdicts"),
        pytest.param(Verdicts(ints(0, 2, 2), (BUSY, OLD)), ["", "old", "old"], id="one unused"),
        pytest.param(
            Verdicts(ints(2, 1, 3), (BUSY, OLD, Rejected("busy"))),
            ["old", "busy", "busy"],
            id="two alike",
        ),
        pytest.param(Verdicts(ints(0, 0, 0), ()), ["", "", ""], id="no verdicts"),
        pytest.param(
            Verdicts(ints(0, 1, 0, dtype=np.int64), (BUSY,)), ["", "busy", ""], id="wide numbers"
        ),
    ],
)
def test_verdicts(answer: Any, words: list[str]) -> None:
    outcomes = [Rejected("said before")]
    index = index_of(PICKY, answer, 3, outcomes)
    numbers = [index] * 3 if isinstance(index, int) else index.tolist()
    assert [outcomes[number - 1].message if number else "" for number in numbers] == words


def test_an_outcome_is_listed_once_however_often_it_is_given() -> None:
    outcomes: list[Rejected] = []
    for _ in range(3):
        index_of(PICKY, Verdicts(ints(1, 2), (Rejected("a"), Rejected("b"))), 2, outcomes)
        index_of(PICKY, Rejected("a"), 2, outcomes)
    assert outcomes == [Rejected("a"), Rejected("b")]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(True, "wants a mask of 3 bools, got True", id="one bool"),
        pytest.param([True] * 3, "wants a mask of 3 bools, got [True, True, True]", id="a list"),
        pytest.param(
            np.ones(2, np.bool_), "wants a mask of 3 bools, got bool (2,)", id="too short"
        ),
        pytest.param(
            np.ones((3, 1), np.bool_), "wants a mask of 3 bools, got bool (3, 1)", id="too wide"
        ),
        pytest.param(np.ones(3), "wants a mask of 3 bools, got float64 (3,)", id="numbers"),
        pytest.param(
            Verdicts(ints(0, 1), (BUSY,)), "wants verdicts on 3 nodes, got int16 (2,)", id="few"
        ),
        pytest.param(
            Verdicts(np.zeros(3), (BUSY,)),  # type: ignore[arg-type]
            "wants verdicts on 3 nodes, got float64 (3,)",
            id="fractions",
        ),
        pytest.param(
            Verdicts([0, 0, 0], (BUSY,)),  # type: ignore[arg-type]
            "wants verdicts on 3 nodes, got [0, 0, 0]",
            id="a list of verdicts",
        ),
        pytest.param(
            Verdicts(ints(0, 2, 1), (BUSY,)),
            "verdicts are numbered 0 to 1, got 0 to 2",
            id="unknown",
        ),
        pytest.param(
            Verdicts(ints(0, -1, 1), (BUSY,)),
            "verdicts are numbered 0 to 1, got -1 to 1",
            id="negative",
        ),
        pytest.param(
            Verdicts(ints(0, 1, 0), ()),
            "verdicts are numbered 0 to 0, got 0 to 1",
            id="no outcomes",
        ),
    ],
)
def test_filters_that_answer_nonsense(answer: Any, words: str) -> None:
    with pytest.raises(PluginError) as caught:
        index_of(PICKY, answer, 3, [])
    assert str(caught.value) == f'running Filter plugin "Picky": {words}'


def test_a_rejection_wants_words() -> None:
    with pytest.raises(TypeError, match="Rejected wants its reasons as text, got 5"):
        Rejected(5)  # type: ignore[arg-type]


# --- scores --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "scores"),
    [
        pytest.param(7, 7, id="one for all"),
        pytest.param(7.9, 7, id="a fraction is cut off"),
        pytest.param(-7.9, -7, id="towards zero"),
        pytest.param(np.int32(7), 7, id="one of numpy's"),
        pytest.param(np.float32(7.5), 7, id="a fraction of numpy's"),
        pytest.param(ints(1, 2, 3, dtype=np.int64), [1, 2, 3], id="whole numbers"),
        pytest.param(ints(1, 2, 3, dtype=np.uint8), [1, 2, 3], id="short numbers"),
        pytest.param(np.array([1.9, -1.9, 0]), [1, -1, 0], id="fractions"),
    ],
)
def test_scores(answer: Any, scores: Any) -> None:
    found = raw_scores(PICKY, answer, 3)
    assert (found if isinstance(found, int) else found.tolist()) == scores


NOT_FINITE = "is not a finite number of at most 64 bits"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(None, "wants 3 scores, got None", id="nothing"),
        pytest.param(True, "wants 3 scores, got True", id="a bool"),
        pytest.param([1, 2, 3], "wants 3 scores, got [1, 2, 3]", id="a list"),
        pytest.param(np.ones(2), "wants 3 scores, got float64 (2,)", id="too short"),
        pytest.param(np.ones(3, np.bool_), "scores are bool, not numbers", id="bools"),
        pytest.param(np.array(["a"] * 3), "scores are <U1, not numbers", id="text"),
        pytest.param(np.ones(3, np.complex128), "scores are complex128, not numbers", id="complex"),
        pytest.param(float("nan"), f"nan {NOT_FINITE}", id="NaN for all"),
        pytest.param(10**30, f"{10**30} {NOT_FINITE}", id="huge for all"),
        pytest.param(
            np.array([1, np.nan, 2]),
            "a score is nan, not a finite number of at most 64 bits",
            id="NaN for one",
        ),
        pytest.param(
            np.array([1, 2, 1e19]),
            "a score is 1e+19, not a finite number of at most 64 bits",
            id="huge for one",
        ),
        pytest.param(
            np.array([1, 2, 2**63], np.uint64),
            f"a score is {2**63}, not a number of at most 64 bits",
            id="huge and unsigned",
        ),
    ],
)
def test_scores_that_are_nonsense(answer: Any, words: str) -> None:
    with pytest.raises(PluginError) as caught:
        raw_scores(PICKY, answer, 3)
    assert str(caught.value) == f'running Score plugin "Picky": {words}'


@pytest.mark.parametrize(
    "score", [None, "7", float("nan"), float("-inf"), 10**400, 1j, [7]], ids=repr
)
def test_the_score_of_one_node_is_a_number(score: Any) -> None:
    with pytest.raises(PluginError, match=NOT_FINITE):
        whole(PICKY, score)


RAW = ints(1, 2, 3, dtype=np.int64)


@pytest.mark.parametrize(
    ("answer", "scores"),
    [
        pytest.param(None, [1, 2, 3], id="as they are"),
        pytest.param(RAW * 2, [2, 4, 6], id="whole numbers"),
        pytest.param(RAW / 2, [0, 1, 1], id="fractions"),
        pytest.param(50, [50, 50, 50], id="one for all"),
    ],
)
def test_normalized(answer: Any, scores: list[int]) -> None:
    assert normalized_scores(PICKY, answer, RAW).tolist() == scores


@pytest.mark.parametrize("answer", [[1, 2, 3], RAW[:2], RAW * np.nan, "all"], ids=repr)
def test_normalized_nonsense(answer: Any) -> None:
    with pytest.raises(PluginError, match='running Score plugin "Picky": '):
        normalized_scores(PICKY, answer, RAW)


@pytest.mark.parametrize(
    ("scores", "feasible", "worst"),
    [
        pytest.param(ints(0, 100, 50, dtype=np.int64), None, None, id="in range"),
        pytest.param(ints(0, 101, 50, dtype=np.int64), None, 101, id="too high"),
        pytest.param(ints(-1, 101, 50, dtype=np.int64), None, -1, id="the lowest is told first"),
        pytest.param(ints(0, 101, 5, dtype=np.int64), [True, False, True], None, id="not in play"),
        pytest.param(ints(0, 101, 5, dtype=np.int64), [True, True, False], 101, id="in play"),
        pytest.param(101, None, 101, id="one for all"),
        pytest.param(ints(dtype=np.int64), None, None, id="no nodes"),
    ],
)
def test_range(scores: Any, feasible: list[bool] | None, worst: int | None) -> None:
    mask = None if feasible is None else np.array(feasible)
    if worst is None:
        check_range(PICKY, scores, mask)
        return
    words = f"plugin 'Picky' returns an invalid score {worst}, it should in the range of"
    with pytest.raises(PluginError, match=words):
        check_range(PICKY, scores, mask)
