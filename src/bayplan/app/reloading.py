"""Reading the configuration again for a running process: from the command line's files to desks that could decide.

Put together by ``process``; ``runtime.reloading`` decides when to read and what to make of it.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from bayplan.app.options import configure, known_plugins, own_lease
from bayplan.client.resources import EventNote, ObjectRef
from bayplan.errors import BayplanError
from bayplan.runtime.leadership import lease_reference
from bayplan.runtime.reloading.adoption import adopt
from bayplan.runtime.reloading.exchange import Generation
from bayplan.runtime.reloading.reloader import Reloader, Report
from bayplan.runtime.reloading.sources import Sources
from bayplan.telemetry import events
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.app.assembly import Surroundings
    from bayplan.app.options import Options
    from bayplan.client.leases import Elector
    from bayplan.framework.config import Configuration
    from bayplan.framework.registry import Registry
    from bayplan.runtime.scheduler import Scheduler

_log: Final = get_logger(__name__)


class Files:
    """The files that a command line names (``runtime.reloading.reloader.Reader``)."""

    def __init__(
        self, options: Options, config: Configuration, registry: Registry, scheduler: Scheduler
    ) -> None:
        self._options = options
        self._scheduler = scheduler
        #: The lease that is held goes by this name, also where it was called after a profile that has another by now.
        self._lease = config.leader_election.resource_name
        self._lease_is_ours = self._lease == own_lease(config)
        self.sources = self._sources_of(registry)

    def _sources_of(self, registry: Registry) -> Sources:
        config = self._options.config
        files = [*registry.files, *([config] if config is not None else [])]
        return Sources(files, registry.directories)

    def read(self, number: int) -> Generation:
        """Read everything anew.

        Raises:
            BayplanError: with everything that is wrong.
        """
        registry = None
        try:
            registry = known_plugins(number)
            config, _ = configure(self._options, registry)
            desks = self._scheduler.make_desks(config, registry)
            election = config.leader_election
            if self._lease_is_ours and election.resource_name == own_lease(config):
                election = msgspec.structs.replace(election, resource_name=self._lease)
                config = replace(config, leader_election=election)
        except BaseException:
            if registry is not None:
                registry.drop()
            raise
        finally:
            if registry is not None:
                self.sources = self._sources_of(registry)
        return Generation(number, config, registry, desks)


def reloader_of(
    options: Options, config: Configuration, registry: Registry, scheduler: Scheduler
) -> Reloader:
    """What keeps a scheduler and its files together."""
    desks = {name: counter.desk for name, counter in scheduler.counters.items()}
    asked = (p.watches for desk in desks.values() for p in desk.profile.plugins)
    watched = frozenset(kind.value for kinds in asked for kind in kinds)
    present = Generation(registry.generation, config, registry, desks)
    files = Files(options, config, registry, scheduler)
    reloader = Reloader(scheduler, files, present, watched)
    scheduler.board.metrics.generation.pull = lambda: {(): float(reloader.present.number)}
    return reloader


class Shown(Protocol):
    """The parts of a process that a reading changes or needs (``process.Process``)."""

    config: Configuration
    around: Surroundings
    scheduler: Scheduler
    elector: Elector | None
    reloader: Reloader


class Announcer:
    """Has the process show what decides now, and tells people of every reading."""

    def __init__(self, process: Shown) -> None:
        self._process = process
        self._adopting: set[asyncio.Task[None]] = set()
        process.reloader.on_report = self.report

    def report(self, report: Report) -> None:
        """A reading has come to its end."""
        process, present = self._process, self._process.reloader.present
        before = {profile.scheduler_name for profile in process.config.profiles}
        process.config = present.config
        added = set(present.desks) - before
        if added:
            task = asyncio.get_running_loop().create_task(self._adopt(sorted(added)))
            self._adopting.add(task)
            task.add_done_callback(self._adopting.discard)
        if process.around.may_write() and not process.around.dry_run:
            said = events.reload(report.outcome, report.generation, report.message)
            recorder = process.scheduler.board.reporter.recorder
            recorder.record_note(present.config.profiles[0].scheduler_name, self._note(said))

    def _note(self, said: events.EventText) -> EventNote:
        election = self._process.config.leader_election
        if self._process.elector is not None:
            return lease_reference(election.resource_namespace, election.resource_name, said)
        # Without a lease there is no object that stands for this process but the namespace that it would be in.
        regarding = ObjectRef("Namespace", "", election.resource_namespace)
        return EventNote(regarding, said.reason, said.action, said.note, said.type)

    async def _adopt(self, names: list[str]) -> None:
        try:
            found = await adopt(self._process.around.api, self._process.scheduler.pods, names)
        except BayplanError as error:
            _log.error("Pods that wait for a new profile are not known yet", error, profiles=names)
            return
        _log.info("Pods of new profiles taken in", profiles=names, pods=found)
