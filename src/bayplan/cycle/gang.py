"""One attempt for a gang: all members that are needed get a node, or none does.

We are the cluster's only writer and nothing here waits, so the columns themselves are the transaction: each member gets an
ordinary attempt and is assumed at once, so that the next one sees it; where too few fit, everything is undone, the last
first, before anybody else looks. No member ever holds room while it waits for another, so two gangs cannot block each other.

::

    members, in the queue's order ─▶ attempt ─▶ assume, Reserve, Permit ─▶ the next one sees it
                                       │ no node                              │ enough fit: GangPlaced, the surplus alone
                                       └▶ once more, after others were placed └ too few: undone ─▶ GangUnplaced

Called by the runtime for a member that leaves the queue together with its siblings, and by ``evaluate`` and the simulator
for groups in files. What is short is worded by ``cycle.shortage``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from bayplan.cycle.confined import GANG
from bayplan.cycle.gang_plan import as_planned
from bayplan.cycle.gang_preempt import GangPreemption, GangRoom, NoGangRoom
from bayplan.cycle.gang_room import room_of
from bayplan.cycle.gang_topology import Domain, choose
from bayplan.cycle.gang_trial import (
    ANYWHERE,
    Agree,
    Held,
    Member,
    Told,
    Trial,
    Way,
    nobody_listens,
    reserve_and_permit,
)
from bayplan.cycle.outcome import Failed, Outcome, Unplaced
from bayplan.cycle.reserve import reserve
from bayplan.cycle.shortage import lacking_resources, too_few, what_is_short
from bayplan.errors import PluginError

if TYPE_CHECKING:
    from bayplan.cluster.cluster import Cluster
    from bayplan.framework.preemption import Nominated
    from bayplan.model.pod_group import Group


#: Emptying nodes domain by domain takes time: so many domains at most.
_TRIED_WITH_EVICTIONS: Final = 16


@dataclass(frozen=True, slots=True)
class GangPlaced:
    """Enough members are assumed; those left over come back one by one."""

    group: Group
    held: Sequence[Held]
    #: Beyond what is needed, without a node.
    left: Sequence[tuple[Member, Outcome]] = ()


@dataclass(frozen=True, slots=True)
class GangUnplaced:
    """Too few fit; nothing is assumed."""

    group: Group
    #: For the events and conditions of all members.
    message: str
    members: Sequence[Member]
    #: What may wake any of them.
    rejected_by: frozenset[str]
    #: Something broke: a plugin raised, or said Error.
    errors: Sequence[Failed] = ()
    #: Members to which nodes are promised while victims leave, by ``namespace/name``.
    nominated: Mapping[str, Nominated] = field(default_factory=dict)
    #: Whether nodes promised to members earlier are not kept for them any longer.
    promises_end: bool = True


GangOutcome = GangPlaced | GangUnplaced


def attempt_gang(
    group: Group,
    members: Sequence[Member],
    cluster: Cluster,
    agree: Agree = reserve_and_permit,
    told: Told = nobody_listens,
    plan: Mapping[str, str] | None = None,
) -> GangOutcome:
    """Give nodes to as many of these members as the group needs, or to none of them.

    Args:
        group: what it says it needs.
        members: its pods that have no node and may get one, in the queue's order.
        cluster: written to: members that are placed stay assumed.
        agree: asked of each placement once it is assumed.
        told: hears of every attempt.
        plan: a node for each member by ``namespace/name``, as the solver found it; tried before all others.
    """
    need = cluster.gangs.lacking(group.key)
    if need > len(members):
        return _refused(group, members, _not_at_hand(group, cluster, len(members)))
    if short := lacking_resources(group, cluster):
        # What wakes pods that lack room wakes these.
        return _refused(group, members, short, "NodeResourcesFit")
    ways = _ways(group, members, cluster, need)
    planned = as_planned(plan or {}, ways.promising, members[0].desk.view)
    best: Trial | None = None
    for way in (*planned, *ways.promising):
        trial = Trial(cluster, way, agree, told)
        try:
            trial.place(members)
        except BaseException:
            trial.undo()
            raise
        if len(trial.held) >= need:
            return GangPlaced(group, tuple(trial.held), tuple(trial.missed))
        # While the others are still assumed: that is how this one found the cluster.
        trial.words = what_is_short(group, cluster, trial.held, trial.missed, way.name)
        trial.undo()
        if best is None or len(trial.held) > len(best.held):
            best = trial
    room = _make_room(group, members, cluster, ways)
    if best is None:
        nowhere = _refused(group, members, ways.why_none, "NodeResourcesFit", "NodeAffinity")
        return _with_room(nowhere, room)
    return _with_room(_unplaced(group, members, best), room)


@dataclass(frozen=True, slots=True)
class _Ways:
    """Where members are tried."""

    #: The best first.
    promising: Sequence[Way] = (ANYWHERE,)
    #: Those that have no room as it is; evictions may change that.
    hopeless: Sequence[Way] = ()
    why_none: str = ""


def _ways(group: Group, members: Sequence[Member], cluster: Cluster, need: int) -> _Ways:
    """All domains of the label that the group names, or the whole cluster."""
    topology = group.topology
    if topology is None:
        return _Ways()
    pods = cluster.pods
    nodes = {
        cluster.nodes.names[int(pods.node_row.data[pods.row_of[key]])]
        for key in cluster.gangs.standing(group.key).placed
    }
    try:
        room = room_of((member.pod, member.desk) for member in members)
    except PluginError as error:
        return _Ways((), (), f"gang {group.key.name}: {error}")
    choice = choose(topology, room, members[0].desk.view, need, nodes)
    ways = [ANYWHERE if domain is None else _inside(domain) for domain in choice.ways()]
    why_none = "" if ways else f"gang {group.key.name}: {choice.shortage(need)}"
    return _Ways(ways, [_inside(domain) for domain in choice.hopeless], why_none)


def _make_room(
    group: Group, members: Sequence[Member], cluster: Cluster, ways: _Ways
) -> GangRoom | NoGangRoom:
    """Whether evictions help, in one of the ways in which the members may be placed."""
    found: GangRoom | NoGangRoom = NoGangRoom("")
    need = cluster.gangs.lacking(group.key)
    for way in (*ways.promising, *ways.hopeless)[:_TRIED_WITH_EVICTIONS]:
        # Permit is not asked: nobody is about to go anywhere.
        trial = Trial(cluster, way, reserve, None)
        found = GangPreemption(group, cluster, trial, need).run(members)
        if isinstance(found, GangRoom):
            break
    return found


def _inside(domain: Domain) -> Way:
    return Way(lambda member: domain.advice(member.advice), domain.rows, name=str(domain))


def _not_at_hand(group: Group, cluster: Cluster, at_hand: int) -> str:
    """There are too few members; or enough, and some of them wait for something of their own."""
    standing = cluster.gangs.standing(group.key)
    if standing.present < group.min_member:
        return too_few(group, standing)
    ready = len(standing.placed) + standing.finished + at_hand
    return f"gang {group.key.name}: {ready} of {group.min_member} members can be placed now"


def _refused(group: Group, members: Sequence[Member], message: str, *why: str) -> GangUnplaced:
    return GangUnplaced(group, message, members, frozenset((GANG, *why)))


def _unplaced(group: Group, members: Sequence[Member], trial: Trial) -> GangUnplaced:
    rejected_by: set[str] = {GANG}
    errors, unsaid = [], False
    for _, outcome in trial.missed:
        if isinstance(outcome, Unplaced):
            rejected_by |= outcome.rejected_by
            unsaid |= not outcome.rejected_by
        elif isinstance(outcome, Failed):
            errors.append(outcome)
    for decision in trial.decisions:
        decision.gang = trial.words
    # Where nobody turned a member down (there are no nodes), nobody can say what would help it: it is tried again by and by.
    why = frozenset[str]() if unsaid else frozenset(rejected_by)
    return GangUnplaced(group, trial.words, members, why, tuple(errors))


def _with_room(unplaced: GangUnplaced, room: GangRoom | NoGangRoom) -> GangUnplaced:
    """The same, with what came of looking for victims."""
    if isinstance(room, GangRoom):
        return replace(unplaced, nominated=room.nominated, promises_end=False)
    message = unplaced.message + (f"; preemption: {room.reason}" if room.reason else "")
    return replace(unplaced, message=message, promises_end=room.promises_end)
