"""What a check has to say of a plugin. Made by the checks, printed by ``cli.lint_plugin``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad it is."""

    #: Wrong decisions, or pods that fail: the exit status says so.
    FAULT = "fault"
    #: Right, but slower or frailer than it need be.
    DOUBT = "doubt"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to change, and how."""

    #: The check that found it, ``repeatable``.
    rule: str
    message: str
    #: What to do about it.
    cure: str
    severity: Severity = Severity.FAULT
    #: In the plugin's file, where that is known.
    line: int | None = None
