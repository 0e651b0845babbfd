"""BayplanConfiguration: what bayplan can do beyond kube-scheduler, as a second document of the same file.

Filled by ``decode``; handed on as ``Configuration.own``. To add a setting, write a ``Section`` (here, or in a file of
its own under this package) and give it a field below; its ``check`` finds what types cannot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

import msgspec

from bayplan.framework.config.coordination import Coordination, Standby
from bayplan.framework.config.decode import Int64
from bayplan.framework.config.fields import duplicate, invalid, required
from bayplan.framework.config.gangs import Gangs
from bayplan.framework.config.live_data import Provider
from bayplan.framework.config.paths import Path, parse
from bayplan.framework.config.reloading import Arm, Reload
from bayplan.framework.config.report import Report
from bayplan.framework.config.section import Section

VERSION: Final = "bayplan.io/v1alpha1"
KIND: Final = "BayplanConfiguration"

_REFERENCE: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def is_reference(text: str) -> bool:
    """Whether the text has the shape of ``package.module:Class``."""
    return _REFERENCE.fullmatch(text) is not None


class Record(Section, frozen=True, kw_only=True):
    """Where decisions are kept for ``explain``."""

    #: How many decisions stay in memory.
    size: Int64 = 1000
    #: A log file of all decisions, ``….jsonl`` or ``….parquet``; empty: none.
    file: str = ""
    #: A file that has become so large, or so old, is complete and another one is begun.
    max_file_megabytes: Int64 = 100
    max_file_age: timedelta = timedelta(days=1)
    #: Complete files that are kept.
    max_files: Int64 = 10

    def check(self) -> Iterator[tuple[str, str]]:
        for name in ("size", "max_file_megabytes", "max_files"):
            if getattr(self, name) < 1:
                shown = "".join(
                    part.title() if index else part for index, part in enumerate(name.split("_"))
                )
                yield shown, invalid(getattr(self, name), "must be greater than 0")
        if self.max_file_age <= timedelta():
            yield "maxFileAge", invalid(self.max_file_age, "must be greater than 0")


class OwnProfile(Section, frozen=True, kw_only=True):
    """What bayplan adds to a profile of the KubeSchedulerConfiguration."""

    scheduler_name: str = ""
    #: ``module:Class`` of an algorithm that decides in place of the plugins.
    algorithm: str = ""
    #: Another profile that is tried on this one's pods.
    arm: Arm | None = None

    def check(self) -> Iterator[tuple[str, str]]:
        if not self.scheduler_name:
            yield "schedulerName", required()
        if self.algorithm and not is_reference(self.algorithm):
            yield "algorithm", invalid(self.algorithm, 'must have the form "module:Class"')
        if self.arm is not None and self.arm.profile and self.arm.profile == self.scheduler_name:
            yield "arm.profile", invalid(self.arm.profile, "must be another profile")


class BayplanConfiguration(Section, frozen=True, kw_only=True):
    """The document."""

    #: Directories whose ``*.py`` files hold plugins; relative ones start at the file's own directory.
    plugin_dirs: tuple[str, ...] = ()
    record: Record = Record()
    #: Where ties are broken at random; None: a new one for each run.
    seed: Int64 | None = None
    profiles: tuple[OwnProfile, ...] = ()
    #: Who knows what about the nodes.
    providers: tuple[Provider, ...] = ()
    gangs: Gangs = Gangs()
    #: How changes of the files are taken over.
    reload: Reload = Reload()
    #: Profiles of this file that others serve for as long as they live.
    standby: tuple[Standby, ...] = ()
    coordination: Coordination = Coordination()

    def check(self) -> Iterator[tuple[str, str]]:
        for index, directory in enumerate(self.plugin_dirs):
            if not directory:
                yield f"pluginDirs[{index}]", required()
        if self.seed is not None and self.seed < 0:
            yield "seed", invalid(self.seed, "must be greater than or equal to 0")
        seen: set[str] = set()
        for index, profile in enumerate(self.profiles):
            if profile.scheduler_name in seen:
                yield f"profiles[{index}].schedulerName", duplicate(profile.scheduler_name)
            seen.add(profile.scheduler_name)
        names: set[str] = set()
        for index, provider in enumerate(self.providers):
            if provider.name in names:
                yield f"providers[{index}].name", duplicate(provider.name)
            names.add(provider.name)
        watched: set[str] = set()
        for index, standby in enumerate(self.standby):
            if standby.scheduler_name in watched:
                yield f"standby[{index}].schedulerName", duplicate(standby.scheduler_name)
            watched.add(standby.scheduler_name)


def check_sections(value: object, path: Path, report: Report) -> None:
    """Ask every section at or below ``value`` for its problems."""
    if isinstance(value, tuple):
        for index, item in enumerate(value):
            check_sections(item, (*path, index), report)
    elif isinstance(value, Section):
        for where, message in value.check():
            report.error((*path, *parse(where)), message)
        for field in msgspec.structs.fields(value):
            check_sections(getattr(value, field.name), (*path, field.encode_name), report)
