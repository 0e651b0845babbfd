"""An assignment of a whole gang at once, by constraint programming: what trying members one by one may miss.

A pure function of numbers. ``x[class, node]`` members of a class are put on a node; what they take fits; if all have to
be in one domain, all are. As many members as possible, at least as many as are needed, on the fullest nodes: large gaps
stay for those who need them. One worker, a seed, and a limit that counts the solver's steps instead of the time: the same
puzzle has the same answer on every machine.

Needs OR-tools (``bayplan[solver]``). Run in a process of its own by ``runtime.solving``, for it takes as long as it is
given.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar

#: Numbers beyond this are scaled down, free amounts towards less and needs towards more: what fits then, fits.
_LARGEST: Final = 1 << 40


class Bin(msgspec.Struct, frozen=True):
    """A node."""

    #: One amount per resource.
    free: tuple[int, ...]
    #: How many of each class it takes at most.
    slots: tuple[int, ...]
    domain: int
    #: 0 to 100.
    fullness: int


class Puzzle(msgspec.Struct, frozen=True):
    """What is to be solved."""

    #: So many members at least.
    needed: int
    #: Members by class.
    counts: tuple[int, ...]
    #: What one member of each class takes, one amount per resource.
    amounts: tuple[tuple[int, ...], ...]
    bins: tuple[Bin, ...]


class Limits(msgspec.Struct, frozen=True):
    """How hard to look."""

    #: In the solver's own measure: about a second each on one core of today.
    effort: float = 2.0
    seed: int = 0


class Solution(msgspec.Struct, frozen=True):
    """Where members go; empty: no way was found, or there is none."""

    #: Class, bin, how many.
    placed: tuple[tuple[int, int, int], ...] = ()
    #: The solver's own word: ``OPTIMAL``, ``FEASIBLE``, ``INFEASIBLE``, ``UNKNOWN``.
    status: str = ""

    @property
    def members(self) -> int:
        return sum(count for _, _, count in self.placed)


def solve(puzzle: Puzzle, limits: Limits | None = None) -> Solution:
    """Look for an assignment.

    Raises:
        ImportError: OR-tools is not installed.
    """
    from ortools.sat.python import cp_model

    limits = limits or Limits()
    model = cp_model.CpModel()
    put = _placements(model, puzzle)
    _fits(model, puzzle, put)
    _one_domain(model, puzzle, put)
    for kind, count in enumerate(puzzle.counts):
        model.add(sum(var for (k, _), var in put.items() if k == kind) <= count)
    placed = sum(put.values())
    model.add(placed >= puzzle.needed)
    # A member more is worth more than any packing.
    worth = 101 * max(sum(puzzle.counts), 1)
    packing = sum(var * puzzle.bins[number].fullness for (_, number), var in put.items())
    model.maximize(placed * worth + packing)

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = limits.seed % (1 << 31)
    solver.parameters.max_deterministic_time = limits.effort
    status = solver.solve(model)
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    counts = {key: solver.value(var) for key, var in put.items()} if found else {}
    taken = tuple((kind, number, count) for (kind, number), count in counts.items() if count)
    return Solution(taken, solver.status_name(status))


def _placements(model: CpModel, puzzle: Puzzle) -> dict[tuple[int, int], IntVar]:
    """How many members of each class are on each node that takes any."""
    return {
        (kind, number): model.new_int_var(0, min(count, one.slots[kind]), f"x{kind}_{number}")
        for number, one in enumerate(puzzle.bins)
        for kind, count in enumerate(puzzle.counts)
        if one.slots[kind] > 0
    }


def _fits(model: CpModel, puzzle: Puzzle, put: dict[tuple[int, int], IntVar]) -> None:
    """What members take together is there. Alone, each class fits by its slots."""
    on_node: defaultdict[int, list[int]] = defaultdict(list)
    for kind, number in put:
        on_node[number].append(kind)
    for number, kinds in on_node.items():
        for resource, free in enumerate(puzzle.bins[number].free):
            takers = [kind for kind in kinds if puzzle.amounts[kind][resource] > 0]
            if len(takers) < 2:
                continue
            largest = max(free, *(puzzle.amounts[kind][resource] for kind in takers))
            unit = -(-largest // _LARGEST)
            taken = sum(
                put[kind, number] * -(-puzzle.amounts[kind][resource] // unit) for kind in takers
            )
            model.add(taken <= free // unit)


def _one_domain(model: CpModel, puzzle: Puzzle, put: dict[tuple[int, int], IntVar]) -> None:
    domains = sorted({one.domain for one in puzzle.bins})
    if len(domains) < 2:
        return
    chosen = {domain: model.new_bool_var(f"d{domain}") for domain in domains}
    model.add_exactly_one(chosen.values())
    inside: defaultdict[int, list[IntVar]] = defaultdict(list)
    for (_, number), var in put.items():
        inside[puzzle.bins[number].domain].append(var)
    most = sum(puzzle.counts)
    for domain, members in inside.items():
        model.add(sum(members) <= most * chosen[domain])
