"""The decision loop: pop a pod, decide, act on what was decided; in slices, so that the event loop never waits long.

Run by ``app`` for as long as this instance leads. Decisions are made one after the other in the event loop's own thread;
between two slices the sockets get their turn. All that waits for the API server happens in tasks: ``runtime.binding``
for pods that were placed, ``runtime.eviction`` for victims, ``runtime.reporting`` for what is told (upstream:
schedule_one.go).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from bayplan.cycle import reserve
from bayplan.cycle.attempt import attempt
from bayplan.cycle.desk import Desk
from bayplan.cycle.outcome import Failed, Outcome, Placed, Unplaced
from bayplan.cycle.reserve import Placement
from bayplan.errors import PluginError
from bayplan.framework.victims.plugin import PreemptionPlugin
from bayplan.queueing.entry import Rejection
from bayplan.runtime.binding import Binding, Board, give_up_room
from bayplan.runtime.come_back import Setback
from bayplan.runtime.gangs.turns import GangTurns, Hands
from bayplan.runtime.points import Points, Timing, count_volume_error
from bayplan.runtime.reporting.scores import tell_scores
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cycle.advice import Advice
    from bayplan.cycle.record import Decision
    from bayplan.framework.preemption import Nominated
    from bayplan.framework.status import Rejected
    from bayplan.framework.victims.evictions import Evictions
    from bayplan.model.pod_group import GroupKey
    from bayplan.queueing.entry import Queued
    from bayplan.runtime.binding import Binder
    from bayplan.runtime.eviction import Evictor, Gang
    from bayplan.runtime.extending.attempts import Extending
    from bayplan.runtime.ingest.pods import Pods

_log: Final = get_logger(__name__)

#: The event loop gets its turn after so long; a single attempt may take longer.
SLICE_S: Final = 0.0015
#: Bindings with the API server at a time; with more, deciding waits: decisions made now would be old when they are sent.
MOST_SENDING: Final = 512
#: How often it is looked whether deciding can go on.
_HELD_S: Final = 0.1
#: Timers are not more exact than this.
_TICK_S: Final = 0.001


class Comparison(Protocol):
    """Hears what was decided, before anything is done about it (``runtime.reloading.shadow``)."""

    def compare(self, pod: PodInfo, outcome: Outcome) -> None:
        """A pod was decided."""


@dataclass(frozen=True, slots=True)
class Counter:
    """A profile at work."""

    desk: Desk
    #: Whom its PreEnqueue asks; None where nothing in it preempts.
    evictions: Evictions | None
    #: Another profile that decides some of its pods for comparison.
    shadow: Comparison | None = None

    @classmethod
    def of(cls, desk: Desk, evictions: Evictions | None = None) -> Counter:
        """A desk, and what its preemption plugins keep together: whose victims are on their way out."""
        profile = desk.profile
        preempting = [p for p in profile.postfilter if isinstance(p, PreemptionPlugin)]
        if not preempting:
            return cls(desk, None)
        # What is under way outlives the plugins that began it.
        evictions = evictions or preempting[0].evictions
        for plugin in profile.plugins:
            if isinstance(plugin, PreemptionPlugin):
                plugin.evictions = evictions
        return cls(desk, evictions)


class Loop:
    """Decides pods until it is stopped."""

    def __init__(
        self,
        board: Board,
        counters: dict[str, Counter],
        pods: Pods,
        binder: Binder,
        evictor: Evictor,
    ) -> None:
        self._board = board
        self._points = Points(board.metrics, board.clock.monotonic)
        self._counters = counters
        self._desks = {name: counter.desk for name, counter in counters.items()}
        hands = Hands(
            self._is_skipped,
            self._agree,
            self._points.attempt,
            self._bind,
            self._evict,
            self._alone,
            self._break_off,
        )
        self.gang_turns = GangTurns(board, self._desks, hands)
        self._pods = pods
        self._binder = binder
        self._evictor = evictor
        #: Whether nothing is to be decided for now: it could not be seen what there is, or somebody else leads. Set by ``app``.
        self.is_held: Callable[[], bool] = lambda: False
        self._extending: Extending | None = None
        self._stopping = False
        self._asleep: asyncio.Future[None] | None = None

    def ask(self, extending: Extending) -> None:
        """Have foreign extenders asked from now on; what an attempt comes to afterwards is acted upon here."""
        self._extending = extending
        extending.act = self._act_later
        extending.broke = self._break_off
        extending.wake = self.wake
        extending.is_held = lambda: self.is_held()

    # --- turns ---------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Decide until ``stop`` is called."""
        while not self._stopping:
            rest_s = self._slice()
            if rest_s == 0:
                await asyncio.sleep(0)
            else:
                await self._sleep(rest_s)

    def stop(self) -> None:
        """Begin no further attempt."""
        self._stopping = True
        if self._extending is not None:
            self._extending.stop()
        self.wake()

    def exchange(self, counters: Mapping[str, Counter]) -> None:
        """Decide at other desks from now on. To be called between two decisions, as from any task."""
        self._points.fold()
        self._points.forget()
        self._counters.clear()
        self._counters.update(counters)
        self._desks.clear()
        self._desks.update((name, counter.desk) for name, counter in counters.items())
        self.wake()

    def wake(self) -> None:
        """There may be something to do. Called after every event, so it has to be cheap."""
        asleep = self._asleep
        if asleep is not None and not asleep.done():
            asleep.set_result(None)

    async def _sleep(self, at_most_s: float | None) -> None:
        self._points.fold()
        loop = asyncio.get_running_loop()
        self._asleep = loop.create_future()
        alarm = loop.call_later(at_most_s, self.wake) if at_most_s is not None else None
        try:
            await self._asleep
        finally:
            self._asleep = None
            if alarm is not None:
                alarm.cancel()

    def _slice(self) -> float | None:
        """Decide for a moment. Returns when to go on: 0 at once, None when woken, else after so many seconds."""
        queue, clock = self._board.queue, self._board.clock
        if self.is_held():
            return _HELD_S
        now = clock.monotonic()
        end = now + SLICE_S
        deadline = queue.next_deadline()
        if deadline is not None and deadline <= now:
            queue.flush(now)
        while now < end and not self._stopping:
            if self._binder.sending >= MOST_SENDING or self._extenders_are_busy():
                return None
            queued = queue.pop(now)
            if queued is None:
                deadline = queue.next_deadline()
                return None if deadline is None else max(deadline - now, _TICK_S)
            self._try(queued, now)
            now = clock.monotonic()
        return 0.0

    def _extenders_are_busy(self) -> bool:
        return self._extending is not None and self._extending.is_full

    # --- one attempt ---------------------------------------------------------------------------------------------------

    def _try(self, queued: Queued, now: float) -> None:
        try:
            self._schedule(queued, now)
        except Exception as error:  # noqa: BLE001 - a mistake of ours: it costs this pod an attempt, and no other pod anything
            self._break_off(queued, error, now)

    def _break_off(self, queued: Queued, error: Exception, now: float) -> None:
        """A mistake of ours: it costs this pod an attempt, and no other pod anything."""
        _log.exception("An attempt broke off", error, pod=queued.pod.key)
        self._board.cluster.forget(queued.pod)
        self._board.come_back.later(queued, Setback.by_mistake(error), now)

    def _schedule(self, queued: Queued, now: float) -> None:
        pod = queued.pod
        counter = self._counters.get(queued.profile)
        if counter is None or self._is_skipped(pod) or queued.profile in self._pods.turns.closing:
            self._board.queue.done(pod.uid)
            return
        gang = self.gang_turns.decides(pod)
        if gang is not None:
            self._take_turn(gang, self.gang_turns.gather(queued, now), now)
            return
        self._alone(queued, now)

    def _take_turn(self, gang: GroupKey, members: Sequence[Queued], now: float) -> None:
        """A gang's turn; extenders that want to be asked about any of its members come first."""
        extending = self._extending
        if extending is None or not any(extending.concerns(each.pod) for each in members):
            self.gang_turns.turn(gang, members, now)
            return

        def decide(advice: Mapping[str, Advice]) -> None:
            still = [each for each in members if self._still_waits(each)]
            self.gang_turns.turn(gang, still, now, advice)

        desks = [(each, self._desks[each.profile]) for each in members]
        extending.start_gang(desks, now, decide)

    def _still_waits(self, queued: Queued) -> bool:
        """Whether a pod has not gone its own way while extenders were asked."""
        current = self._pods.pending.get(queued.pod.key)
        if current is None or current.uid != queued.pod.uid or self._is_skipped(current):
            self._board.queue.done(queued.pod.uid)
            return False
        return True

    def _alone(self, queued: Queued, now: float) -> None:
        """Decide a pod that waits for no others."""
        pod, counter = queued.pod, self._counters[queued.profile]
        if debug := _log.v(3):
            debug.info("Attempting to schedule pod", pod=pod.key)
        extending, desk = self._extending, counter.desk
        if extending is not None and desk.algorithm is None and extending.concerns(pod):
            extending.start(queued, desk, now)
            return
        with self._points.sampling():
            outcome = attempt(pod, desk)
        if counter.shadow is not None:
            counter.shadow.compare(pod, outcome)
        self._act(queued, outcome, counter, now)

    def _act_later(self, queued: Queued, outcome: Outcome, desk: Desk, now: float) -> None:
        """The same once extenders have been asked; the pod may have gone its own way meanwhile."""
        if not self._still_waits(queued):
            return
        counter = self._counters.get(desk.profile.name)
        evictions = counter.evictions if counter is not None else None
        # By the rules that it began with, also where there are others by now.
        self._act(queued, outcome, Counter.of(desk, evictions), now)

    def _act(self, queued: Queued, outcome: Outcome, counter: Counter, now: float) -> None:
        self._points.attempt(counter.desk, outcome)
        self._board.chronicle.decided(queued, outcome, now, counter.desk.laps.spent)
        self._board.metrics.algorithm(self._board.clock.monotonic() - now)
        if debug := _log.v(10):
            tell_scores(debug, outcome)
        match outcome:
            case Placed():
                self._place(queued, outcome, counter.desk, now)
            case Unplaced():
                self._leave(queued, outcome, counter, now)
            case Failed():
                self._board.come_back.later(queued, Setback.by_error(outcome.error), now)

    def _is_skipped(self, pod: PodInfo) -> bool:
        if pod.terminating:
            if debug := _log.v(3):
                debug.info("Skip schedule deleting pod", pod=pod.key)
            self._board.reporter.skipped_deleting(pod)
            return True
        # News of a pod can bring it into the queue again while it is on its way to a node.
        return self._pods.is_assumed(pod)

    def _leave(self, queued: Queued, outcome: Unplaced, counter: Counter, now: float) -> None:
        """No node fits; perhaps room is made."""
        if counter.evictions is not None and counter.desk.view.node_count:
            self._board.metrics.preemption_attempt()
        promised: str | None = "" if outcome.decision.promise_ends else None
        if outcome.nominated is not None:
            self._evictor.start(outcome.pod, outcome.nominated, counter.evictions)
            promised = outcome.nominated.node
            self._claim(outcome.pod, outcome.nominated)
        if self._board.dry_run:
            victims = outcome.nominated.victims if outcome.nominated is not None else ()
            _log.info(
                "Would not bind pod",
                pod=outcome.pod.key,
                reason=outcome.message,
                wouldEvict=[victim.key for victim in victims],
            )
        setback = Setback(outcome.message, Rejection(outcome.rejected_by), promised)
        self._board.come_back.later(queued, setback, now)

    def _evict(self, queued: Queued, nominated: Nominated, gang: Gang) -> None:
        """Room is made for a gang."""
        self._board.metrics.preemption_attempt()
        counter = self._counters[queued.profile]
        self._evictor.start(queued.pod, nominated, counter.evictions, gang)
        self._claim(queued.pod, nominated)

    def _claim(self, pod: PodInfo, nominated: Nominated) -> None:
        """What leaves for one pod need not leave for another."""
        if pod.key in self._pods.pending:  # else it is gone, and its promise with it
            victims = (victim.key for victim in nominated.victims)
            self._board.cluster.nominations.claim(pod.key, victims)

    def _place(self, queued: Queued, outcome: Placed, desk: Desk, now: float) -> None:
        board = self._board
        placement = Placement(outcome.pod, outcome.node, desk.profile, outcome.state.fork())
        try:
            board.cluster.assume(outcome.pod, outcome.node)
        except ValueError as error:
            board.come_back.later(queued, Setback.by_error(str(error)), now)
            return
        try:
            rejected = self._agree(placement)
        except PluginError as error:
            count_volume_error(board.metrics, error.plugin, error.point)
            give_up_room(board, placement)
            board.come_back.later(queued, Setback.by_error(error), now)
            return
        if rejected is not None:
            give_up_room(board, placement)
            board.come_back.later(queued, Setback.by_plugin(rejected), now)
            return
        self._bind(queued, placement, outcome.decision, now)

    def _bind(self, queued: Queued, placement: Placement, decision: Decision, now: float) -> None:
        """Off to the API server, or to wait for what Permit wants first."""
        self._board.chronicle.sent(queued, placement.node, decision, now)
        binding = Binding(queued, placement, decision, now)
        if placement.waits:
            waiting = self._board.waiting
            binding.waiting = waiting.hold(placement.pod, placement.node, placement.waits)
        self._binder.start(binding)

    def _agree(self, placement: Placement) -> Rejected | None:
        """Reserve and Permit."""
        board, profile = self._board, placement.profile
        with Timing(board.metrics, board.clock, profile.name, "Reserve") as timing:
            rejected = reserve.reserve(placement)
            timing.came_to(rejected)
        if rejected is None and profile.permit:
            with Timing(board.metrics, board.clock, profile.name, "Permit") as timing:
                rejected = reserve.permit(placement)
                timing.came_to(rejected)
        return rejected
