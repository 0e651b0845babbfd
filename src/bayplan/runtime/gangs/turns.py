"""A gang's turn: one of its members has come up, its siblings are taken along, and all are decided in one go.

Called by the loop for a pod that a group decides about. What comes of it goes the way of all pods: bindings in parallel,
each in its task; or everybody back to the queue with the same words. A member whose binding then fails comes back first in
line, to a group of which the others are on nodes already (``cluster.gangs.lacking`` counts them).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bayplan.cycle.confined import GANG
from bayplan.cycle.gang import GangOutcome, GangPlaced, GangUnplaced, attempt_gang
from bayplan.cycle.gang_puzzle import question_of
from bayplan.cycle.gang_room import room_of
from bayplan.cycle.gang_trial import Member
from bayplan.cycle.outcome import Failed, Unplaced
from bayplan.queueing.entry import Rejection
from bayplan.runtime.come_back import Setback
from bayplan.runtime.eviction import Gang
from bayplan.runtime.gangs.unserved import Unserved
from bayplan.runtime.solving import Progress
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cycle.advice import Advice
    from bayplan.cycle.desk import Desk
    from bayplan.cycle.outcome import Outcome
    from bayplan.cycle.record import Decision
    from bayplan.cycle.reserve import Placement
    from bayplan.framework.preemption import Nominated
    from bayplan.framework.status import Rejected
    from bayplan.model.pod_group import GroupKey
    from bayplan.queueing.entry import Queued
    from bayplan.runtime.binding import Board
    from bayplan.runtime.solving import Solving

_log: Final = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Hands:
    """What the loop does for pods that stand alone, and does for members too."""

    #: Whether a pod is to be passed over: it is on its way out, or to a node.
    is_skipped: Callable[[PodInfo], bool]
    #: Reserve and Permit, timed.
    agree: Callable[[Placement], Rejected | None]
    #: An attempt was made.
    told: Callable[[Desk, Outcome], None]
    #: Bind a pod that is assumed.
    send: Callable[[Queued, Placement, Decision, float], None]
    #: Evict for a gang: its first member with all victims, and who waits for them.
    evict: Callable[[Queued, Nominated, Gang], None]
    #: Decide a pod as one that stands alone.
    alone: Callable[[Queued, float], None]
    #: Deciding broke off by a mistake of ours.
    broke: Callable[[Queued, Exception, float], None]


class GangTurns:
    """Decides gangs."""

    def __init__(self, board: Board, desks: Mapping[str, Desk], hands: Hands) -> None:
        self._board = board
        self._gangs = board.cluster.gangs
        self._desks = desks
        self._hands = hands
        #: Told how an attempt ended: what a group is short of; empty where it has a place.
        self.on_turn: Callable[[GroupKey, str], None] = lambda _key, _short: None
        self._unserved = Unserved(board.reporter.recorder)
        #: Asked where the members' own order finds no place; None: nobody is.
        self.solving: Solving | None = None

    def decides(self, pod: PodInfo) -> GroupKey | None:
        """The group that decides about a pod; None where the pod is decided alone.

        So is one that its group does not wait for: enough others are on nodes, and it may be anywhere.
        """
        key = self._gangs.of(pod)
        if key is None:
            if pod.group is not None:
                self._unserved.meet(pod, pod.group)
            return None
        group = self._gangs.group(key)
        if group is None or self._gangs.lacking(key) or group.topology is not None:
            return key
        return None

    def gather(self, first: Queued, now: float) -> list[Queued]:
        """A member that was popped, and its siblings, which leave the queue now."""
        board = self._board
        members = []
        for queued in (first, *board.queue.pop_group(first, now)):
            if queued.profile not in self._desks or self._hands.is_skipped(queued.pod):
                board.queue.done(queued.pod.uid)
            else:
                members.append(queued)
        return members

    def turn(
        self,
        key: GroupKey,
        members: Sequence[Queued],
        now: float,
        advice: Mapping[str, Advice] | None = None,
    ) -> None:
        """Decide a gang and act on it; ``advice``: what extenders have said, by uid."""
        todo = {queued.pod.uid: queued for queued in members}
        try:
            if todo:
                self._decide(key, todo, now, advice or {})
        except Exception as error:  # noqa: BLE001 - a mistake of ours: it costs this gang an attempt
            for queued in todo.values():
                self._hands.broke(queued, error, now)

    def _decide(
        self, key: GroupKey, todo: dict[str, Queued], now: float, advice: Mapping[str, Advice]
    ) -> None:
        """Whoever is seen to is taken off ``todo``."""
        board, profile = self._board, next(iter(todo.values())).profile
        group = self._gangs.group(key)
        if group is None:
            rejection = Rejection(frozenset((GANG,)))
            self._send_back(todo, Setback(f'pod group "{key.name}" not found', rejection), now)
            return
        solving = self.solving
        answered = solving is not None and solving.progress(key) is Progress.ANSWERED
        outcome = attempt_gang(
            group,
            [
                Member(queued.pod, self._desks[queued.profile], advice.get(uid))
                for uid, queued in todo.items()
            ],
            board.cluster,
            self._hands.agree,
            lambda member, found: self._hands.told(member.desk, found),
            solving.take(key) if solving is not None else None,
        )
        if solving is not None:
            if isinstance(outcome, GangPlaced):
                solving.forget(key)
            elif not answered:
                # One answer for each failure: a plan that came to nothing is no reason to ask again at once.
                self._ask(solving, outcome)
                if solving.progress(key) is Progress.ASKED:
                    # Nobody has to go before it is known whether they fit without that.
                    outcome = replace(outcome, nominated={})
        seconds = board.clock.monotonic() - now
        board.metrics.algorithm(seconds)
        board.metrics.gang_attempt(profile, _result(outcome), seconds)
        match outcome:
            case GangPlaced():
                self.on_turn(key, "")
                self._go(outcome, todo, now)
            case GangUnplaced():
                self.on_turn(key, outcome.message)
                self._wait(outcome, todo, now)

    def _ask(self, solving: Solving, outcome: GangUnplaced) -> None:
        """Have the solver look, if there is anything to be found; its answer wakes the members."""
        group = outcome.group
        needed = self._gangs.lacking(group.key)
        if outcome.errors or solving.progress(group.key) is not Progress.NEW or needed < 2:
            return
        room = room_of((member.pod, member.desk) for member in outcome.members)
        view = self._board.cluster.view
        question = question_of(room, view, needed, group.topology)
        if question is not None:
            solving.ask(group.key, question)

    def _go(self, outcome: GangPlaced, todo: dict[str, Queued], now: float) -> None:
        for held in outcome.held:
            queued = todo.pop(held.member.pod.uid)
            queued.goes_first = False
            self._hands.send(queued, held.placement, held.outcome.decision, now)
        for member, found in outcome.left:
            queued = todo.pop(member.pod.uid)
            if outcome.group.topology is None:
                # The gang runs without it: it may look for room, and make some, by itself.
                self._hands.alone(queued, now)
            elif isinstance(found, Unplaced):
                setback = Setback(found.message, Rejection(found.rejected_by))
                self._board.come_back.later(queued, setback, now)
            elif isinstance(found, Failed):
                self._board.come_back.later(queued, Setback.by_error(found.error), now)

    def _wait(self, outcome: GangUnplaced, todo: dict[str, Queued], now: float) -> None:
        if debug := _log.v(2):
            debug.info("Gang does not fit", group=str(outcome.group.key), why=outcome.message)
        if outcome.nominated:
            self._evict(outcome, todo)
        for failed in outcome.errors:
            queued = todo.pop(failed.pod.uid)
            self._board.come_back.later(queued, Setback.by_error(failed.error), now)
        half = self._gangs.is_broken(outcome.group.key)
        for queued in todo.values():
            queued.goes_first = half
        promised = "" if outcome.promises_end else None
        rejection = Rejection(outcome.rejected_by)
        for uid, queued in list(todo.items()):
            found = outcome.nominated.get(queued.pod.key)
            node = promised if found is None else found.node
            self._board.come_back.later(
                todo.pop(uid), Setback(outcome.message, rejection, node), now
            )

    def _evict(self, outcome: GangUnplaced, todo: Mapping[str, Queued]) -> None:
        """Before anybody is put back: all of them stay out of the queue until the victims go."""
        gang = Gang(outcome.group.uid, [queued.pod for queued in todo.values()])
        for queued in todo.values():
            found = outcome.nominated.get(queued.pod.key)
            if found is not None and found.victims:
                self._hands.evict(queued, found, gang)

    def _send_back(self, todo: dict[str, Queued], setback: Setback, now: float) -> None:
        while todo:
            uid = next(iter(todo))
            self._board.come_back.later(todo.pop(uid), setback, now)


def _result(outcome: GangOutcome) -> str:
    if isinstance(outcome, GangPlaced):
        return "scheduled"
    if outcome.errors:
        return "error"
    return "waiting_on_preemption" if outcome.nominated else "unschedulable"
