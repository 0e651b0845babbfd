"""Counters and histograms."""

from __future__ import annotations

from bayplan.telemetry.instruments import (
    MAX_SERIES,
    OTHER,
    CounterVec,
    HistogramVec,
    Spec,
    exponential,
)


def test_bounds_grow_as_go_multiplies_them() -> None:
    # The last digits are those of repeated multiplication, not of a power.
    assert exponential(0.001, 2, 4) == (0.001, 0.002, 0.004, 0.008)
    assert exponential(0.00001, 1.5, 20)[-1] == 0.022168378200531012


def test_a_counter_without_labels_is_there_from_the_start() -> None:
    counter = CounterVec(Spec("c", "counter", ""), print)
    assert counter.values == {(): 0}
    counter.inc()
    counter.inc(by=2.5)
    assert counter.values == {(): 3.5}


def test_a_counter_with_labels_begins_when_it_first_counts() -> None:
    counter = CounterVec(Spec("c", "counter", "", ("a",)), print)
    assert counter.values == {}
    counter.inc(("x",))
    assert counter.values == {("x",): 1}


def test_a_value_on_a_bound_belongs_below_it() -> None:
    histogram = HistogramVec(Spec("h", "histogram", "", (), (1.0, 2.0)), print)
    for value in (0.5, 1.0, 1.5, 2.0, 2.5):
        histogram.observe((), value)
    assert histogram.cells == {(): [2, 2, 1, 7.5]}


def test_there_is_an_end_to_series() -> None:
    overflows: list[str] = []
    counter = CounterVec(Spec("c", "counter", "", ("a", "b")), overflows.append)
    histogram = HistogramVec(Spec("h", "histogram", "", ("a",), (1.0,)), overflows.append)
    for i in range(MAX_SERIES + 3):
        counter.inc((str(i), "x"))
        histogram.observe((str(i),), 0.5)
    assert len(counter.values) == len(histogram.cells) == MAX_SERIES + 1
    assert counter.values[OTHER, OTHER] == 3
    assert histogram.cells[(OTHER,)] == [3, 0, 1.5]
    assert (overflows.count("c"), overflows.count("h")) == (3, 3)
