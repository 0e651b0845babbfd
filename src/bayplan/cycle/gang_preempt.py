"""A gang makes room as one: pods of lower priority go so that all members that are needed fit, or nobody goes.

Tried out in the real columns, as the gang itself is (``cluster.absence``, ``cycle.gang_trial``), and undone before anybody looks::

    the members that fit as it is ─▶ the cheapest nodes are emptied one by one, until the others fit
        ─▶ the emptied pods come back, those that a budget protects first, then the most important, as long as every
           member still passes where it is ─▶ whoever cannot come back is a victim

Pods of another gang go one by one only as far as it can spare them; beyond that the whole gang goes, or nobody of it. Who may
be evicted at all is for the preemption plugin of a member's profile to say.

Called by ``cycle.gang`` where too few members fit; whoever runs the attempt evicts the victims and keeps the promises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.cluster.absence import Absence
from bayplan.cluster.placed import PlacedPods
from bayplan.cluster.pods import DISRUPTED, TERMINATING
from bayplan.cycle.gang_trial import Held, Member, Trial
from bayplan.cycle.gang_units import Unit, units_on, units_to_return
from bayplan.cycle.outcome import Unplaced
from bayplan.cycle.postfilter import TurnedDown
from bayplan.errors import PluginError
from bayplan.framework.preemption import Nominated
from bayplan.framework.status import Code
from bayplan.framework.victims.plugin import PreemptionPlugin

if TYPE_CHECKING:
    from bayplan.cluster.cluster import Cluster
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cycle.record import Decision
    from bayplan.model.pod_group import Group

NEVER: Final = "preemptionPolicy=Never"
NOT_ENOUGH: Final = "no eviction makes room for all members that are needed"
WAITS: Final = "pods that were evicted for this gang are on their way out"
_LEAVING: Final = TERMINATING | DISRUPTED


@dataclass(frozen=True, slots=True)
class GangRoom:
    """Room can be made."""

    #: By the member's ``namespace/name``. The first has all victims of the gang, the others none.
    nominated: dict[str, Nominated]


@dataclass(frozen=True, slots=True)
class NoGangRoom:
    """It cannot, for this reason."""

    reason: str
    #: Whether nodes promised to members earlier are not kept for them any longer.
    promises_end: bool = True


class GangPreemption:
    """One gang's search for room."""

    def __init__(self, group: Group, cluster: Cluster, trial: Trial, need: int) -> None:
        """``trial``: nothing is placed in it yet."""
        self._group = group
        self._cluster = cluster
        self._trial = trial
        self._need = need
        self._absence = Absence(cluster)
        #: Kinds of members and nodes that were emptied for them in vain.
        self._tried: set[tuple[object, int]] = set()

    def run(self, members: Sequence[Member]) -> GangRoom | NoGangRoom:
        """Find the room; the cluster is as it was before, whatever comes of it."""
        if not all(preemption_of(member) for member in members):
            return NoGangRoom("the profile has no preemption")
        if any(member.pod.spec.preemption_policy == "Never" for member in members):
            return NoGangRoom(NEVER)
        if not self._is_anybody_below(members):
            return NoGangRoom("")
        if self._waits(members):
            return NoGangRoom(WAITS, promises_end=False)
        try:
            return self._search(members)
        except PluginError as error:
            return NoGangRoom(str(error), promises_end=False)
        finally:
            self._trial.undo()
            self._absence.end()

    def _is_anybody_below(self, members: Sequence[Member]) -> bool:
        """A quick look at the priorities, where these alone say who may go."""
        plugins = {type(plugin) for member in members if (plugin := preemption_of(member))}
        if any(plugin.evictable is not PreemptionPlugin.evictable for plugin in plugins):
            return True
        pods = self._cluster.pods
        placed = pods.kin_id.data >= 0
        highest = max(member.pod.priority for member in members)
        return bool((pods.priority.data[placed] < highest).any())

    def _waits(self, members: Sequence[Member]) -> bool:
        """Whether victims of an earlier attempt are still leaving the nodes promised to members."""
        cluster = self._cluster
        promised = {cluster.nominations.node_of(member.pod.key) for member in members}
        flags = cluster.pods.flags.data
        for node in promised - {""}:
            row = cluster.nodes.row_of.get(node)
            there = cluster.pods.on_node(row) if row is not None else []
            if any(flags[pod] & _LEAVING == _LEAVING for pod in there):
                return True
        return False

    def _search(self, members: Sequence[Member]) -> GangRoom | NoGangRoom:
        trial = self._trial
        trial.place(members)
        while len(trial.held) < self._need:
            if not self._empty_one_more():
                return NoGangRoom(NOT_ENOUGH)
        self._let_return([pod.key for pod in self._absence])
        return self._room()

    def _empty_one_more(self) -> bool:
        """Empty the cheapest node that gives another member a place; False where there is none."""
        trial, placed = self._trial, len(self._trial.held)
        for member, decision in self._kinds_missed():
            for row in self._rows_to_empty(member, decision):
                left: list[str] = []
                # Whoever leaves nobody in the lurch goes first.
                for breaking_gangs in (False, True):
                    left += self._empty(row, breaking_gangs=breaking_gangs)
                    trial.place_again()
                    if len(trial.held) > placed:
                        # At once: what a gang can spare is needed elsewhere, too.
                        self._let_return(left)
                        return True
                self._absence.come_back(left)
                self._tried.add((member.pod.alike, row))
        return False

    # --- who goes ------------------------------------------------------------------------------------------------------

    def _kinds_missed(self) -> list[tuple[Member, Decision]]:
        """One of each kind of member that has no node."""
        kinds: dict[object, tuple[Member, Decision]] = {}
        for member, outcome in self._trial.missed:
            if isinstance(outcome, Unplaced):
                kind = (member.desk.profile.name, member.pod.alike)
                kinds.setdefault(kind, (member, outcome.decision))
        return list(kinds.values())

    def _rows_to_empty(self, member: Member, decision: Decision) -> list[int]:
        """Nodes where evictions would make room for this member alone, the cheapest first."""
        plugin, desk = preemption_of(member), member.desk
        rows = TurnedDown(decision.picture()).rows_with(Code.UNSCHEDULABLE)
        allowed = self._trial.way.rows
        untried = [
            row
            for row in rows.tolist()
            if (member.pod.alike, row) not in self._tried and (allowed is None or allowed[row])
        ]
        if plugin is None or not untried:
            return []
        state = decision.evaluation.state
        engine = desk.handle.engine = desk.engine(decision.evaluation)
        found = plugin.all_candidates(
            member.pod, desk.view, state, np.array(untried, np.intp), engine
        )
        return [found.row(number) for number in found.by_price()]

    def _empty(self, row: int, *, breaking_gangs: bool) -> list[str]:
        """Take all away that may go from a node; returns who went."""
        gone: list[str] = []
        units = units_on(row, self._cluster, self._may_go, breaking_gangs=breaking_gangs)
        for unit in units:
            self._absence.leave(unit.keys)
            gone += unit.keys
        return gone

    def _may_go(self, rows: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which of these placed pods every member may have evicted."""
        others = PlacedPods(self._cluster, np.array(rows, np.intp))
        may = np.ones(len(rows), np.bool_)
        for member, decision in self._kinds_missed():
            plugin = preemption_of(member)
            if plugin is not None:
                may &= plugin.evictable(member.pod, others, decision.evaluation.state)
        # Whoever is in this very gang stays.
        own = self._cluster.gangs.standing(self._group.key).placed
        keys = self._cluster.pods.key
        return may & np.array([keys(row) not in own for row in rows], np.bool_)

    # --- who stays -----------------------------------------------------------------------------------------------------

    def _let_return(self, keys: Sequence[str]) -> None:
        """Put back those of these for whom the members leave room."""
        wanted = set(keys)
        away = [pod for pod in self._absence if pod.key in wanted]
        for unit in units_to_return(away, self._cluster):
            self._absence.come_back(unit.keys)
            if not self._all_stand(unit):
                self._absence.leave(unit.keys)

    def _all_stand(self, unit: Unit) -> bool:
        """Whether every member still passes where it is; only those near by are asked, if nothing reaches further."""
        nodes = set(unit.nodes)
        return all(
            self._trial.still_fits(held)
            for held in self._trial.held
            if held.outcome.node in nodes or not self._trial.is_local(held)
        )

    # --- what comes of it ----------------------------------------------------------------------------------------------

    def _room(self) -> GangRoom | NoGangRoom:
        victims = sorted(
            self._absence, key=lambda pod: (-pod.priority, pod.started or float("inf"), pod.key)
        )
        held = self._trial.held
        if not victims:
            # The order of members alone made the difference; the next attempt finds it so.
            return NoGangRoom("", promises_end=False)
        violations = sum(_is_protected(pod, self._cluster) for pod in victims)
        nominated = {each.member.pod.key: Nominated(each.outcome.node, ()) for each in held}
        first = held[0]
        outbid = {pod.key: pod for each in held for pod in self._outbid(each)}
        nominated[first.member.pod.key] = Nominated(
            first.outcome.node, victims, violations, list(outbid.values())
        )
        return GangRoom(nominated)

    def _outbid(self, held: Held) -> list[PodInfo]:
        """Pods of lower priority that lose the node promised to them."""
        own = {each.member.pod.key for each in self._trial.held}
        promised = self._cluster.nominations.on(held.outcome.node)
        return [
            pod
            for pod in promised
            if pod.priority < held.member.pod.priority and pod.key not in own
        ]


def preemption_of(member: Member) -> PreemptionPlugin | None:
    for plugin in member.desk.profile.postfilter:
        if isinstance(plugin, PreemptionPlugin):
            return plugin
    return None


def _is_protected(pod: PodInfo, cluster: Cluster) -> bool:
    return any(
        budget.allowed <= 0 and pod.name not in budget.disrupted
        for budget in cluster.budgets.covering(pod.namespace, pod.labels)
    )
