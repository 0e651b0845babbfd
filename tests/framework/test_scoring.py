"""Normalisation against Kubernetes' arithmetic, one score at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.framework.scoring import scale, scale_reversed


def go_divide(dividend: int, divisor: int) -> int:
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def reference(scores: list[int], *, reverse: bool) -> list[int]:
    highest = max([0, *scores])
    if highest == 0:
        return [100] * len(scores) if reverse else scores
    scaled = [go_divide(100 * score, highest) for score in scores]
    return [100 - score for score in scaled] if reverse else scaled


@pytest.mark.parametrize(
    ("raw", "forward", "backward"),
    [
        pytest.param([0, 0], [0, 0], [100, 100], id="nobody scores"),
        pytest.param([1, 2, 3], [33, 66, 100], [67, 34, 0], id="fractions are cut"),
        pytest.param([7], [100], [0], id="a single node"),
        pytest.param([], [], [], id="no nodes"),
        pytest.param([-5, 10], [-50, 100], [150, 0], id="a negative score stays negative"),
        pytest.param([-5, -1], [-5, -1], [100, 100], id="only negative scores count as none"),
        pytest.param([1 << 56, 3 << 54], [100, 75], [0, 25], id="too large for a float"),
    ],
)
def test_scale(raw: list[int], forward: list[int], backward: list[int]) -> None:
    scores = np.array(raw, np.int64)
    everywhere = np.ones(len(raw), np.bool_)
    assert scale(scores, everywhere).tolist() == forward
    assert scale_reversed(scores, everywhere).tolist() == backward
    assert scores.tolist() == raw, "the raw scores are kept for the record"


def test_nodes_out_of_play_do_not_set_the_maximum() -> None:
    raw = np.array([10, 1 << 62, 5], np.int64)
    feasible = np.array([True, False, True])
    assert scale(raw, feasible)[feasible].tolist() == [100, 50]
    assert scale_reversed(raw, feasible)[feasible].tolist() == [0, 50]


SCORES = st.lists(
    st.tuples(
        st.one_of(st.integers(-10, 500), st.integers(0, 1 << 54), st.integers(0, (1 << 56) - 1)),
        st.booleans(),
    ),
    max_size=8,
)


@given(SCORES)
def test_like_kubernetes(scores: list[tuple[int, bool]]) -> None:
    raw = np.array([score for score, _ in scores], np.int64)
    feasible = np.array([is_feasible for _, is_feasible in scores], np.bool_)
    in_play = [score for score, is_feasible in scores if is_feasible]
    assert scale(raw, feasible)[feasible].tolist() == reference(in_play, reverse=False)
    assert scale_reversed(raw, feasible)[feasible].tolist() == reference(in_play, reverse=True)
