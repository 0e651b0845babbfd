"""Profiles that are tried beside others, and how each fares: attempts, time, use of the nodes, price, failures.

``Share`` says which pods are concerned; the queue sends those of a canary to the other profile, the loop shows those of a
shadow to it. ``Ledger`` observes the chronicle and keeps the books of all profiles that have to do with an arm; ``bayplan
compare-arms`` reads them through ``/debug/arms``.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bayplan.cycle.rank import CLOSED
from bayplan.framework.config.reloading import CANARY
from bayplan.queueing.entry import asked_for
from bayplan.runtime.chronicle import DRY_RUN, ERROR, SCHEDULED

if TYPE_CHECKING:
    from contextvars import Context

    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cycle.record import Decision
    from bayplan.framework.config.reloading import Arm
    from bayplan.runtime.chronicle import Try

#: Latencies kept for each arm: the last ones.
KEPT: Final = 10_000
#: Shares are told apart as finely as this.
_PARTS: Final = 10_000
_PRICED_BY: Final = "CostOptimizationPlugin"
_MILLIONTH: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Share:
    """The pods that an arm is tried on."""

    arm: Arm

    def takes(self, pod: PodInfo) -> bool:
        """Whether a pod is one of them: the same answer in every process, and for as long as the pod lives."""
        wanted = self.arm.match_labels
        if wanted and all(pod.labels.get(key) == value for key, value in wanted.items()):
            return True
        # A gang is decided as a whole, so it is on one side as a whole.
        whole = pod.uid if pod.group is None else str(pod.group)
        return zlib.crc32(whole.encode()) % _PARTS < self.arm.percent * _PARTS / 100


def routes(arms: Mapping[str, Arm]) -> Callable[[PodInfo], str]:
    """Which profile decides a pod, going by the canaries among the arms (by scheduler name)."""
    shares = {name: Share(arm) for name, arm in arms.items() if arm.mode == CANARY}
    if not shares:
        return asked_for

    def route(pod: PodInfo) -> str:
        name = asked_for(pod)
        share = shares.get(name)
        return share.arm.profile if share is not None and share.takes(pod) else name

    return route


@dataclass(slots=True)
class Account:
    """One side of a comparison."""

    #: ``stable``, ``canary`` or ``shadow``.
    role: str
    attempts: int = 0
    scheduled: int = 0
    unschedulable: int = 0
    errors: int = 0
    #: Seconds from taking a pod off the queue to its end, the last ``KEPT``.
    seconds: list[float] = field(default_factory=list)
    #: Sums over chosen nodes: the greater share of CPU or memory that is in use once the pod is there.
    used: float = 0.0
    chosen: int = 0
    #: The hourly price of each placed pod, where prices are known.
    price: float = 0.0
    priced: int = 0

    def took(self, seconds: float) -> None:
        """An attempt has taken so long."""
        if len(self.seconds) < KEPT:
            self.seconds.append(seconds)
        else:
            self.seconds[self.attempts % KEPT] = seconds

    def chose(self, decision: Decision) -> None:
        """A node was chosen, and nothing is assumed there yet."""
        row, nodes = decision.chosen, decision.evaluation.view.nodes
        asked = decision.pod.requests
        shares = [
            (int(nodes.requested(name)[row]) + asked.get(name, 0)) / offered
            for name in ("cpu", "memory")
            if (offered := int(nodes.allocatable(name)[row]))
        ]
        self.chosen += 1
        self.used += max(shares, default=0.0)
        price = price_of(decision)
        if price is not None:
            self.priced += 1
            self.price += price

    def to_json(self) -> dict[str, Any]:
        """For the page."""
        times = np.array(self.seconds) if self.seconds else None
        return {
            "role": self.role,
            "attempts": self.attempts,
            "scheduled": self.scheduled,
            "unschedulable": self.unschedulable,
            "errors": self.errors,
            "p50Seconds": None if times is None else float(np.percentile(times, 50)),
            "p99Seconds": None if times is None else float(np.percentile(times, 99)),
            "utilisation": self.used / self.chosen if self.chosen else None,
            "pricePerPod": self.price / self.priced if self.priced else None,
        }


def price_of(decision: Decision) -> float | None:
    """The hourly price of a pod where it was put: what CostOptimizationPlugin worked out, or else the node's."""
    rank, row = decision.evaluation.rank, decision.chosen
    for part in rank.scores if rank is not None else ():
        if part.plugin.name == _PRICED_BY:
            raw = part.raw if isinstance(part.raw, int) else int(part.raw[row])
            return raw * _MILLIONTH
    price = float(decision.evaluation.view.nodes.data("price")[row])
    return None if np.isnan(price) else price


class Ledger:
    """The accounts of all profiles that have to do with an arm; observes the chronicle."""

    def __init__(self, arms: Mapping[str, Arm]) -> None:
        #: By scheduler name.
        self.arms = dict(arms)
        self.accounts: dict[str, Account] = {}
        for name, arm in arms.items():
            self.accounts.setdefault(name, Account("stable"))
            self.accounts[arm.profile] = Account(arm.mode)

    def decided(self, attempt: Try) -> None:
        """The cycle has come to an outcome; the room on the node is not taken yet."""
        account = self.accounts.get(attempt.profile)
        if account is None or attempt.decision is None or attempt.decision.chosen < 0:
            return
        account.chose(attempt.decision)

    def ended(self, attempt: Try) -> None:
        """The pod is bound, or back in the queue."""
        account = self.accounts.get(attempt.profile)
        if account is None:
            return
        account.attempts += 1
        account.took(attempt.seconds)
        if attempt.result in (SCHEDULED, DRY_RUN):
            account.scheduled += 1
        elif attempt.result == ERROR:
            account.errors += 1
        else:
            account.unschedulable += 1

    def context(self, attempt: Try) -> Context | None:
        """None of its own."""
        return None


def is_among_the_best(decision: Decision, row: int) -> bool:
    """Whether a node that another profile has chosen is as good as the own choice."""
    if decision.chosen == row:
        return True
    ranked = decision.ranking().ranked
    return decision.best != CLOSED and int(ranked[row]) == decision.best
