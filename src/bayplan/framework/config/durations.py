"""Durations as Go writes them: ``15s``, ``1m30s``, ``1.5h``.

Read from configuration files by ``decode``; written into messages by ``fields``.
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import Final

#: Microseconds per unit; finer than a microsecond is rounded, as nothing here waits that short.
_UNITS: Final = {
    "ns": Decimal("0.001"),
    "us": Decimal(1),
    "µs": Decimal(1),
    "μs": Decimal(1),
    "ms": Decimal(1_000),
    "s": Decimal(1_000_000),
    "m": Decimal(60_000_000),
    "h": Decimal(3_600_000_000),
}
_PART: Final = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
#: What an int64 of nanoseconds holds.
_MOST: Final = Decimal(2**63 - 1) / 1000


def parse_duration(text: str) -> timedelta:
    """The duration; ValueError with Go's words where the text is none."""
    body = text.removeprefix("-") if text.startswith("-") else text.removeprefix("+")
    if body == "0":
        return timedelta()
    total, end = Decimal(0), 0
    while match := _PART.match(body, end):
        total += Decimal(match[1]) * _UNITS[match[2]]
        end = match.end()
    if not body or end != len(body) or total > _MOST:
        raise ValueError(f'time: invalid duration "{text}"')
    return timedelta(microseconds=int(-total if text.startswith("-") else total))


def format_duration(value: timedelta) -> str:
    """As Go prints it: ``1m30s``, ``500ms``, ``0s``."""
    micros = value // timedelta(microseconds=1)
    sign, micros = ("-", -micros) if micros < 0 else ("", micros)
    if micros < 1_000_000:
        if micros == 0:
            return "0s"
        small = f"{micros}µs" if micros < 1_000 else f"{_trim(micros, 1_000)}ms"
        return sign + small
    minutes, rest = divmod(micros, 60_000_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{_trim(rest, 1_000_000)}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return f"{sign}{hours}h{text}" if hours else sign + text


def _trim(amount: int, unit: int) -> str:
    whole, part = divmod(amount, unit)
    digits = f"{part:0{len(str(unit)) - 1}d}".rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)
