"""One process of ``bayplan run``, from its start to its exit status.

::

    configuration ─▶ API server reached ─▶ everything listed ─▶ lease held ─▶ deciding
                                                                   │ lost: writes nothing more, exit 1
                                                                   │ SIGTERM: ends what it began, lets the lease go, exit 0

A restart knows nothing of what was before: the lists tell it which pods are bound, and those that are not are decided anew.
"""

from __future__ import annotations

import asyncio
import gc
import random
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bayplan.app.assembly import Surroundings, assemble
from bayplan.app.coordinating import lease_rights, new_identity, stand_ins, wait_free
from bayplan.app.logging_file import logging_file
from bayplan.app.options import Options, configure, election_settings, rate_limit
from bayplan.app.providing import pollers_of
from bayplan.app.reloading import Announcer, reloader_of
from bayplan.app.serving import serving
from bayplan.app.signals import first, signals
from bayplan.app.stalls import notice_stalls
from bayplan.app.tracing import open_tracer
from bayplan.client.api import Api, ApiSettings
from bayplan.client.config import load
from bayplan.client.informer import Informer
from bayplan.client.lanes import Lane
from bayplan.client.leases import Elector
from bayplan.client.request import Request
from bayplan.client.retry import IDEMPOTENT
from bayplan.clock import Clock, SystemClock
from bayplan.errors import ApiError, CredentialsError, Unreachable
from bayplan.providers.poller import ages_of
from bayplan.runtime.compare import compare
from bayplan.runtime.leadership import check_default_scheduler, lease_reference
from bayplan.runtime.permissions import Permissions, Right, for_groups, needed
from bayplan.runtime.watchdog import Watchdog
from bayplan.serve.configz import kube_configuration
from bayplan.telemetry import events
from bayplan.telemetry.log import get_logger
from bayplan.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from bayplan.client.access import ClusterAccess
    from bayplan.framework.config import Configuration
    from bayplan.providers.poller import Poller
    from bayplan.runtime.reloading.reloader import Reloader
    from bayplan.runtime.scheduler import Feed, Scheduler

_log: Final = get_logger(__name__)

#: What is under way at SIGTERM has so long to come to its end; Kubernetes kills after 30 s.
GRACE_S: Final = 15.0
#: How often it is looked whether everything is listed, and said what is not.
_LOOK_S: Final = 0.05
_SAY_S: Final = 10.0
#: Requests to the API server under way at once, for each unit of the configuration's ``parallelism``; with its default 32.
_CONNECTIONS_PER_UNIT: Final = 2


async def serve_scheduler(options: Options, clock: Clock | None = None) -> int:
    """Schedule until told to stop; the exit status.

    Raises:
        BayplanError: it cannot start: the configuration is wrong, or there is no cluster.
    """
    file = logging_file(options.logging, options.config)
    if file is not None:
        file.apply()
    async with opened(options, clock or SystemClock()) as process:
        watching = asyncio.create_task(file.watch()) if file is not None else None
        try:
            return await process.run()
        finally:
            if watching is not None:
                watching.cancel()


@asynccontextmanager
async def opened(options: Options, clock: Clock) -> AsyncIterator[Process]:
    """A process that is ready to run and shows its pages already. Raises as ``serve_scheduler``."""
    config, registry = configure(options)
    if debug := _log.v(2):
        debug.info("Using component config", config=kube_configuration(config))
    access = load(_kubeconfig(options, config), options.context, master=options.master)
    rng = random.Random(secrets.randbits(64))
    metrics = Metrics()
    qps, burst = rate_limit(config.client_connection, options)
    connections = _CONNECTIONS_PER_UNIT * config.parallelism
    settings = ApiSettings(connections=connections, qps=qps, burst=burst)
    tracer = open_tracer(options.tracing, clock)
    api = Api.open(access, clock, rng, settings=settings, observer=metrics)
    try:
        await _reach(api, access)
        if not options.dry_run and not options.take_over:
            await check_default_scheduler(api, config, clock)
        elector = _elector(api, config, options, clock, rng)
        metrics.leader.pull = lambda: _leading(config, elector)
        around = Surroundings(
            api=api if tracer is None else tracer.around(api),
            clock=clock,
            metrics=metrics,
            hostname=socket.gethostname(),
            seed=rng.getrandbits(63),
            may_write=elector.may_write if elector is not None else lambda: True,
            dry_run=options.dry_run,
            may_serve=lambda profile: process.stand_ins.may_serve(profile),
        )
        scheduler = assemble(config, registry, around)
        if tracer is not None:
            tracer.observe(scheduler.board.chronicle)
        informers = informers_of(scheduler, api, around, rng)
        rights = _rights(scheduler, config, elector, options)
        permissions = Permissions(api, tuple(rights))
        _need_what_is_served(scheduler, informers, permissions)
        reloader = reloader_of(options, config, registry, scheduler)
        process = Process(config, around, scheduler, informers, elector, permissions, reloader)
        try:
            with Watchdog(clock, on_interrupt=metrics.plugin_interrupted) as watchdog:
                async with serving(options.serving, process, watchdog, rng):
                    yield process
        finally:
            await scheduler.close()
    finally:
        await api.close()
        if tracer is not None:
            await tracer.close()


def informers_of(
    scheduler: Scheduler, api: Api, around: Surroundings, rng: random.Random
) -> list[Informer[Any]]:
    """An informer for everything that a scheduler is fed with."""
    informers = []
    for feed in scheduler.feeds:
        informer = Informer(
            api,
            feed.resource,
            feed.handler,
            field_selector=feed.field_selector,
            clock=around.clock,
            rng=rng,
            observer=around.metrics,
            optional=feed.optional,
        )
        if feed.on_served is not None:
            informer.on_served = feed.on_served
        informers.append(informer)
    return informers


def _need_what_is_served(
    scheduler: Scheduler, informers: Sequence[Informer[Any]], permissions: Permissions
) -> None:
    """Rights that only matter where the API server serves a kind are asked for from then on."""

    def heard(feed: Feed, tell: Callable[[bool], None], served: bool) -> None:  # noqa: FBT001 - the informer's answer
        tell(served)
        if served:
            permissions.need(for_groups(feed.resource))

    for feed, informer in zip(scheduler.feeds, informers, strict=True):
        if feed.on_served is not None:
            informer.on_served = partial(heard, feed, feed.on_served)


def _kubeconfig(options: Options, config: Configuration) -> str:
    in_file = config.client_connection.kubeconfig
    if options.kubeconfig and in_file and options.kubeconfig != in_file:
        _log.info("--kubeconfig goes before the file's", used=options.kubeconfig, file=in_file)
    return options.kubeconfig or in_file


async def _reach(api: Api, access: ClusterAccess) -> None:
    """Ask the API server anything: without it there is nothing to schedule."""
    try:
        await api.send(Request("GET", "/version", retry=IDEMPOTENT), Lane.READ)
    except ApiError as error:
        if error.status == 401:
            raise
        # It answers, if not to everybody: what is missing the informers will name.
    except (Unreachable, CredentialsError) as error:
        raise Unreachable(
            f"cannot reach the API server at {access.server} ({access.source}): {error}\n"
            "bayplan run needs a cluster; bayplan demo shows bayplan without one"
        ) from error


def _rights(
    scheduler: Scheduler, config: Configuration, elector: Elector | None, options: Options
) -> Iterator[Right]:
    election = config.leader_election
    lease = (election.resource_namespace, election.resource_name) if elector is not None else None
    watched = [feed.resource for feed in scheduler.feeds if feed.on_served is None]
    yield from needed(watched, lease, writes=not options.dry_run)
    if not options.dry_run:
        yield from lease_rights(config)


def _leading(config: Configuration, elector: Elector | None) -> dict[tuple[str, ...], float]:
    if elector is None:
        return {}
    return {(config.leader_election.resource_name,): float(elector.is_leader)}


def _elector(
    api: Api, config: Configuration, options: Options, clock: Clock, rng: random.Random
) -> Elector | None:
    if options.dry_run or not config.leader_election.leader_elect:
        return None
    settings = election_settings(config.leader_election)
    return Elector(api, settings, new_identity(), clock, rng)


@dataclass
class Process:
    """A scheduler, its informers and its lease."""

    config: Configuration
    around: Surroundings
    scheduler: Scheduler
    informers: Sequence[Informer[Any]]
    elector: Elector | None
    permissions: Permissions
    reloader: Reloader

    def __post_init__(self) -> None:
        self._stop = asyncio.Event()
        self._started = asyncio.Event()
        self._lost = asyncio.Event()
        #: Set once nobody stands in for us any more.
        self._free = asyncio.Event()
        self._comparison: asyncio.Task[None] | None = None
        self._announcer = Announcer(self)
        for informer in self.informers:
            informer.on_back = self._hurry
        self._eyes = [i for i in self.informers if i.name in ("nodes", "pods")]
        self.scheduler.loop.is_held = self._is_held
        self.scheduler.keeper.is_held = self._is_held
        self.pollers: Sequence[Poller] = pollers_of(self.config, self.scheduler, self.around)
        self.stand_ins = stand_ins(self.config, self.scheduler, self.around, self.elector)
        self.around.metrics.data_age.pull = lambda: ages_of(self.pollers)
        #: Whether everything that was there at the start is known: then decisions can be made.
        self.synced = False

    @property
    def stopping(self) -> bool:
        """Whether it was told to end."""
        return self._stop.is_set()

    async def run(self) -> int:
        """Until it is told to stop, or the lease is lost; the exit status."""
        ending = {signal.SIGTERM: self.stop, signal.SIGINT: self.stop}
        asking = {signal.SIGUSR2: self.compare_soon, signal.SIGHUP: self.reloader.ask}
        with signals(ending | asking):
            async with asyncio.TaskGroup() as tasks:
                helpers = [
                    tasks.create_task(self.scheduler.write_reports()),
                    tasks.create_task(notice_stalls(self.around.clock, self.around.metrics)),
                    tasks.create_task(self.permissions.run()),
                    tasks.create_task(self.reloader.run()),
                ]
                late = self.config.delay_cache_until_active and self.elector is not None
                if not late:
                    helpers += self._watch(tasks)
                    await self._wait_listed()
                # The nodes are known by now: what is measured has a row to go to.
                helpers += [tasks.create_task(poller.run()) for poller in self.pollers]
                leading = tasks.create_task(self._lead())
                await first(self._started, self._stop)
                if late and not self.stopping:
                    helpers += self._watch(tasks)
                    await self._wait_listed()
                freeing = wait_free(self.config, self.around, self._free)
                helpers.append(tasks.create_task(freeing))
                await first(self._free, self._stop, self._lost)
                deciding = tasks.create_task(self._decide())
                if not self.around.dry_run:
                    self.stand_ins.start(tasks)
                await first(self._lost, self._stop)
                status = await self._end(leading)
                for task in (*helpers, deciding, leading):
                    task.cancel()
        return status

    def stop(self) -> None:
        """End in good order."""
        if not self.stopping:
            _log.info("Requested to terminate, exiting")
        self._stop.set()

    def _hurry(self) -> None:
        """The API server has answered one informer; the others need not wait for their turn to try."""
        for informer in self.informers:
            informer.hurry()

    def _is_held(self) -> bool:
        """Deciding blindly would place pods on nodes that are gone; and once the lease has lapsed it is not for us."""
        blind = any(informer.last_error is not None for informer in self._eyes)
        return blind or not self.around.may_write()

    # --- the beginning -------------------------------------------------------------------------------------------------

    def _watch(self, tasks: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
        return [tasks.create_task(informer.run()) for informer in self.informers]

    async def _wait_listed(self) -> None:
        """Until every kind is listed: a pod that is not known yet would be no obstacle to another."""
        clock = self.around.clock
        say_at = clock.monotonic() + _SAY_S
        while not self.stopping:
            missing = [informer for informer in self.informers if not informer.synced]
            if not missing:
                break
            if clock.monotonic() >= say_at:
                say_at += _SAY_S
                for informer in missing:
                    _log.warning("Not listed yet", resource=informer.name, err=informer.last_error)
            await asyncio.sleep(_LOOK_S)
        # What was listed stays: the collector need not look at it again and again.
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 50, 100)
        self.synced = not self.stopping
        if debug := _log.v(3):
            debug.info("Handlers synced")

    async def _lead(self) -> None:
        if self.elector is None:
            self._started.set()
            return
        await self.elector.run(self._now_leading, self._no_longer_leading)

    def _now_leading(self) -> None:
        self._started.set()
        self._tell_lease(events.leading)

    def _no_longer_leading(self) -> None:
        # First of all: no further attempt. Bindings ask ``may_write``, which is false by now.
        self.scheduler.loop.stop()
        self._lost.set()

    def _tell_lease(self, text: Callable[[str], events.EventText]) -> None:
        assert self.elector is not None
        election = self.config.leader_election
        said = text(self.elector.identity)
        note = lease_reference(election.resource_namespace, election.resource_name, said)
        self.scheduler.board.reporter.recorder.record_note(
            self.config.profiles[0].scheduler_name, note
        )

    # --- the work ------------------------------------------------------------------------------------------------------

    async def _decide(self) -> None:
        if self.stopping or self._lost.is_set():
            return
        names = ", ".join(profile.scheduler_name for profile in self.config.profiles)
        _log.info("Scheduling begins", profiles=names, dryRun=self.around.dry_run)
        await self.scheduler.decide()

    def compare_soon(self) -> None:
        """SIGUSR2: compare with the API server, and say what the queue holds."""
        if self._comparison is None or self._comparison.done():
            comparison = compare(self.around.api, self.scheduler)
            self._comparison = asyncio.get_running_loop().create_task(comparison)

    # --- the end -------------------------------------------------------------------------------------------------------

    async def _end(self, leading: asyncio.Task[None]) -> int:
        if self._lost.is_set() and not self.stopping:
            _log.error("Leaderelection lost")
            await self.stand_ins.end(release=False)
            return 1
        if self.elector is not None and self.elector.is_leader:
            self._tell_lease(events.stopped_leading)
        # The lease is renewed until the last binding is through; only then may another one begin.
        await self.scheduler.finish(GRACE_S)
        leading.cancel()
        await self.stand_ins.end(release=True)
        if self.elector is not None:
            await self.elector.release()
        return 0
