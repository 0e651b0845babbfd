"""From an agreed placement to a bound pod: one task per pod, off the decision path.

Started by the loop once Permit has been asked. Waits as long as Permit plugins want, prepares (PreBind), binds, tells.
Whatever goes wrong on the way is undone in reverse: Unreserve, then the assumption; the room is free for others at once,
and the pod comes back (upstream: bindingCycle, handleBindingCycleError).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from bayplan.cycle import bind, reserve
from bayplan.errors import BayplanError, PluginError
from bayplan.framework.events import Action, ClusterEvent, Resource
from bayplan.framework.pod_news import pod_of
from bayplan.framework.status import Code, Rejected
from bayplan.runtime.chronicle import BINDING, PREPARING, WAITING
from bayplan.runtime.come_back import Setback
from bayplan.runtime.coordination.races import Races
from bayplan.runtime.points import Timing, count_volume_error
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.clock import Clock
    from bayplan.cluster.cluster import Cluster
    from bayplan.cycle.record import Decision
    from bayplan.cycle.reserve import Placement
    from bayplan.framework.plugin import PreBindPlugin
    from bayplan.queueing.entry import Queued
    from bayplan.queueing.scheduling import SchedulingQueue
    from bayplan.runtime.chronicle import Chronicle
    from bayplan.runtime.come_back import ComeBack
    from bayplan.runtime.extending.attempts import Extending
    from bayplan.runtime.notes import Notes
    from bayplan.runtime.reporting.reporter import Reporter
    from bayplan.runtime.waiting import Waiting, WaitingPods
    from bayplan.telemetry.metrics import Metrics

_log: Final = get_logger(__name__)


@dataclass(slots=True)
class Binding:
    """A pod on its way to its node."""

    queued: Queued
    placement: Placement
    decision: Decision
    #: When its attempt began, monotonic.
    started: float
    #: Set where Permit makes it wait.
    waiting: Waiting | None = None
    #: Pods of other schedulers that had been seen when it was decided (``Races.moment``).
    moment: int = 0


@dataclass(frozen=True, slots=True)
class Board:
    """What bindings read and write."""

    cluster: Cluster
    queue: SchedulingQueue
    waiting: WaitingPods
    come_back: ComeBack
    reporter: Reporter
    notes: Notes
    metrics: Metrics
    clock: Clock
    chronicle: Chronicle
    #: Decide and say so, but write nothing.
    dry_run: bool = False
    #: Whether this process still leads.
    may_write: Callable[[], bool] = lambda: True
    #: Whether a profile is this process's to serve.
    may_serve: Callable[[str], bool] = lambda _profile: True


class _TurnedDownError(BayplanError):
    """A Permit plugin has rejected the pod."""

    def __init__(self, rejected: Rejected) -> None:
        self.rejected = rejected
        super().__init__(rejected.message)


class _FailedError(BayplanError):
    """The pod was called off, or could not be bound."""


class Binder:
    """Runs bindings, and knows how many there are."""

    def __init__(self, board: Board, yield_for_s: float) -> None:
        """Run nothing yet.

        Args:
            board: what bindings read and write.
            yield_for_s: how long each waits for those of other schedulers.
        """
        self._board = board
        self._yield_for_s = yield_for_s
        #: Told of other schedulers' pods.
        self.races = Races(board.cluster)
        #: Called when fewer bindings are sending: there may be room for another attempt.
        self.on_done: Callable[[], None] = lambda: None
        #: Set where foreign extenders may bind.
        self.extending: Extending | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._aside = 0
        self._finishing = False

    @property
    def running(self) -> int:
        """Bindings under way, those included that wait for somebody else."""
        return len(self._tasks)

    @property
    def sending(self) -> int:
        """Bindings that are with the API server, or about to be."""
        return len(self._tasks) - self._aside

    @contextmanager
    def _standing_aside(self) -> Iterator[None]:
        """Do not count as sending: Permit and volumes may take many minutes, and keep nobody else waiting."""
        self._aside += 1
        self.on_done()
        try:
            yield
        finally:
            self._aside -= 1

    def start(self, binding: Binding) -> None:
        """Bind a pod in a task of its own."""
        binding.moment = self.races.moment
        context = self._board.chronicle.context(binding.placement.pod.uid)
        task = asyncio.get_running_loop().create_task(self._run(binding), context=context)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self.on_done()
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.exception("A binding broke off", error)

    async def finish(self, within_s: float) -> int:
        """Wait for bindings under way; those that take longer are broken off. Returns how many that were."""
        self._finishing = True
        for waiting in self._board.waiting:
            waiting.preempt("", "the scheduler is stopping")
        if not self._tasks:
            return 0
        _, late = await asyncio.wait(set(self._tasks), timeout=within_s)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        return len(late)

    async def _run(self, binding: Binding) -> None:
        try:
            bound = await self._bind(binding)
        except _TurnedDownError as error:
            self._undo(binding, Setback.by_plugin(error.rejected))
        except (PluginError, _FailedError) as error:
            if isinstance(error, PluginError):
                count_volume_error(self._board.metrics, error.plugin, error.point)
            self._undo(binding, Setback.by_error(error))
        except Exception as error:  # noqa: BLE001 - a mistake of ours: it costs this pod an attempt, and no more
            _log.exception("A binding broke off", error, pod=binding.placement.pod.key)
            self._undo(binding, Setback.by_mistake(error))
        else:
            if bound:
                await self._conclude(binding)

    # --- the way there -------------------------------------------------------------------------------------------------

    async def _bind(self, binding: Binding) -> bool:
        """Whether the pod is bound; in a dry run it is not."""
        board, placement = self._board, binding.placement
        busy: tuple[PreBindPlugin, ...] = ()
        if placement.profile.prebind:
            with self._timing(placement, "PreBindPreFlight"):
                busy = bind.preflight(placement)
        if (busy or binding.waiting is not None) and not board.dry_run:
            # Others (an autoscaler) are told where the pod will be; without a wait it will be there at once.
            await board.reporter.conditions.write_nomination(placement.pod, placement.node)
        if binding.waiting is not None:
            board.chronicle.reached(placement.pod.uid, WAITING)
            with self._standing_aside():
                await self._wait(binding.waiting)
        # From here on no event can make the pod unschedulable, so none has to be kept for it.
        board.queue.done(placement.pod.uid)
        if board.dry_run:
            _log.info("Would bind pod to node", pod=placement.pod.key, node=placement.node)
            board.chronicle.bound(placement.pod.uid, dry_run=True)
            return False
        if busy:
            board.chronicle.reached(placement.pod.uid, PREPARING)
            with self._standing_aside():
                await self._prepare(placement, busy)
        board.chronicle.reached(placement.pod.uid, BINDING)
        if self._yield_for_s:
            with self._standing_aside():
                await asyncio.sleep(self._yield_for_s)
        await self._send(binding)
        return True

    async def _conclude(self, binding: Binding) -> None:
        """The pod is bound; whatever goes wrong from here on changes that no more."""
        self._tell(binding)
        placement = binding.placement
        if placement.profile.postbind:
            with self._timing(placement, "PostBind"):
                errors = await bind.postbind(placement)
            for error in errors:
                _log.error("PostBind failed", error, pod=placement.pod.key)

    def _timing(self, placement: Placement, point: str) -> Timing:
        return Timing(self._board.metrics, self._board.clock, placement.profile.name, point)

    async def _wait(self, waiting: Waiting) -> None:
        board = self._board
        since = board.clock.monotonic()
        try:
            rejected = await waiting.wait()
        finally:
            board.waiting.let_go(waiting)
        code = Code.SUCCESS if rejected is None else rejected.code
        board.metrics.permit_wait(code.label, board.clock.monotonic() - since)
        if rejected is None:
            return
        if rejected.code is Code.ERROR:
            raise _FailedError(rejected.message)
        raise _TurnedDownError(rejected)

    async def _prepare(self, placement: Placement, busy: tuple[PreBindPlugin, ...]) -> None:
        """PreBind, which a preemptor may break off."""
        board = self._board
        task = asyncio.current_task()
        assert task is not None
        preparing = board.waiting.prepare(placement.pod, placement.node, task)
        try:
            with self._timing(placement, "PreBind") as timing:
                rejected = await bind.prebind(placement, busy)
                timing.came_to(rejected)
            if not preparing.mark_prepared():
                task.uncancel()
                raise _FailedError(preparing.cause)
        except asyncio.CancelledError:
            if not preparing.cause:
                raise
            task.uncancel()
            raise _FailedError(preparing.cause) from None
        finally:
            board.waiting.prepared(preparing)
        if rejected is not None:
            count_volume_error(board.metrics, rejected.plugin, "PreBind")
            raise _FailedError(rejected.message)

    async def _send(self, binding: Binding) -> None:
        board, placement = self._board, binding.placement
        row = board.cluster.nodes.row_of.get(placement.node)
        if row is None or board.cluster.nodes.records[row] is None:
            # The API server does not look, and the pod would be stuck on a node that is not there.
            raise _FailedError(f'node "{placement.node}" not found')
        await board.reporter.conditions.hush(placement.pod.uid)
        if not board.may_serve(placement.profile.name):
            raise _FailedError(f"another scheduler serves {placement.profile.name} again")
        if self.races.is_lost(placement, binding.moment):
            board.metrics.bind_conflict("room")
            raise _FailedError(f'node "{placement.node}" was filled by another scheduler meanwhile')
        since = binding.queued.initial_attempt_at
        devices = board.cluster.nodes.devices.note(placement.pod.key)
        began = binding.started if since is None else since
        about = board.notes.about(binding.decision, began, devices)
        with about, self._timing(placement, "Bind") as timing:
            rejected = None
            if self.extending is None or not await self._bound_by_extender(placement):
                rejected = await bind.bind(placement)
            timing.came_to(rejected)
        if rejected is not None:
            raise _FailedError(f'binding rejected by "{rejected.plugin}": {rejected.message}')

    async def _bound_by_extender(self, placement: Placement) -> bool:
        assert self.extending is not None
        if not self._board.may_write():
            raise _FailedError("this instance does not lead any more")
        return await self.extending.bind(placement.pod, placement.node)

    def _tell(self, binding: Binding) -> None:
        board, placement, queued = self._board, binding.placement, binding.queued
        profile, now = placement.profile.name, board.clock.monotonic()
        board.reporter.scheduled(placement.pod, placement.node)
        board.chronicle.bound(placement.pod.uid)
        board.metrics.attempt(profile, "scheduled", now - binding.started)
        since = queued.initial_attempt_at
        board.metrics.scheduled(profile, queued.attempts, None if since is None else now - since)
        if queued.was_flushed:
            board.metrics.scheduled_after_flush()
        if debug := _log.v(2):
            debug.info("Successfully bound pod to node", pod=placement.pod.key, node=placement.node)

    # --- the way back --------------------------------------------------------------------------------------------------

    def _undo(self, binding: Binding, setback: Setback) -> None:
        board, placement = self._board, binding.placement
        give_up_room(board, placement)
        group = placement.pod.group
        # Its siblings are on nodes already: they wait for this one.
        binding.queued.goes_first = group is not None and board.cluster.gangs.is_broken(group)
        if self._finishing:
            board.chronicle.dropped(placement.pod.uid)
            return  # whoever schedules next decides the pod anew; it need not hear of our end
        freed = _freed(placement)
        now = board.clock.monotonic()
        if setback.rejection.is_error:
            board.queue.on_event(freed, now)
            board.come_back.later(binding.queued, setback, binding.started)
        else:
            # Only afterwards, and not for the pod itself: its own room cannot be what it was waiting for.
            board.come_back.later(binding.queued, setback, binding.started)
            board.queue.on_event(freed, now, besides=placement.pod.uid)


def give_up_room(board: Board, placement: Placement) -> None:
    """Undo Reserve and the assumption."""
    for error in reserve.unreserve(placement):
        _log.error("Unreserve failed", error, pod=placement.pod.key)
    board.cluster.forget(placement.pod)


def _freed(placement: Placement) -> ClusterEvent:
    """As if the pod had run there and were gone."""
    pod = pod_of(placement.pod)
    spec = msgspec.structs.replace(pod.spec, node_name=placement.node)
    there = msgspec.structs.replace(pod, spec=spec)
    return ClusterEvent.of(Resource.ASSIGNED_POD, Action.DELETE, there, None)
