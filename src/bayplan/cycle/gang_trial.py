"""Members of a gang being placed one after the other in the real columns, and the way back.

The journal of one try: who is assumed where, which promises that used up, what was said of the others. Made by
``cycle.gang``, which decides whether what came of it stands or is undone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from bayplan.cycle import reserve
from bayplan.cycle.attempt import attempt_member, passes
from bayplan.cycle.confined import GANG
from bayplan.cycle.outcome import Failed, Outcome, Placed, Unplaced
from bayplan.cycle.preempt import Chain
from bayplan.cycle.reserve import Placement
from bayplan.errors import PluginError
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.cluster.cluster import Cluster
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cycle.advice import Advice
    from bayplan.cycle.desk import Desk
    from bayplan.cycle.record import Decision
    from bayplan.framework.status import Mask, Rejected

_log: Final = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Member:
    """A pod of a gang, and who decides about it."""

    pod: PodInfo
    desk: Desk
    advice: Advice | None = None


@dataclass(frozen=True, slots=True)
class Way:
    """Where the members may go: one of several that are tried, the first that holds as many as are needed is taken."""

    #: The nodes that one member may have; with what extenders have said of it. None: no limits.
    confine: Callable[[Member], Advice | None] | None = None
    #: The same by row, where it is the same for all of them.
    rows: Mask | None = None
    #: Whether the limits are the same for alike members.
    by_class: bool = True
    #: What is tried, for the message: ``topology.kubernetes.io/zone=a``.
    name: str = ""

    def advice(self, member: Member) -> Advice | None:
        """What to take into account when this member is attempted."""
        return member.advice if self.confine is None else self.confine(member)


ANYWHERE: Final = Way()


@dataclass(frozen=True, slots=True)
class Held:
    """A member that is assumed on a node."""

    member: Member
    outcome: Placed
    placement: Placement


#: Reserve and Permit; what they object to.
Agree = Callable[[Placement], "Rejected | None"]


#: Whoever counts attempts.
Told = Callable[[Member, Outcome], None]


def nobody_listens(member: Member, outcome: Outcome) -> None:
    """Where nobody counts."""


def reserve_and_permit(placement: Placement) -> Rejected | None:
    """What the plugins say of a placement that is assumed."""
    return reserve.reserve(placement) or reserve.permit(placement)


class Trial:
    """Members being placed: what is assumed so far, and the way back."""

    def __init__(self, cluster: Cluster, way: Way, agree: Agree, told: Told | None) -> None:
        """``told``: None: it is a what-if, of which nobody hears."""
        self._cluster = cluster
        self.way = way
        self._agree = agree
        self._told = told
        self.held: list[Held] = []
        self.missed: list[tuple[Member, Outcome]] = []
        #: What is short, where too few fit.
        self.words = ""
        self.decisions: list[Decision] = []
        #: Nodes promised to members before they were assumed.
        self._promises: list[tuple[PodInfo, str]] = []
        #: What was said of a class of alike members, and how many were placed by then.
        self._known: dict[Any, tuple[int, Unplaced]] = {}

    def place(self, members: Sequence[Member]) -> None:
        """Each in turn; those that found nothing once more, as long as others are placed meanwhile.

        A member may want to be near to one that comes after it.
        """
        todo = list(members)
        while todo:
            placed_before = len(self.held)
            self.missed = []
            for member in todo:
                outcome = self._try(member)
                if outcome is not None:
                    self.missed.append((member, outcome))
            if not placed_before < len(self.held) or not self._is_worth_another_look():
                return
            todo = [member for member, _ in self.missed]

    def place_again(self) -> None:
        """Those that found nothing, once more: there is more room now."""
        self._known.clear()
        self.place([member for member, _ in self.missed])

    # --- members that stand where they are -----------------------------------------------------------------------------

    def is_local(self, held: Held) -> bool:
        """Whether nothing that happens on other nodes changes what the filters say of this one."""
        evaluation = held.outcome.decision.evaluation
        chain = Chain.of(held.member.desk.profile, evaluation.prefilter.skipped)
        return chain.is_row_local

    def still_fits(self, held: Held) -> bool:
        """Whether a member would be let onto its node again, others being there now."""
        pod, node, desk = held.member.pod, held.outcome.node, held.member.desk
        for error in reserve.unreserve(held.placement):
            _log.error("Unreserve failed", error, pod=pod.key)
        self._cluster.forget(pod)
        row = self._cluster.nodes.row_of[node]
        desk.handle.deciding = True
        try:
            fits = passes(pod, desk, row)
        finally:
            desk.handle.deciding = False
            self._cluster.assume(pod, node)
            self._agree(held.placement)
        return fits

    def _is_worth_another_look(self) -> bool:
        """Only being near to others becomes possible by others being placed."""
        return any(
            isinstance(outcome, Unplaced) and "InterPodAffinity" in outcome.rejected_by
            for _, outcome in self.missed
        )

    def _try(self, member: Member) -> Outcome | None:
        """None where the member is assumed on a node now."""
        known = self._said_of_its_like(member)
        if known is not None:
            return known
        outcome = attempt_member(
            member.pod, member.desk, self.way.advice(member), quiet=self._told is None
        )
        if self._told is not None:
            self._told(member, outcome)
        if isinstance(outcome, Placed):
            self.decisions.append(outcome.decision)
            return self._hold(member, outcome)
        if isinstance(outcome, Unplaced):
            self.decisions.append(outcome.decision)
            if self._is_like_others(member) and not outcome.decision.evaluation.is_personal():
                key = (member.desk.profile.name, member.pod.alike)
                self._known[key] = (len(self.held), outcome)
        return outcome

    def _said_of_its_like(self, member: Member) -> Unplaced | None:
        """What was said of an alike member since which nothing has changed: a thousand of them cost one attempt."""
        if not self._known or not self._is_like_others(member):
            return None
        placed, said = self._known.get((member.desk.profile.name, member.pod.alike), (-1, None))
        if said is None or placed != len(self.held):
            return None
        decision = said.decision.of_its_like(member.pod)
        if self._told is not None:
            member.desk.ring.add(decision)
        self.decisions.append(decision)
        return replace(said, pod=member.pod, decision=decision)

    def _is_like_others(self, member: Member) -> bool:
        """Whether nothing but its class counts."""
        pod = member.pod
        return not (
            member.advice is not None
            or not self.way.by_class
            or pod.nominated_node
            or self._cluster.nominations.node_of(pod.key)
        )

    def _hold(self, member: Member, found: Placed) -> Outcome | None:
        pod, cluster = member.pod, self._cluster
        promised = cluster.nominations.node_of(pod.key)
        placement = Placement(pod, found.node, member.desk.profile, found.state.fork())
        try:
            cluster.assume(pod, found.node)
        except ValueError as error:
            return Failed(pod, PluginError(GANG, "Reserve", str(error)))
        self._promises.append((pod, promised))
        held = Held(member, found, placement)
        try:
            objection = self._agree(placement)
        except PluginError as error:
            self._let_go(held)
            return Failed(pod, error)
        if objection is None:
            self.held.append(held)
            return None
        self._let_go(held)
        by = frozenset((objection.plugin,)) if objection.plugin else frozenset[str]()
        return Unplaced(pod, found.decision, objection.message, by)

    def undo(self) -> None:
        """As if nothing had been tried."""
        for held in reversed(self.held):
            self._let_go(held)

    def _let_go(self, held: Held) -> None:
        for error in reserve.unreserve(held.placement):
            _log.error("Unreserve failed", error, pod=held.placement.pod.key)
        self._cluster.forget(held.placement.pod)
        pod, promised = self._promises.pop()
        if promised:
            self._cluster.nominations.put(pod, promised)
