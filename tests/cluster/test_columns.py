from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.columns import Rows


@given(st.lists(st.booleans(), max_size=200), st.integers(1, 5))
def test_rows_like_a_set_of_numbers(takes: list[bool], capacity: int) -> None:
    """True takes a row and writes to it, False gives the newest one back."""
    rows = Rows(capacity)
    column = rows.column(np.int64, -7)
    taken: list[int] = []
    for number, take in enumerate(takes):
        if take:
            row = rows.take()
            assert row not in taken
            assert column.data[row] == -7, "cleared"
            column.data[row] = number
            taken.append(row)
        elif taken:
            rows.give_back(taken.pop())
        assert len(rows) == len(taken)
        assert rows.used <= rows.capacity == len(column.data)
        assert all(row < rows.used for row in taken)
    free = set(range(rows.used)) - set(taken)
    assert {rows.take() for _ in free} == free, "rows that were given back come before new ones"


def test_a_column_made_late_is_as_long_as_the_others() -> None:
    rows = Rows(1)
    for _ in range(5):
        rows.take()
    assert len(rows.column(np.bool_).data) == rows.capacity >= 5


def test_a_dropped_column_grows_no_more() -> None:
    rows = Rows(1)
    column = rows.column(np.int64)
    rows.drop(column)
    for _ in range(5):
        rows.take()
    assert len(column.data) == 1


def test_readers_see_what_is_written_and_write_nothing() -> None:
    rows = Rows(1)
    column = rows.column(np.int64)
    for _ in range(3):
        row = rows.take()
        column.data[row] = 5
        assert column.seen[row] == 5
        with pytest.raises(ValueError, match="read-only"):
            column.seen[row] = 6
