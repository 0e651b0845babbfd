"""A gang that the members' own order did not place, as a puzzle of numbers for the solver, and a solution as a layout.

Nothing here knows the solver: a puzzle is plain data, which goes to another process as JSON and comes back as counts. What
nodes are called and who the members are stays here. Nodes that nobody can use are left out; of nodes that are alike no more
are sent than there are members.

Made when an attempt has failed; the solution is tried by ``cycle.gang`` like any other layout, so the filters have the last
word.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.cycle.gang_solver import Bin, Puzzle, Solution

if TYPE_CHECKING:
    from bayplan.cluster.view import ClusterView
    from bayplan.cycle.gang_room import Amounts, Need, Room
    from bayplan.framework.status import Mask
    from bayplan.model.pod_group import GroupTopology

#: More nodes than this are not looked at: those that are fullest are kept, which is where a solution is worth most.
MOST_BINS: Final = 2_000
#: How full a node is, in steps.
_FULL: Final = 100


@dataclass(frozen=True, slots=True)
class Question:
    """A puzzle, and what its numbers stand for."""

    puzzle: Puzzle
    #: By number of the bin.
    nodes: tuple[str, ...]
    #: By number of the class: ``namespace/name`` of the members.
    members: tuple[tuple[str, ...], ...]

    def plan(self, solution: Solution) -> dict[str, str]:
        """The node of each member that has one in the solution, by ``namespace/name``."""
        waiting = [iter(members) for members in self.members]
        return {
            key: self.nodes[number]
            for kind, number, count in solution.placed
            for key in islice(waiting[kind], count)
        }


def question_of(
    room: Room, view: ClusterView, needed: int, topology: GroupTopology | None = None
) -> Question | None:
    """The puzzle of these members; ``topology`` counts where all of them must be in one domain.

    None where no order of the members could place so many.
    """
    domains = _domains(view, room, topology)
    if room.bounds(domains, int(domains.max(initial=0)) + 1).max(initial=0) < needed:
        return None
    rows = np.flatnonzero(_usable(room) & (domains >= 0))
    alike: defaultdict[bytes, list[int]] = defaultdict(list)
    slots = np.array([need.slots for need in room.needs], np.int64)
    for row in rows.tolist():
        facts = (room.free[:, row].tobytes(), slots[:, row].tobytes(), domains[row].tobytes())
        alike[b"".join(facts)].append(row)
    kept = [row for group in alike.values() for row in group[: room.members]]
    fullness = _fullness(room, view, np.array(kept, np.intp))
    order = np.lexsort((np.array(kept), -fullness))[:MOST_BINS].tolist()
    bins = tuple(_bin(room, slots, domains, kept[i], int(fullness[i])) for i in order)
    names = view.cluster.nodes.names
    puzzle = Puzzle(
        needed=needed,
        counts=tuple(len(need.pods) for need in room.needs),
        amounts=tuple(tuple(need.amounts.tolist()) for need in room.needs),
        bins=bins,
    )
    return Question(puzzle, tuple(names[kept[i]] for i in order), tuple(map(_keys, room.needs)))


def _keys(need: Need) -> tuple[str, ...]:
    return tuple(pod.key for pod in need.pods)


def _usable(room: Room) -> Mask:
    usable: Mask = np.any([need.slots > 0 for need in room.needs], axis=0)
    return usable


def _domains(view: ClusterView, room: Room, topology: GroupTopology | None) -> Amounts:
    if topology is None or not topology.required:
        return np.zeros(room.free.shape[1], np.int64)
    return view.nodes.label(topology.key).astype(np.int64)


def _fullness(room: Room, view: ClusterView, rows: NDArray[np.intp]) -> Amounts:
    """How much of its scarcest resource, of those that are asked for, a node has given away: 0 to 100."""
    full = np.zeros(len(rows), np.int64)
    for number, name in enumerate(room.resources[1:], 1):
        there = view.nodes.allocatable(name)[rows].astype(np.float64)
        left = room.free[number, rows] / np.maximum(there, 1.0)
        np.maximum(full, (_FULL * (1.0 - np.minimum(left, 1.0))).astype(np.int64), out=full)
    return full


def _bin(room: Room, slots: Amounts, domains: Amounts, row: int, fullness: int) -> Bin:
    return Bin(
        free=tuple(room.free[:, row].tolist()),
        slots=tuple(slots[:, row].tolist()),
        domain=int(domains[row]),
        fullness=fullness,
    )
