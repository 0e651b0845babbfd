"""The first attempts by a new configuration, and whether so many of them fail that it has to go again.

An observer of the chronicle for as long as the probation lasts. What counts is an attempt, or a binding, that a plugin broke:
a node that is full or an API server that does not answer says nothing about the configuration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bayplan.runtime.chronicle import ERROR

if TYPE_CHECKING:
    from contextvars import Context

    from bayplan.framework.config.reloading import Rollback
    from bayplan.runtime.chronicle import Chronicle, Try


def share_broken(chronicle: Chronicle, most: int) -> float:
    """How many of the last attempts a plugin broke."""
    attempts = list(chronicle.latest(most))
    broken = sum(bool(attempt.broken) for attempt in attempts)
    return broken / len(attempts) if attempts else 0.0


class Probation:
    """One configuration's."""

    def __init__(
        self, rules: Rollback, since: float, before: float, fail: Callable[[str], None]
    ) -> None:
        """``since``: attempts that began later count; ``before``: the share that was broken until then."""
        self._rules = rules
        self._since = since
        self._before = before
        self._fail = fail
        self.attempts = 0
        self.errors = 0
        #: Whether it is over, either way.
        self.is_over = False

    def decided(self, attempt: Try) -> None:
        """Counts when it has ended."""

    def ended(self, attempt: Try) -> None:
        """An attempt has come to its end."""
        if attempt.began < self._since or self.is_over:
            return
        self.attempts += 1
        self.errors += bool(attempt.result == ERROR and attempt.broken)
        rules = self._rules
        if self.errors >= rules.errors and self.errors / self.attempts > self._before + rules.share:
            self.is_over = True
            self._fail(
                f"{self.errors} of {self.attempts} attempts were broken by a plugin, the last by "
                f"{attempt.broken}: {attempt.message}"
            )
        elif self.attempts >= rules.attempts:
            self.is_over = True

    def context(self, attempt: Try) -> Context | None:
        """None of its own."""
        return None
