from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.columns import Rows
from bayplan.cluster.labels import LabelColumns

VALUES = st.sampled_from(["a", "", "8", "-3", "08", "9223372036854775808"])
LABELS = st.dictionaries(st.sampled_from(["zone", "cores"]), VALUES)
#: A row gets labels or loses its node; or somebody asks for a column.
EVENTS = st.lists(
    st.tuples(st.integers(0, 5), st.none() | LABELS) | st.sampled_from(["zone", "cores", "never"])
)


@given(EVENTS)
def test_like_a_list_of_labels(events: list[Any]) -> None:
    rows = Rows(1)
    labels = LabelColumns(rows)
    for _ in range(6):
        rows.take()
    now: list[dict[str, str] | None] = [None] * 6
    for event in events:
        if isinstance(event, str):
            labels.column(event)
        else:
            row, some = event
            labels.set(row, some)
            now[row] = some
    for key in ("zone", "cores"):
        values = labels.values(key)
        shown = [None if i < 0 else values[i] for i in labels.column(key)[:6].tolist()]
        assert shown == [(of_row or {}).get(key) for of_row in now]
        numbers, valid = labels.integers(key)
        assert len(numbers) == len(valid) == len(values) + 1
        assert not valid[-1], "what a row without the label finds"
        read = [int(n) if ok else None for n, ok in zip(numbers, valid, strict=True)][:-1]
        assert read == [{"8": 8, "-3": -3, "08": 8}.get(value) for value in values]
    for row, of_row in enumerate(now):
        if of_row is not None:
            assert labels.of(row) == of_row


def test_a_value_that_nobody_has() -> None:
    labels = LabelColumns(Rows())
    labels.set(0, {"zone": "a"})
    assert labels.value_id("zone", "a") == 0
    assert labels.value_id("zone", "b") == -1
    assert labels.keys() == ["zone"]
