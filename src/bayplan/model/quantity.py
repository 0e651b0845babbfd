"""Quantities: "100m" and "1Gi" as exact integers.

Fed by ``decode``, which rejects an object with a quantity that does not parse, and read by whoever counts resources:
CPU in thousandths (``milli_value``), everything else in whole units (``value``). Which strings parse, what they mean and
how a rest is rounded is Go's ``resource.Quantity``; a result that does not fit into 64 bits is the nearest one that
does, where Go's own conversion wraps around or answers 0.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from bayplan.errors import QuantityError

#: A quantity as it stands in JSON or YAML. Kubernetes writes strings; people also write numbers.
Quantity: TypeAlias = str | int | float

#: Resource name -> quantity, as in ``requests``, ``limits``, ``capacity`` and ``allocatable``.
ResourceList: TypeAlias = dict[str, Quantity]

MAX: Final = 2**63 - 1
MIN: Final = -(2**63)

WRONG_FORMAT: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
WRONG_NUMBER: Final = "unable to parse numeric part of quantity"
WRONG_SUFFIX: Final = "unable to parse quantity's suffix"

#: More forgiving than the expression in the message, as Go's scanner is: every part may be empty.
_PARTS = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)", re.ASCII)
_EXPONENT = re.compile(r"[eE]([+-]?)0*([0-9]+)", re.ASCII)

_POWERS_OF_TEN = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9}
_POWERS_OF_TEN |= {"T": 12, "P": 15, "E": 18}
_POWERS_OF_TWO = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}

#: Go drops what is smaller than a billionth, after rounding up.
_SMALLEST_POWER = -9

#: Digits after the point that can decide how a number is rounded: 2^-60 has 60 of them.
_MAX_DECIMALS = 64
#: Digits before the point from which on a number is above every limit, in billionths too.
_HUGE = 32

#: Answers given before, so that the thousandth pod that asks for "100m" costs one look-up.
_VALUES: dict[Quantity, int] = {}
_MILLI_VALUES: dict[Quantity, int] = {}
_NANO_VALUES: dict[Quantity, int] = {}
_REMEMBERED = 65_536
#: Longer ones are not remembered, which bounds the memory as well as the count.
_REMEMBERED_LENGTH = 40


def value(quantity: Quantity) -> int:
    """In whole units, a rest rounded away from zero: ``Quantity.Value()``."""
    found = _VALUES.get(quantity)
    return _ask(quantity, 0, _VALUES) if found is None else found


def milli_value(quantity: Quantity) -> int:
    """In thousandths, a rest rounded away from zero: ``Quantity.MilliValue()``."""
    found = _MILLI_VALUES.get(quantity)
    return _ask(quantity, 3, _MILLI_VALUES) if found is None else found


def nano_value(quantity: Quantity) -> int:
    """In billionths, which is all that Kubernetes keeps; at most ``MAX`` units.

    For sums and comparisons, which Kubernetes makes before it rounds.
    """
    found = _NANO_VALUES.get(quantity)
    return _ask(quantity, 9, _NANO_VALUES, MAX * 10**9) if found is None else found


def compare(left: Quantity, right: Quantity) -> int:
    """-1, 0 or 1, to the billionth: ``Quantity.Cmp``, which volumes are matched by."""
    a, b = nano_value(left), nano_value(right)
    return (a > b) - (a < b)


def _ask(quantity: Quantity, decimals: int, answers: dict[Quantity, int], limit: int = MAX) -> int:
    text = _text(quantity)
    answer = _scaled(text, decimals, limit)
    if len(text) <= _REMEMBERED_LENGTH:
        if len(answers) >= _REMEMBERED:
            # Clearing is cruder than dropping the oldest, and a look-up needs no bookkeeping for it.
            answers.clear()
        answers[quantity] = answer
    return answer


def _text(quantity: Quantity) -> str:
    if isinstance(quantity, str):
        return quantity.strip()
    if isinstance(quantity, int):
        # Python refuses to print an integer of thousands of digits; anything this large saturates.
        return str(max(MIN * 10**9, min(quantity, MAX * 10**9)))
    return repr(quantity)


def _scaled(text: str, decimals: int, limit: int) -> int:
    """The quantity times 10^decimals, rounded away from zero, within [-limit - 1, limit]."""
    parts = _PARTS.fullmatch(text)
    if not text or parts is None:
        raise QuantityError(WRONG_FORMAT)
    sign, whole, fraction, suffix = (part or "" for part in parts.groups())
    tens, twos = _suffix(suffix)
    if not whole and not fraction and (tens < _SMALLEST_POWER or twos >= _POWERS_OF_TWO["Pi"]):
        # Go reads a quantity without any digit as zero, unless its suffix leads to the slow parser.
        raise QuantityError(WRONG_NUMBER)
    size = _rounded_up(whole, fraction, tens + decimals, twos)
    return max(-size, -limit - 1) if sign == "-" else min(size, limit)


def _suffix(suffix: str) -> tuple[int, int]:
    """The powers of ten and of two that what follows the digits stands for."""
    if suffix in _POWERS_OF_TEN:
        return _POWERS_OF_TEN[suffix], 0
    if suffix in _POWERS_OF_TWO:
        return 0, _POWERS_OF_TWO[suffix]
    exponent = _EXPONENT.fullmatch(suffix)
    if exponent is None or len(exponent.group(2)) > len(str(MAX)):
        raise QuantityError(WRONG_SUFFIX)
    power = int(exponent.group(1) + exponent.group(2))
    if not MIN <= power <= MAX:
        raise QuantityError(WRONG_SUFFIX)
    # Go keeps 32 bits of it: 1e4294967297 is 10 there.
    return (power + 2**31) % 2**32 - 2**31, 0


def _rounded_up(whole: str, fraction: str, tens: int, twos: int) -> int:
    """``whole.fraction`` times the powers of ten and two; more than any limit if it is huge.

    Never builds a number of more than some hundred digits: 1e999999999 and a megabyte of nines are
    two ways to stall a scheduler.
    """
    whole = whole.lstrip("0")
    if not whole and not fraction.strip("0"):
        return 0
    leading_zeros = 0 if whole else len(fraction) - len(fraction.lstrip("0"))
    length = (len(whole) or -leading_zeros) + tens
    if length > _HUGE:
        return _power_of_ten(_HUGE)
    if length < -_MAX_DECIMALS:
        return 1

    digits, places = whole + fraction, len(fraction) - tens
    if places > _MAX_DECIMALS:
        # What lies beyond cannot move the number to or past the next integer, so of all those
        # digits only one thing counts: whether any is not zero.
        cut = len(digits) - (places - _MAX_DECIMALS)
        rest = digits[cut:].strip("0")
        digits, places = digits[:cut] + ("1" if rest else "0"), _MAX_DECIMALS + 1
    number = int(digits) << twos
    if places <= 0:
        return number * _power_of_ten(-places)
    return -(-number // _power_of_ten(places))


def _power_of_ten(exponent: int) -> int:
    return int("1" + "0" * exponent)
