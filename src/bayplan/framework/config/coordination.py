"""``standby`` and ``coordination`` of the BayplanConfiguration: how this scheduler gets along with others.

Read by ``app``, which builds ``runtime.coordination`` of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from bayplan.framework.config.fields import invalid, required
from bayplan.framework.config.section import Section

#: Longer than this a pod should not wait for nothing.
_LONGEST_YIELD = timedelta(seconds=5)


class Coordination(Section, frozen=True, kw_only=True):
    """Who gives way when two schedulers want the same room at the same time."""

    #: A binding waits so long for those of other schedulers. The most important scheduler waits for nobody (0s); the longer
    #: the wait, the surer a scheduler is the one that gives way.
    yield_for: timedelta = timedelta(0)

    def check(self) -> Iterator[tuple[str, str]]:
        if not timedelta(0) <= self.yield_for <= _LONGEST_YIELD:
            yield "yieldFor", invalid(str(self.yield_for), "must be from 0s to 5s")


class Standby(Section, frozen=True, kw_only=True):
    """A profile of this file that another scheduler serves for as long as it lives."""

    scheduler_name: str = ""
    #: The other's lease, ``namespace/name``; empty: the one that ``bayplan run`` takes for this name by itself.
    lease: str = ""
    #: So long after the lease has lapsed; of several standbys the one with the shortest patience takes over.
    patience: timedelta = timedelta(0)

    def check(self) -> Iterator[tuple[str, str]]:
        if not self.scheduler_name:
            yield "schedulerName", required()
        if self.lease and len(self.reference) != 2:
            yield "lease", invalid(self.lease, 'must have the form "namespace/name"')
        if self.patience < timedelta(0):
            yield "patience", invalid(str(self.patience), "must not be negative")

    @property
    def reference(self) -> tuple[str, ...]:
        """Namespace and name of the lease."""
        if not self.lease:
            return ("kube-system", f"bayplan-{self.scheduler_name}")
        return tuple(part for part in self.lease.split("/") if part)
