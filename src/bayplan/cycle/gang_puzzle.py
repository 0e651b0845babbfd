"""A gang that the members' own order did not place, as a puzzle of numbers for the solver, and a solution as a layout.

Nothing here knows the solver: a puzzle is plain data, which goes to another process as JSON and comes back as counts. What
nodes are called and who the members are stays here. Nodes that nobody can use are left out; of nodes that are alike no more
are sent than there are members.

Made when an attempt has failed; the solution is tried by ``cycle.gang`` like any other layout, so the filters have the last
word.
"""

from __future__ import annotations

from collections import Counter
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

#: Not many more nodes than this are looked at: for each class of members the fullest, which is where a solution is worth most.
MOST_BINS: Final = 1_000
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
    fullness = _fullness(room, view, rows)
    # The fullest first, and of those that are alike the first ones.
    order = np.lexsort((rows, -fullness))
    rows, fullness = rows[order], fullness[order]
    slots = np.array([need.slots[rows] for need in room.needs], np.int64)
    facts = np.concatenate((room.free[:, rows], slots, domains[rows][np.newaxis]), dtype=np.int64)
    kept = _without_repetitions(facts, room.members)
    if len(kept) > MOST_BINS:
        kept = _enough_for_each(slots, kept)
    names = view.cluster.nodes.names
    puzzle = Puzzle(
        needed=needed,
        counts=tuple(len(need.pods) for need in room.needs),
        amounts=tuple(tuple(need.amounts.tolist()) for need in room.needs),
        bins=_bins(facts[:, kept], len(room.resources), fullness[kept]),
    )
    nodes = tuple(names[row] for row in rows[kept].tolist())
    return Question(puzzle, nodes, tuple(map(_keys, room.needs)))


def _without_repetitions(facts: Amounts, most: int) -> list[int]:
    """Columns of which there are not more alike before them than the gang has members."""
    raw, width = np.ascontiguousarray(facts.T).tobytes(), facts.shape[0] * facts.itemsize
    seen: Counter[bytes] = Counter()
    kept = []
    for number in range(facts.shape[1]):
        key = raw[number * width : (number + 1) * width]
        seen[key] += 1
        if seen[key] <= most:
            kept.append(number)
    return kept


def _enough_for_each(slots: Amounts, kept: list[int]) -> list[int]:
    """The first ones that take members of a class, for each class: the fullest alone may have no room for large members."""
    columns, share = np.array(kept, np.intp), MOST_BINS // len(slots)
    chosen = {
        number
        for takes in slots[:, columns] > 0
        for number in columns[np.flatnonzero(takes)[:share]].tolist()
    }
    return sorted(chosen)


def _bins(facts: Amounts, resources: int, fullness: Amounts) -> tuple[Bin, ...]:
    return tuple(
        Bin(tuple(one[:resources]), tuple(one[resources:-1]), one[-1], full)
        for one, full in zip(facts.T.tolist(), fullness.tolist(), strict=True)
    )


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
