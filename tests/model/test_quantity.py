"""Quantities against Go's answers (taken from apimachinery v0.36.4) and against exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.errors import DecodeError, QuantityError
from bayplan.model import quantity
from bayplan.model.quantity import (
    MAX,
    MIN,
    WRONG_FORMAT,
    WRONG_NUMBER,
    WRONG_SUFFIX,
    compare,
    milli_value,
    nano_value,
    value,
)

FACTORS = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
    "e3": Fraction(1000),
    "E3": Fraction(1000),
    "e+3": Fraction(1000),
    "e-3": Fraction(1, 1000),
}


@pytest.mark.parametrize(
    ("text", "whole", "milli"),
    [
        pytest.param("0", 0, 0, id="zero"),
        pytest.param("100m", 1, 100, id="a tenth rounds up to one"),
        pytest.param("1500m", 2, 1500, id="one and a half"),
        pytest.param("2", 2, 2000, id="no suffix"),
        pytest.param("1k", 1000, 1_000_000, id="decimal thousand"),
        pytest.param("1Ki", 1024, 1_024_000, id="binary thousand"),
        pytest.param("0.1Ki", 103, 102_400, id="fraction of a binary unit"),
        pytest.param("1.5Gi", 1_610_612_736, 1_610_612_736_000, id="fraction without a rest"),
        pytest.param("128974848", 128_974_848, 128_974_848_000, id="plain bytes"),
        pytest.param("129e6", 129_000_000, 129_000_000_000, id="exponent"),
        pytest.param("1E", 10**18, MAX, id="exa, and its thousandths saturate"),
        pytest.param("1E3", 1000, 10**6, id="capital exponent is not exa"),
        pytest.param("1e-3", 1, 1, id="negative exponent"),
        pytest.param("1n", 1, 1, id="nano rounds up"),
        pytest.param("1e-12", 1, 1, id="less than nano rounds up"),
        pytest.param("1e-400", 1, 1, id="almost nothing rounds up"),
        pytest.param(".5", 1, 500, id="leading point"),
        pytest.param("5.", 5, 5000, id="trailing point"),
        pytest.param("1.Gi", 2**30, 2**30 * 1000, id="point before a suffix"),
        pytest.param("+1", 1, 1000, id="plus sign"),
        pytest.param("-1", -1, -1000, id="minus sign"),
        pytest.param("-1.5", -2, -1500, id="negative rounds away from zero"),
        pytest.param("007", 7, 7000, id="leading zeros"),
        pytest.param("-", 0, 0, id="a lone sign is zero, as in Go"),
        pytest.param(".", 0, 0, id="a lone point is zero, as in Go"),
        pytest.param("Ki", 0, 0, id="a lone suffix is zero, as in Go"),
        pytest.param(" 1Gi ", 2**30, 2**30 * 1000, id="blanks around it"),
        pytest.param("1e4294967297", 10, 10_000, id="Go keeps 32 bits of the exponent"),
        pytest.param("9223372036854775807", MAX, MAX, id="largest"),
        pytest.param("-9223372036854775808", MIN, MIN, id="smallest"),
        pytest.param("8Ei", MAX, MAX, id="one more than fits"),
        pytest.param("-9Ei", MIN, MIN, id="one less than fits"),
        pytest.param("1e999999999", MAX, MAX, id="a billion zeros take no time"),
        pytest.param("-1e999999999", MIN, MIN, id="minus a billion zeros"),
        pytest.param("0e999999999", 0, 0, id="zero times anything"),
        pytest.param("1e-999999999", 1, 1, id="a billion decimals take no time"),
        pytest.param("9" * 100_000, MAX, MAX, id="a long number"),
        pytest.param("0." + "0" * 100_000 + "1", 1, 1, id="a long fraction"),
        pytest.param("0" * 100_000 + "1.5Ki", 1536, 1_536_000, id="long leading zeros"),
        pytest.param(4, 4, 4000, id="an integer"),
        pytest.param(0.5, 1, 500, id="a fraction"),
        pytest.param(1e22, MAX, MAX, id="a large fraction"),
        pytest.param(1.5e-7, 1, 1, id="a tiny fraction"),
        pytest.param(10**5000, MAX, MAX, id="an integer too long to print"),
        pytest.param(-(10**5000), MIN, MIN, id="its negative"),
    ],
)
def test_values(text: quantity.Quantity, whole: int, milli: int) -> None:
    assert (value(text), milli_value(text)) == (whole, milli)
    # The second answer comes from memory.
    assert (value(text), milli_value(text)) == (whole, milli)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", WRONG_FORMAT, id="empty"),
        pytest.param("abc", WRONG_FORMAT, id="a word"),
        pytest.param("1.2.3", WRONG_FORMAT, id="two points"),
        pytest.param("1e3m", WRONG_FORMAT, id="a suffix after an exponent"),
        pytest.param("1 Gi", WRONG_FORMAT, id="a blank inside"),
        pytest.param("1Gi\n.", WRONG_FORMAT, id="a second line"),
        pytest.param("1GB", WRONG_FORMAT, id="bytes"),
        pytest.param("٣", WRONG_FORMAT, id="digits of another script"),
        pytest.param("1K", WRONG_SUFFIX, id="capital kilo"),
        pytest.param("1mi", WRONG_SUFFIX, id="small mebi"),
        pytest.param("1e", WRONG_SUFFIX, id="an exponent without digits"),
        pytest.param("1-3", WRONG_SUFFIX, id="a sign for a suffix"),
        pytest.param("1e99999999999999999999", WRONG_SUFFIX, id="an exponent beyond 64 bits"),
        pytest.param("1e" + "9" * 5000, WRONG_SUFFIX, id="an exponent too long to read"),
        pytest.param("Pi", WRONG_NUMBER, id="a large suffix without a number"),
        pytest.param("e-10", WRONG_NUMBER, id="an exponent without a number"),
        pytest.param(math.nan, WRONG_FORMAT, id="not a number"),
        pytest.param(math.inf, WRONG_FORMAT, id="infinity"),
    ],
)
def test_what_does_not_parse(text: quantity.Quantity, message: str) -> None:
    with pytest.raises(QuantityError) as caught:
        value(text)
    assert caught.value.message == message
    assert isinstance(caught.value, DecodeError)


def test_memory_is_bounded() -> None:
    for number in range(quantity._REMEMBERED + 10):
        value(number)
    value("1" * 1000)
    assert len(quantity._VALUES) <= quantity._REMEMBERED
    assert "1" * 1000 not in quantity._VALUES


NUMBERS = st.from_regex(r"[+-]?([0-9]{1,25}|[0-9]{0,22}\.[0-9]{1,40})", fullmatch=True)
SUFFIXES = st.sampled_from(sorted(FACTORS))


def rounded_away(number: Fraction) -> int:
    rounded = math.ceil(abs(number))
    return max(MIN, min(MAX, rounded if number >= 0 else -rounded))


@given(NUMBERS, SUFFIXES)
def test_it_is_the_exact_number_rounded_away_from_zero(number: str, suffix: str) -> None:
    exact = Fraction(number) * FACTORS[suffix]
    assert value(number + suffix) == rounded_away(exact)
    assert milli_value(number + suffix) == rounded_away(exact * 1000)


def billionths(number: Fraction) -> int:
    rounded = math.ceil(abs(number) * 10**9)
    limited = min(rounded, MAX * 10**9 + (number < 0))
    return limited if number >= 0 else -limited


@given(NUMBERS, SUFFIXES, NUMBERS, SUFFIXES)
def test_comparison_is_exact_to_the_billionth(a: str, a_unit: str, b: str, b_unit: str) -> None:
    left, right = (
        billionths(Fraction(number) * FACTORS[unit]) for number, unit in ((a, a_unit), (b, b_unit))
    )
    assert nano_value(a + a_unit) == left
    assert compare(a + a_unit, b + b_unit) == (left > right) - (left < right)


def test_comparison_sees_what_rounding_hides() -> None:
    assert value("1.2") == value("1.7")
    assert compare("1.2", "1.7") < 0 < compare("1.7", "1.2")
    assert compare("1Ki", "1024") == 0


@given(st.text())
def test_any_text_is_a_number_or_an_error(text: str) -> None:
    try:
        found = value(text)
    except QuantityError:
        return
    assert MIN <= found <= MAX
