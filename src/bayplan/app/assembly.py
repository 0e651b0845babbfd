"""The live scheduler, put together: every object in the order in which things flow.

Called by ``process``, and by tests, which hand in another API and another clock. Nobody else builds services.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bayplan.app.extenders import foreign
from bayplan.app.policies import policies_wanted, policy_feeds
from bayplan.app.recording import recording
from bayplan.app.solver import solving
from bayplan.client import resources
from bayplan.cluster.cluster import Cluster
from bayplan.cluster.pods import ASSUMED
from bayplan.cycle.desk import Desk
from bayplan.cycle.record import Ring
from bayplan.framework.dice import Dice
from bayplan.framework.events import Resource
from bayplan.framework.profile import build_profile
from bayplan.model.pod_group import GroupApi
from bayplan.plugins.gang_scheduling import GangScheduling, with_gangs
from bayplan.queueing.scheduling import QueueSettings, SchedulingQueue
from bayplan.runtime.bind_requests import BindRequests
from bayplan.runtime.binding import Binder, Board
from bayplan.runtime.chronicle import Chronicle
from bayplan.runtime.come_back import ComeBack
from bayplan.runtime.eviction import Evictor
from bayplan.runtime.extending.attempts import Extending
from bayplan.runtime.extending.whole_nodes import WHOLE_NODES, WholeNodes
from bayplan.runtime.gangs.dismissal import Dismissal
from bayplan.runtime.gangs.finished import FinishedMembers
from bayplan.runtime.gangs.keeping import Keeper
from bayplan.runtime.gangs.status import GroupStatuses
from bayplan.runtime.handle import LiveHandle, Services
from bayplan.runtime.ingest.groups import Groups
from bayplan.runtime.ingest.nodes import Nodes
from bayplan.runtime.ingest.objects import Objects
from bayplan.runtime.ingest.pods import Pods
from bayplan.runtime.ingest.scheduling_policies import Followers
from bayplan.runtime.ingest.turns import Turns
from bayplan.runtime.ingest.waking import Waker
from bayplan.runtime.loop import Counter, Loop
from bayplan.runtime.notes import Notes
from bayplan.runtime.quiet import ReadOnly
from bayplan.runtime.reporting.conditions import Conditions
from bayplan.runtime.reporting.events import Recorder
from bayplan.runtime.reporting.policies import PolicyReports
from bayplan.runtime.reporting.quotas import QuotaStatus, gauge
from bayplan.runtime.reporting.reporter import Reporter
from bayplan.runtime.scheduler import POD_FIELDS, Feed, Scheduler
from bayplan.runtime.volumes import LiveVolumes
from bayplan.runtime.waiting import WaitingPods
from bayplan.telemetry.metrics import Metrics, single

if TYPE_CHECKING:
    from bayplan.client.api import Sender
    from bayplan.clock import Clock
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.framework.algorithm import Algorithm
    from bayplan.framework.config import Configuration
    from bayplan.framework.registry import Registry
    from bayplan.runtime.solving import Solving

#: What is watched beside pods and nodes, and what the queue calls it; None: it wakes nobody.
_OBJECTS: Final[tuple[tuple[resources.Resource[Any], Resource | None], ...]] = (
    (resources.NAMESPACES, Resource.NAMESPACE),
    (resources.PERSISTENT_VOLUMES, Resource.PERSISTENT_VOLUME),
    (resources.PERSISTENT_VOLUME_CLAIMS, Resource.PERSISTENT_VOLUME_CLAIM),
    (resources.STORAGE_CLASSES, Resource.STORAGE_CLASS),
    (resources.CSI_NODES, Resource.CSI_NODE),
    (resources.CSI_DRIVERS, Resource.CSI_DRIVER),
    (resources.CSI_STORAGE_CAPACITIES, Resource.CSI_STORAGE_CAPACITY),
    (resources.VOLUME_ATTACHMENTS, Resource.VOLUME_ATTACHMENT),
    (resources.SERVICES, Resource.SERVICE),
    (resources.REPLICATION_CONTROLLERS, None),
    (resources.REPLICA_SETS, None),
    (resources.STATEFUL_SETS, None),
    (resources.POD_DISRUPTION_BUDGETS, None),
)
#: What is watched where a plugin asks for it (``Plugin.watches``).
_ASKED_FOR: Final[tuple[tuple[resources.Resource[Any], Resource], ...]] = (
    (resources.ELASTIC_QUOTAS, Resource.ELASTIC_QUOTA),
    (resources.PRIORITY_CLASSES, Resource.PRIORITY_CLASS),
)
_GROUPS: Final[tuple[tuple[resources.Resource[Any], GroupApi], ...]] = (
    (resources.POD_GROUPS, GroupApi.NATIVE),
    (resources.COSCHEDULING_POD_GROUPS, GroupApi.COSCHEDULING),
    (resources.FORMER_POD_GROUPS, GroupApi.FORMER),
)
#: Those that VolumeBinding waits for.
_AWAITED: Final = (resources.PERSISTENT_VOLUMES, resources.PERSISTENT_VOLUME_CLAIMS)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a scheduler is put into."""

    api: Sender
    clock: Clock
    metrics: Metrics
    hostname: str
    #: Where ties begin to be broken, unless the configuration says.
    seed: int
    #: Whether this process leads: asked before everything that is written and cannot be undone.
    may_write: Callable[[], bool] = lambda: True
    dry_run: bool = False
    #: Whether a profile is this process's to serve at this moment.
    may_serve: Callable[[str], bool] = lambda _profile: True


def assemble(config: Configuration, registry: Registry, around: Surroundings) -> Scheduler:
    """Build everything that schedules.

    Raises:
        ConfigError: a plugin cannot be built, or an extender cannot be called.
    """
    clock, metrics = around.clock, around.metrics
    api: Sender = ReadOnly(around.api) if around.dry_run else around.api
    seed = around.seed if config.own.seed is None else config.own.seed

    cluster = Cluster()
    waiting = WaitingPods()
    conditions = Conditions(api, clock)
    recorder = Recorder(api, clock, metrics, around.hostname)
    reporter = Reporter(conditions, recorder)
    bindings = BindRequests(api, metrics, around.may_write)
    volumes = LiveVolumes(api, clock)
    services = Services(bindings, volumes, conditions, recorder, waiting, Notes(clock), clock)

    make_desks = _desk_maker(config, cluster, services, Dice(seed), clock.monotonic)
    desks = make_desks(config, registry)
    queue = SchedulingQueue(
        {name: desk.profile for name, desk in desks.items()},
        QueueSettings(
            initial_backoff_s=config.pod_initial_backoff_seconds,
            max_backoff_s=config.pod_max_backoff_seconds,
            extended=bool(config.extenders),
        ),
        metrics=metrics,
        timer=clock.monotonic,
    )
    waker = Waker(queue, metrics, clock)
    pods = Pods(cluster, queue, waiting, waker, _turns(config, desks), clock)

    chronicle = Chronicle(clock, config.own.record.size)
    come_back = ComeBack(
        queue, pods.pending, cluster.nominations, reporter, metrics, clock, chronicle
    )
    board = Board(
        cluster,
        queue,
        waiting,
        come_back,
        reporter,
        services.notes,
        metrics,
        clock,
        chronicle,
        around.dry_run,
        around.may_write,
        around.may_serve,
    )
    binder = Binder(board, config.own.coordination.yield_for.total_seconds())
    evictor = Evictor(api, clock, metrics, recorder, waiting, around.may_write)
    counters = {name: Counter.of(desk) for name, desk in desks.items()}
    loop = Loop(board, counters, pods, binder, evictor)
    keeper = _keeper(board, api, recorder, loop, solving(config, seed))
    feeds = [
        *_groups(cluster, queue, waker, clock),
        *_feeds(cluster, waker, pods, volumes, desks.values()),
    ]
    extending = _extending(config, board, api, pods, feeds)
    if extending is not None:
        binder.extending = extending
        loop.ask(extending)
    reports = PolicyReports(api, clock, recorder, around.may_write)
    followers = Followers(cluster, pods, services, waker)
    feeds[-1:-1] = policy_feeds(policies_wanted(config), cluster, followers, reports)
    scheduler = Scheduler(
        board,
        counters,
        feeds,
        pods,
        loop,
        binder,
        evictor,
        QuotaStatus(api, cluster.quotas, clock, around.may_write),
        reports,
        keeper,
        make_desks,
        extending,
        recording(config.own.record, board),
    )
    _close_circles(scheduler, services, waker)
    _pull_gauges(scheduler)
    return scheduler


def _turns(config: Configuration, profiles: Collection[str]) -> Turns:
    return Turns(profiles, (standby.scheduler_name for standby in config.own.standby))


def _extending(
    config: Configuration, board: Board, api: Sender, pods: Pods, feeds: list[Feed]
) -> Extending | None:
    """Whoever asks foreign extenders; None where there are none. Adds what they want to know of nodes to the feeds."""
    if not config.extenders:
        return None
    whole = WholeNodes()
    if not all(extender.node_cache_capable for extender in config.extenders):
        feeds.insert(len(_GROUPS) + 1, Feed(WHOLE_NODES, whole))
    extenders = foreign(
        config.extenders, config.source, board.cluster, whole, board.metrics, board.clock
    )
    return Extending(extenders, api, pods, config.parallelism)


def _desk_maker(
    config: Configuration,
    cluster: Cluster,
    services: Services,
    dice: Dice,
    timer: Callable[[], float],
) -> Callable[[Configuration, Registry], dict[str, Desk]]:
    """Makes a desk per profile; all of them, also those of a later configuration, share the dice and the record."""
    ring = Ring(config.own.record.size)

    def make_desks(config: Configuration, registry: Registry) -> dict[str, Desk]:
        desks: dict[str, Desk] = {}
        for profile in config.profiles:
            name = profile.scheduler_name
            handle = LiveHandle(cluster.view, name, dice, services)
            built = build_profile(profile, registry, handle)
            built = with_gangs(built, GangScheduling(None, handle))
            algorithm: Algorithm | None = None
            if profile.algorithm:
                algorithm = registry.load_object(profile.algorithm)()
            desks[name] = Desk(cluster, built, dice, ring, handle, algorithm)
            desks[name].time_with(timer)
        return desks

    return make_desks


def _feeds(
    cluster: Cluster, waker: Waker, pods: Pods, volumes: LiveVolumes, desks: Iterable[Desk]
) -> list[Feed]:
    """What is watched, in the order in which it is first listed: pods come last and find their nodes and volumes."""
    feeds = [Feed(resources.NODES, Nodes(cluster, waker))]
    for kind, name in _OBJECTS:
        on_change = volumes.changed if kind in _AWAITED else None
        feeds.append(Feed(kind, Objects(kind.kind, cluster, waker, name, on_change)))
    asked_for = {kind for desk in desks for p in desk.profile.plugins for kind in p.watches}
    for kind, name in _ASKED_FOR:
        if name in asked_for:
            handler = Objects(kind.kind, cluster, waker, name)
            feeds.append(Feed(kind, handler, optional=kind is resources.ELASTIC_QUOTAS))
    return [*feeds, Feed(resources.PODS, pods, POD_FIELDS)]


def _groups(cluster: Cluster, queue: SchedulingQueue, waker: Waker, clock: Clock) -> Iterator[Feed]:
    """The APIs of pod groups, each where it is served."""
    for kind, api in _GROUPS:
        groups = Groups(api, cluster, queue, waker, clock)
        yield Feed(kind, groups, optional=True, on_served=groups.on_served)


def _keeper(
    board: Board, api: Sender, recorder: Recorder, loop: Loop, solver: Solving | None
) -> Keeper:
    """Who looks after pod groups between their turns, and who helps when their turn comes to nothing."""
    cluster, clock, may_write = board.cluster, board.clock, board.may_write
    statuses = GroupStatuses(api, clock, cluster, may_write)
    dismissal = Dismissal(api, clock, cluster, recorder, board.waiting, may_write)
    loop.gang_turns.on_turn = statuses.was_short
    loop.gang_turns.solving = solver
    return Keeper(board, statuses, dismissal, FinishedMembers(api))


def _close_circles(scheduler: Scheduler, services: Services, waker: Waker) -> None:
    """What is called against the flow: plugins wake pods, bindings find out about pods, an end makes room for a begin."""
    board, pods, loop = scheduler.board, scheduler.pods, scheduler.loop

    def activate(woken: Iterable[PodInfo]) -> None:
        board.queue.activate(woken, board.clock.monotonic())
        loop.wake()

    if (helper := loop.gang_turns.solving) is not None:
        helper.on_answer = lambda key: activate(each.pod for each in board.queue.members(key))
    services.activate = activate
    services.bindings.news = pods
    pods.on_foreign.append(scheduler.binder.races.on_foreign)
    scheduler.evictor.activate = activate
    scheduler.binder.on_done = loop.wake
    waker.on_change.append(loop.wake)
    pods.on_status.append(board.reporter.conditions.seen)
    pods.on_settled += [board.reporter.conditions.forget, scheduler.evictor.forget]

    def leaving(uid: str) -> None:
        for counter in scheduler.counters.values():
            if counter.evictions is not None:
                counter.evictions.deleted(uid)

    pods.on_leaving.append(leaving)


def _pull_gauges(scheduler: Scheduler) -> None:
    board, pods = scheduler.board, scheduler.board.cluster.pods
    metrics, queue = board.metrics, board.queue
    metrics.pending_pods.pull = single(queue.pending)
    metrics.oldest_pending.pull = single(lambda: queue.longest_waits(board.clock.monotonic()))
    metrics.unschedulable_pods.pull = lambda: {
        labels: float(pods) for labels, pods in queue.unschedulable_by_plugin().items()
    }
    metrics.inflight_events.pull = single(queue.in_flight_events)
    metrics.elastic_quota.pull = gauge(board.cluster.quotas)
    metrics.goroutines.pull = lambda: {("binding",): scheduler.binder.running}
    metrics.cache_size.pull = lambda: {
        ("nodes",): board.cluster.nodes.alive_count,
        ("pods",): len(pods),
        ("assumed_pods",): int(np.count_nonzero(pods.flags.data & ASSUMED)),
    }
