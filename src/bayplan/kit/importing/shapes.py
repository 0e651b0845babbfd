"""Taking values out of a file as what they have to be; anything else is refused with its place.

Used by the importers for what they read themselves; the rest is judged by bayplan's own loader.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from bayplan.errors import ConfigError, Problem


def mapping(value: Any, where: str) -> Mapping[str, Any]:
    """A mapping; what is not there is an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise refused(where, value, "a mapping")
    return value


def sequence(value: Any, where: str) -> list[Any]:
    """A list; what is not there is an empty one."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise refused(where, value, "a list")
    return value


def number(value: Any, where: str, default: float) -> float:
    """A finite number, also one that is written as text."""
    if value is None:
        return default
    try:
        found = float(value)
    except (TypeError, ValueError) as error:
        raise refused(where, value, "a number") from error
    if isinstance(value, bool) or not math.isfinite(found):
        raise refused(where, value, "a number")
    return found


def whole(value: Any, where: str, default: int) -> int:
    """A whole number."""
    return int(number(value, where, default))


def refused(where: str, value: Any, wanted: str) -> ConfigError:
    """The complaint about a value."""
    return ConfigError([Problem(where, f"Invalid value: {value!r}: must be {wanted}")])
