from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.intern import UNKNOWN, Interner


@given(st.lists(st.text(max_size=2)))
def test_equal_values_have_equal_ids_and_ids_have_no_gaps(values: list[str]) -> None:
    interner = Interner[str]()
    ids = [interner.id(value) for value in values]
    assert [interner.values[number] for number in ids] == values
    assert list(interner) == list(dict.fromkeys(values)), "in the order in which they came"
    assert len(interner) == len(set(values))
    assert [interner.find(value) for value in values] == ids


def test_looking_for_a_value_does_not_make_it_known() -> None:
    interner = Interner[str]()
    assert interner.find("a") == UNKNOWN
    assert len(interner) == 0
