"""Reading the configuration and its plugins again while the scheduler runs.

::

    a file changed, SIGHUP ─▶ read ─▶ obstacles? ─▶ tried on pods ─▶ exchanged ─▶ on probation ─▶ kept
                               │          │             │                             │ plugins break attempts
                               └──────────┴─────────────┴─▶ refused: nothing changes  └─▶ the former rules again

Run by ``app`` beside the decision loop, in the same thread; only the exchange itself is done in one go. Whatever comes of it is
told in the log, as a metric and as an event.
"""

from __future__ import annotations

import asyncio
import dataclasses
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from bayplan.errors import BayplanError
from bayplan.runtime.reloading.exchange import Exchange, Generation
from bayplan.runtime.reloading.obstacles import obstacles
from bayplan.runtime.reloading.probation import Probation, share_broken
from bayplan.runtime.reloading.sources import Watch
from bayplan.runtime.reloading.trial import pods_to_try, try_out
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.framework.config.reloading import Reload
    from bayplan.framework.registry import Registry
    from bayplan.runtime.reloading.sources import Fingerprint, Sources
    from bayplan.runtime.scheduler import Scheduler

_log: Final = get_logger(__name__)

APPLIED, REFUSED, ROLLED_BACK = "applied", "refused", "rolled_back"
#: Reasons shown of those that stand in the way.
_SHOWN: Final = 5
#: Readings that ``/configz`` lists.
_LISTED: Final = 10


class Refused(BayplanError):
    """A configuration that is not taken over, and why."""


class Reader(Protocol):
    """Makes a generation of what the files say (``app.reloading``)."""

    @property
    def sources(self) -> Sources:
        """The files of the last reading, whether or not it went well."""
        ...

    def read(self, number: int) -> Generation:
        """Read everything anew.

        Raises:
            BayplanError: with everything that is wrong.
        """
        ...


@dataclass(frozen=True, slots=True)
class Report:
    """What came of one reading."""

    outcome: str
    generation: int
    #: What brought it about, and why it ended as it did.
    cause: str
    message: str


class Reloader:
    """Keeps the scheduler and the files together."""

    def __init__(
        self, scheduler: Scheduler, reader: Reader, present: Generation, watched: frozenset[str]
    ) -> None:
        """``present``: what decides now; ``watched``: kinds that are watched because a plugin asked for them."""
        clock = scheduler.board.clock
        self._scheduler = scheduler
        self._reader = reader
        self._watched = watched
        self.exchange = Exchange(scheduler, clock.monotonic)
        self.exchange.take(present, at_start=True)
        self.present = present
        self._former: Generation | None = None
        self._number = present.number
        self._watch = Watch(reader.sources)
        self._asked = asyncio.Event()
        self._probation: Probation | None = None
        self._probation_ends = 0.0
        #: Told what came of every reading; set by ``app``.
        self.on_report: Callable[[Report], None] = lambda report: None
        #: The last readings, oldest first.
        self.reports: list[Report] = []
        self._keep(present)

    @property
    def settings(self) -> Reload:
        """As the present configuration has them."""
        return self.present.config.own.reload

    def ask(self) -> None:
        """Read everything again now, changed or not."""
        self._asked.set()

    async def run(self) -> None:
        """Look after the files until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.settings.interval.total_seconds()):
                    await self._asked.wait()
            if self._asked.is_set():
                self._asked.clear()
                await self.reload("SIGHUP")
            elif self.settings.watch and self._watch.changed():
                await self.reload("a file changed")
            self._end_probation_in_time()

    async def reload(self, cause: str) -> Report:
        """Read everything again and take it over, or say why not."""
        self._number += 1
        number, found = self._number, self._watch.sources.fingerprint()
        generation: Generation | None = None
        try:
            generation = self._read(number)
            found = self._unchanged(found)
            tried = await self._judge(generation)
        except Exception as error:  # noqa: BLE001 - also a mistake of ours: the old rules go on
            if not isinstance(error, BayplanError):
                _log.exception("Reading the configuration broke off", error)
            if generation is not None:
                generation.registry.drop()
            report = Report(REFUSED, number, cause, str(error) or type(error).__name__)
        else:
            self._take(generation)
            report = Report(APPLIED, number, cause, tried)
        self.exchange.settle_policies(self.present)
        # Files that were named for the first time count as changed once more: nobody knows since when they are as they are.
        self._watch.know(self._watch.sources | self._reader.sources, found)
        self._tell(report)
        return report

    def _read(self, number: int) -> Generation:
        try:
            return self._reader.read(number)
        except BayplanError:
            raise
        except (Exception, SystemExit) as error:  # whatever a user's file does
            raise Refused(f"{type(error).__name__}: {error}") from error

    def _unchanged(self, before: Fingerprint) -> Fingerprint:
        """The files as they are after they were read, which has to be as they were before.

        Raises:
            Refused: somebody wrote meanwhile: what was read may be half of the old and half of the new.
        """
        known = self._watch.sources.fingerprint()
        if known != before:
            raise Refused("a file was changed while it was being read; it is read again")
        sources = self._watch.sources | self._reader.sources
        return sources.fingerprint()

    async def _judge(self, wanted: Generation) -> str:
        """Whether the generation may decide; what the trial on pods came to.

        Raises:
            Refused: it may not.
        """
        reasons = list(obstacles(self.present, wanted, self._scheduler, self._watched))
        if reasons:
            raise Refused(_shortened(reasons))
        scheduler = self._scheduler
        pods = pods_to_try(scheduler, self.settings.dry_run_pods)
        trial = await try_out(wanted.desks, self.present.desks, pods, scheduler.board.clock)
        if trial.errors:
            raise Refused("in a trial: " + _shortened(trial.errors))
        # Pods may have come while the trial went on.
        reasons = list(obstacles(self.present, wanted, scheduler, self._watched))
        if reasons:
            raise Refused(_shortened(reasons))
        return str(trial)

    def _take(self, generation: Generation) -> None:
        self._end_probation()
        chronicle, clock = self._scheduler.board.chronicle, self._scheduler.board.clock
        rules = generation.config.own.reload.rollback
        before = share_broken(chronicle, rules.attempts)
        self.exchange.take(generation)
        self._former, self.present = self.present, generation
        self._keep(generation)
        now = clock.monotonic()
        self._probation = Probation(rules, now, before, self._roll_back)
        self._probation_ends = now + rules.within.total_seconds()
        chronicle.observers.append(self._probation)

    # --- probation -----------------------------------------------------------------------------------------------------

    def _roll_back(self, why: str) -> None:
        """Called in the middle of an attempt's end: the exchange follows as soon as the loop's slice is over."""
        failed, former = self.present, self._former
        assert former is not None
        asyncio.get_running_loop().call_soon(self._back_to, former, failed, why)

    def _back_to(self, former: Generation, failed: Generation, why: str) -> None:
        self._end_probation()
        if self.present is not failed:
            return
        self.exchange.take(former)
        self.exchange.settle_policies(former)
        self.present, self._former = former, None
        self._tell(Report(ROLLED_BACK, failed.number, f"generation {former.number} again", why))

    def _end_probation_in_time(self) -> None:
        probation = self._probation
        if probation is None:
            return
        if probation.is_over or self._scheduler.board.clock.monotonic() >= self._probation_ends:
            self._end_probation()

    def _end_probation(self) -> None:
        if self._probation is None:
            return
        observers = self._scheduler.board.chronicle.observers
        # Observers may be running through the list at this moment: it is replaced, not changed.
        self._scheduler.board.chronicle.observers = [
            each for each in observers if each is not self._probation
        ]
        self._probation = None
        self._former = None

    def to_json(self) -> dict[str, Any]:
        """For ``/configz``."""
        shown = [dataclasses.asdict(report) for report in self.reports[-_LISTED:]]
        return {"generation": self.present.number, "readings": shown}

    # --- around it -----------------------------------------------------------------------------------------------------

    def _keep(self, generation: Generation) -> None:
        """Keep the modules of a generation's plugins for as long as any of its profiles is in use."""
        profiles = [desk.profile for desk in generation.desks.values()]
        alive = {id(profile) for profile in profiles}
        for profile in profiles:
            gone = weakref.finalize(profile, _one_less, alive, id(profile), generation.registry)
            gone.atexit = False

    def _tell(self, report: Report) -> None:
        self.reports = [*self.reports[-99:], report]
        self._scheduler.board.metrics.reload(report.outcome)
        if report.outcome == APPLIED:
            _log.info(
                "Configuration taken over",
                generation=report.generation,
                cause=report.cause,
                trial=report.message,
            )
        else:
            what = "refused" if report.outcome == REFUSED else "given up again"
            _log.error(
                f"Configuration {what}; generation {self.present.number} goes on",
                report.message,
                generation=report.generation,
                cause=report.cause,
            )
        self.on_report(report)


def _one_less(alive: set[int], profile: int, registry: Registry) -> None:
    alive.discard(profile)
    if not alive:
        registry.drop()


def _shortened(reasons: list[str]) -> str:
    more = len(reasons) - _SHOWN
    return "; ".join(reasons[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")
