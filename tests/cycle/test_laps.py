"""The stopwatch of an attempt."""

from __future__ import annotations

from bayplan.cycle.laps import Laps


def test_time_belongs_to_the_point_that_ends_with_the_lap() -> None:
    times = iter([10.0, 11.0, 13.0, 13.5, 20.0])
    laps = Laps(lambda: next(times))
    laps.begin()
    laps.lap("PreFilter")
    laps.lap("Filter")
    laps.lap("PreFilter")
    assert laps.spent == {"PreFilter": 1.5, "Filter": 2.0}
    laps.begin()
    assert laps.spent == {}


def test_without_a_timer_it_stands_still() -> None:
    laps = Laps()
    laps.begin()
    laps.lap("Filter")
    assert laps.spent == {}
