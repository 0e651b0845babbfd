"""Columns of tables, and what stands in a cell: ages, counts, names.

Read by the files beside this one, a table per kind. Cells are made from plain objects; ages need to know what time it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from bayplan.embedded.objects import Object, as_list, at, number_at, seconds_of, text_at

Cell = Callable[[Object, float], Any]

NONE: Final = "<none>"
UNKNOWN: Final = "<unknown>"
UNSET: Final = "<unset>"

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its heading and how its cells are made."""

    name: str
    cell: Cell
    type: str = "string"
    #: 1: shown by ``-o wide`` alone.
    priority: int = 0
    description: str = ""

    @property
    def definition(self) -> Object:
        """As a table says it."""
        return {
            "name": self.name,
            "type": self.type,
            "format": "name" if self.name == "Name" else "",
            "description": self.description,
            "priority": self.priority,
        }


def human(seconds: float) -> str:
    """A duration in two or three figures: ``5s``, ``3m20s``, ``2d4h``."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    whole = max(whole, 0)
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    # Up to a limit, in one unit; up to another, with the rest in the next smaller one.
    for unit, name, smaller, small, mixed, alone in _SCALES:
        if whole < alone:
            count, rest = whole // unit, whole % unit // smaller
            return f"{count}{name}{rest}{small}" if whole < mixed and rest else f"{count}{name}"
    return f"{whole // _YEAR}y"


#: Unit and its letter, the next smaller unit and its letter, up to where both are shown, up to where the unit is used.
_SCALES: Final = (
    (_MINUTE, "m", 1, "s", 10 * _MINUTE, 3 * _HOUR),
    (_HOUR, "h", _MINUTE, "m", 8 * _HOUR, 2 * _DAY),
    (_DAY, "d", _HOUR, "h", 8 * _DAY, 2 * _YEAR),
    (_YEAR, "y", _DAY, "d", 8 * _YEAR, 8 * _YEAR),
)


def since(stamp: object, now_s: float) -> str:
    """How long ago a timestamp was."""
    if not isinstance(stamp, str) or not stamp:
        return UNKNOWN
    then_s = seconds_of(stamp)
    return UNKNOWN if then_s is None else human(now_s - then_s)


def _name(obj: Object, _now_s: float) -> str:
    return text_at(obj, "metadata", "name")


def _age(obj: Object, now_s: float) -> str:
    return since(at(obj, "metadata", "creationTimestamp"), now_s)


NAME: Final = Column("Name", _name)
AGE: Final = Column("Age", _age)


def text(name: str, *path: str, empty: str = "", priority: int = 0) -> Column:
    """A column with the string down a path."""

    def cell(obj: Object, _now_s: float) -> str:
        found = at(obj, *path)
        if isinstance(found, bool):
            return str(found).lower()
        return empty if found in (None, "") else str(found)

    return Column(name, cell, priority=priority)


def number(name: str, *path: str, kind: str = "integer") -> Column:
    """A column with the integer down a path."""
    return Column(name, lambda obj, _now_s: number_at(obj, *path), kind)


def flag(name: str, *path: str, default: bool = False) -> Column:
    """A column with the boolean down a path."""

    def cell(obj: Object, _now_s: float) -> bool:
        found = at(obj, *path)
        return found if isinstance(found, bool) else default

    return Column(name, cell, "boolean")


def made(
    name: str, make: Callable[[Object], Any], kind: str = "string", *, wide: bool = False
) -> Column:
    """A column whose cells need no time."""
    return Column(name, lambda obj, _now_s: make(obj), kind, priority=int(wide))


def joined(values: list[str]) -> str:
    """Several values in one cell."""
    return ",".join(values) or NONE


def pairs(value: object) -> str:
    """A map as ``a=1,b=2``."""
    if not isinstance(value, dict):
        return NONE
    return joined([f"{key}={one}" for key, one in sorted(value.items())])


def has_condition(obj: Object, kind: str) -> bool:
    """Whether a condition of the object's status is true."""
    return any(
        text_at(one, "type") == kind and text_at(one, "status") == "True"
        for one in as_list(at(obj, "status", "conditions"))
    )
