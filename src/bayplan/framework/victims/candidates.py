"""What was found on the nodes that were tried, and which of them costs least.

Filled by ``search``, read by the plugin. Prices are compared in vectors: fewest budgets violated, then the least
important victims, as Kubernetes orders them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bayplan.framework.status import Code, Rejected
from bayplan.framework.victims.importance import Mask, Positions, start_times
from bayplan.framework.victims.messages import unexpected_fit

if TYPE_CHECKING:
    from bayplan.cluster.tables import Tables
    from bayplan.cluster.thinned import LowerPods
    from bayplan.framework.preemption import Nominated

Numbers = NDArray[np.int64]
#: Added to every priority, so that more victims never cost less.
_OFFSET: Final = 1 << 31


class Trial:
    """Some nodes that were tried: what stands in the way on each, or who has to go."""

    def __init__(self, lower: LowerPods) -> None:
        n = len(lower.rows)
        self.lower = lower
        #: Positions of the pods by importance, see ``rank``.
        self.order: Positions = np.empty(0, np.intp)
        #: By position: its eviction violates a budget.
        self.violating: Mask = np.zeros(len(lower.pods), np.bool_)
        #: By position: it has to go.
        self.victim: Mask = np.zeros(len(lower.pods), np.bool_)
        #: 0 where room can be made, else the number of the outcome that says why not.
        self.index: Positions = np.zeros(n, np.intp)
        self.outcomes: list[Rejected] = []
        #: What each node costs, see ``settle``.
        self.price: tuple[NDArray[np.float64] | Numbers, ...] = ()

    def rank(self, order: Positions, violating: Mask) -> None:
        """Say in which order pods may stay; not needed where the pod fits nowhere."""
        self.order = order
        self.violating = violating

    def objects(self, where: Mask, said: Rejected) -> None:
        """Room cannot be made on these nodes."""
        if where.any():
            self.outcomes.append(said)
            self.index[where] = len(self.outcomes)
            self.victim[where[self.lower.owner]] = False

    def clear(self, i: int) -> None:
        """Room can be made on node ``i``; its victims are to be named."""
        first = self.lower.starts[i]
        self.index[i] = 0
        self.victim[first : first + self.lower.counts[i]] = False

    def all_turns(self) -> Positions:
        """The pods in the order in which they are put back, node by node: those that a budget protects go first."""
        if not self.violating.any():
            return self.order
        in_order = self.order
        return in_order[np.lexsort((~self.violating[in_order], self.lower.owner[in_order]))]

    def turns(self, i: int) -> Positions:
        """The same for one node."""
        first = self.lower.starts[i]
        mine = self.order[first : first + self.lower.counts[i]]
        return mine[np.argsort(~self.violating[mine], kind="stable")]

    def victims(self, i: int) -> Positions:
        """Rows in the pod table of the pods that have to go, the most important first."""
        first = self.lower.starts[i]
        mine = self.order[first : first + self.lower.counts[i]]
        return self.lower.pods[mine[self.victim[mine]]]

    def settle(self, cluster: Tables) -> None:
        """Compute the prices, in the order in which they decide; the lower the better."""
        n = len(self.index)
        chosen = np.flatnonzero(self.victim)
        node, pods = self.lower.owner[chosen], self.lower.pods[chosen]
        priority = cluster.pods.priority.data[pods].astype(np.int64)
        started = start_times(cluster.pods, pods)
        count = np.bincount(node, minlength=n)
        for i in np.flatnonzero((self.index == 0) & (count == 0)).tolist():
            name = cluster.nodes.names[int(self.lower.rows[i])]
            self.objects(np.arange(n) == i, unexpected_fit(name))
        violations = np.bincount(node[self.violating[chosen]], minlength=n)
        highest = np.full(n, -_OFFSET, np.int64)
        np.maximum.at(highest, node, priority)
        total = np.zeros(n, np.int64)
        np.add.at(total, node, priority + _OFFSET)
        earliest = np.full(n, np.inf)
        top = priority == highest[node]
        np.minimum.at(earliest, node[top], started[top])
        self.price = (violations, highest, total, count, -earliest)


class Candidates:
    """The nodes where room can be made, in the order in which they were tried."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._kept: list[tuple[Trial, NDArray[np.intp]]] = []
        self._harmless = 0
        self._violating = 0
        #: Of how many nodes each thing was said.
        self.objections: Counter[Rejected] = Counter()
        #: What went wrong in trying.
        self.errors: list[str] = []

    @property
    def enough(self) -> bool:
        """Whether the search can end: with candidates enough, one that violates no budget among them."""
        found = self._harmless + self._violating
        return self._harmless > 0 and 0 < self._wanted <= found

    @property
    def lacking(self) -> int:
        """How many more nodes have to be tried at the very least."""
        return max(1, self._wanted - self._harmless - self._violating)

    def add(self, trial: Trial) -> None:
        """Take over what was found, up to where the search would have ended node by node."""
        wanted = self._wanted
        fits = trial.index == 0
        violating = fits & (trial.price[0] > 0)
        harmless = fits & ~violating
        # As they would have been counted node by node.
        harmless_count = self._harmless + np.cumsum(harmless)
        violating_count = self._violating + np.cumsum(violating)
        ends = (harmless_count > 0) & (harmless_count + violating_count >= wanted)
        last = int(np.argmax(ends)) if wanted and ends.any() else len(ends) - 1
        # Kubernetes has room for only so many of each kind.
        kept = harmless & (harmless_count <= wanted) | violating & (violating_count <= wanted)
        self._kept.append((trial, np.flatnonzero(kept[: last + 1])))
        self._harmless, self._violating = int(harmless_count[last]), int(violating_count[last])
        said, counts = np.unique(trial.index[: last + 1], return_counts=True)
        for number, count in zip(said.tolist(), counts.tolist(), strict=True):
            if number:
                self._count(trial.outcomes[number - 1], count)

    def _count(self, outcome: Rejected, count: int) -> None:
        self.objections[outcome] += count
        if outcome.code is Code.ERROR:
            self.errors.append(outcome.message)

    def __len__(self) -> int:
        return sum(len(kept) for _, kept in self._kept)

    def cheapest(self) -> int:
        """The number of the candidate to take; the first among equals."""
        prices = [
            np.concatenate([trial.price[step][kept] for trial, kept in self._kept])
            for step in range(5)
        ]
        left = np.arange(len(self))
        for price in prices:
            left = left[price[left] == price[left].min()]
        return int(left[0])

    def by_price(self) -> list[int]:
        """The numbers of all candidates, the cheapest first."""
        if not len(self):
            return []
        prices = [
            np.concatenate([trial.price[step][kept] for trial, kept in self._kept])
            for step in range(5)
        ]
        order: list[int] = np.lexsort(prices[::-1]).tolist()
        return order

    def row(self, number: int) -> int:
        """The node row of a candidate."""
        trial, i = self._at(number)
        return int(trial.lower.rows[i])

    def victims(self, number: int) -> Positions:
        """Rows in the pod table of a candidate's victims, the most important first."""
        trial, i = self._at(number)
        return trial.victims(i)

    def violations(self, number: int) -> int:
        """How many of its victims violate a budget."""
        trial, i = self._at(number)
        return int(trial.price[0][i])

    def _at(self, number: int) -> tuple[Trial, int]:
        for trial, kept in self._kept:
            if number < len(kept):
                return trial, int(kept[number])
            number -= len(kept)
        raise IndexError(number)


def cheapest_proposal(proposals: Sequence[Nominated]) -> Nominated:
    """The same choice among proposals that extenders have handed back."""
    return min(proposals, key=_price)


def _price(proposal: Nominated) -> tuple[int, int, int, int, float]:
    victims = proposal.victims
    highest = max(victim.priority for victim in victims)
    earliest = min(
        (v.started for v in victims if v.priority == highest and v.started is not None),
        default=float("inf"),
    )
    return (
        proposal.violations,
        # Upstream takes the first victim for the most important one.
        victims[0].priority,
        sum(victim.priority + _OFFSET for victim in victims),
        len(victims),
        -earliest,
    )
