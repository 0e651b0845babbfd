"""How Kubernetes words what is wrong with a field, so that people find the words they search for.

Used by the validation here; plugins may use the same in ``check_args``.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import msgspec

from bayplan.framework.config.durations import format_duration
from bayplan.model.label_syntax import quote


def show(value: Any) -> str:
    """A value as Kubernetes prints it in messages: JSON."""
    if isinstance(value, timedelta):
        value = format_duration(value)
    if isinstance(value, str):
        return quote(value)
    return msgspec.json.encode(value).decode()


def invalid(value: Any, detail: str = "") -> str:
    """The value is malformed or out of range."""
    return _join(f"Invalid value: {show(value)}", detail)


def required(detail: str = "") -> str:
    """The value is missing or empty."""
    return _join("Required value", detail)


def duplicate(value: Any) -> str:
    """The value must be unique."""
    return f"Duplicate value: {show(value)}"


def forbidden(detail: str = "") -> str:
    """The value may not be set here."""
    return _join("Forbidden", detail)


def unsupported(value: Any, supported: Iterable[Any]) -> str:
    """The value is none of those allowed."""
    return f"Unsupported value: {show(value)}: supported values: {', '.join(map(show, supported))}"


def _join(head: str, detail: str) -> str:
    return f"{head}: {detail}" if detail else head
