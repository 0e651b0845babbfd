from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.framework.config.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds", "printed"),
    [
        pytest.param("15s", 15, "15s", id="seconds"),
        pytest.param("1m30s", 90, "1m30s", id="two units"),
        pytest.param("1.5h", 5400, "1h30m0s", id="a fraction"),
        pytest.param("500ms", 0.5, "500ms", id="milliseconds"),
        pytest.param("10us", 0.00001, "10µs", id="microseconds"),
        pytest.param("-5s", -5, "-5s", id="negative"),
        pytest.param("+5s", 5, "5s", id="a plus sign"),
        pytest.param("0", 0, "0s", id="zero needs no unit"),
        pytest.param("1h0m0.5s", 3600.5, "1h0m0.5s", id="all units"),
    ],
)
def test_durations(text: str, seconds: float, printed: str) -> None:
    value = parse_duration(text)
    assert value == timedelta(seconds=seconds)
    assert format_duration(value) == printed


@pytest.mark.parametrize(
    "text", ["", "5", "5x", "s", "-", "1h-5m", " 5s", "5 s", "\u0665s", "9" * 30 + "h"]
)
def test_no_durations(text: str) -> None:
    with pytest.raises(ValueError, match="time: invalid duration"):
        parse_duration(text)


@given(st.timedeltas(timedelta(days=-10_000), timedelta(days=10_000)))
def test_what_is_printed_reads_back(value: timedelta) -> None:
    assert parse_duration(format_duration(value)) == value
