from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.images import ImageIndex
from bayplan.model.node import ContainerImage

IMAGES = st.lists(
    st.builds(
        ContainerImage,
        names=st.lists(st.sampled_from("abc"), max_size=2).map(tuple),
        size_bytes=st.integers(1, 3),
    ),
    max_size=3,
)


@given(st.lists(st.tuples(st.integers(0, 3), st.none() | IMAGES), max_size=12))
def test_like_a_list_of_reports(events: list[tuple[int, Any]]) -> None:
    """None takes a row's images away. Model: by name, the rows that report it in order of their reports."""
    index, reports = ImageIndex(), dict[int, dict[str, int]]()
    sizes: dict[str, int] = {}
    for row, images in events:
        new: dict[str, int] = {}
        for image in images or ():
            for name in image.names:
                new.setdefault(name, image.size_bytes)
        if images is None:
            assert index.remove(row) is bool(reports.get(row))
        else:
            assert index.put(row, images) is (new != reports.get(row, {}))
        if new != reports.get(row, {}):
            others = {name for other, known in reports.items() if other != row for name in known}
            sizes = {name: size for name, size in sizes.items() if name in others}
            for name, size in new.items():
                sizes.setdefault(name, size)  # the first that reports it is believed
        reports[row] = new
        for name in "abc":
            state = index.get(name)
            holders = {row for row, known in reports.items() if name in known}
            assert (set() if state is None else state.rows) == holders
            assert state is None or sorted(state.row_numbers.tolist()) == sorted(holders)
        for number, known in reports.items():
            assert index.of(number) == {name: sizes[name] for name in known}
