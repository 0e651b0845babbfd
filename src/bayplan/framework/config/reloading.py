"""``reload`` and the ``arm`` of a profile in the BayplanConfiguration: how changes are taken over, and how new rules are tried.

Read by ``app.reloading`` and ``runtime.reloading``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Final, Literal

from bayplan.framework.config.decode import Int64
from bayplan.framework.config.fields import invalid, required
from bayplan.framework.config.section import Section

CANARY: Final = "canary"
SHADOW: Final = "shadow"


class Rollback(Section, frozen=True, kw_only=True):
    """When a configuration that was just taken over is given up again."""

    #: So many attempts, and so much time, it is on probation.
    attempts: Int64 = 200
    within: timedelta = timedelta(minutes=1)
    #: It fails with so many attempts that a plugin broke, if these are also a greater share than before, by so much.
    errors: Int64 = 3
    share: float = 0.2

    def check(self) -> Iterator[tuple[str, str]]:
        if self.attempts < 1:
            yield "attempts", invalid(self.attempts, "must be greater than 0")
        if self.errors < 1:
            yield "errors", invalid(self.errors, "must be greater than 0")
        if self.within < timedelta():
            yield "within", invalid(self.within, "must not be negative")
        if not 0.0 <= self.share <= 1.0:
            yield "share", invalid(self.share, "must be from 0 to 1")


class Reload(Section, frozen=True, kw_only=True):
    """Whether and how a changed file is taken over while the scheduler runs; SIGHUP asks for it in any case."""

    #: Whether the file and the plugins' files are watched.
    watch: bool = True
    #: How often they are looked at; a change counts once it has stood still for so long.
    interval: timedelta = timedelta(seconds=1)
    #: So many pods are decided by the new configuration, for trial, before it is taken over.
    dry_run_pods: Int64 = 50
    rollback: Rollback = Rollback()

    def check(self) -> Iterator[tuple[str, str]]:
        if self.interval < timedelta(milliseconds=100):
            yield "interval", invalid(self.interval, "must be at least 100ms")
        if not 0 <= self.dry_run_pods <= 50:
            yield "dryRunPods", invalid(self.dry_run_pods, "must be from 0 to 50")


class Arm(Section, frozen=True, kw_only=True):
    """Another profile that is tried on pods of this one."""

    #: The schedulerName of that profile.
    profile: str = ""
    #: ``canary``: it decides a share of the pods. ``shadow``: it decides them too, and nothing comes of it but a record.
    mode: Literal["canary", "shadow"] = "shadow"
    #: The share, by a hash of the pod's uid: a pod stays on its side.
    percent: float = 0.0
    #: Pods with these labels are of the share in any case.
    match_labels: Mapping[str, str] = {}

    def check(self) -> Iterator[tuple[str, str]]:
        if not self.profile:
            yield "profile", required()
        if not 0.0 <= self.percent <= 100.0:
            yield "percent", invalid(self.percent, "must be from 0 to 100")
        if not self.percent and not self.match_labels:
            yield "percent", required("a share of the pods, or matchLabels, or both")
