"""Exchanging the rules of a running scheduler between two decisions.

Called by ``reloader`` in the event loop's own thread, where no attempt is in hand: a decision is made wholly by the old
rules or wholly by the new. What has been decided keeps the profile that decided it until it is bound or undone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bayplan.cycle.desk import POLICY_PLUGIN, Desk
from bayplan.cycle.record import Ring
from bayplan.framework.config.reloading import SHADOW
from bayplan.framework.dice import Dice
from bayplan.runtime.loop import Counter
from bayplan.runtime.reloading.arms import Ledger, Share, routes
from bayplan.runtime.reloading.shadow import Shadow

if TYPE_CHECKING:
    from bayplan.framework.config import Configuration
    from bayplan.framework.registry import Registry
    from bayplan.runtime.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class Generation:
    """One reading of the configuration, ready to decide."""

    number: int
    config: Configuration
    registry: Registry
    #: By scheduler name.
    desks: Mapping[str, Desk]


class Exchange:
    """Puts a generation's desks in the place of the present ones."""

    def __init__(self, scheduler: Scheduler, timer: Callable[[], float]) -> None:
        self._scheduler = scheduler
        self._timer = timer
        self.ledger = Ledger({})
        self.shadows: dict[str, Shadow] = {}

    def take(self, generation: Generation, *, at_start: bool = False) -> None:
        """From now on this generation decides; at the start its desks are in place already."""
        scheduler, desks = self._scheduler, generation.desks
        board = scheduler.board
        self._open_books(generation)
        counters = {}
        for name, desk in desks.items():
            former = scheduler.counters.get(name)
            counter = Counter.of(desk, former.evictions if former is not None else None)
            counters[name] = replace(counter, shadow=self.shadows.get(name))
        scheduler.loop.exchange(counters)
        scheduler.pods.turns.profiles = frozenset(desks)
        arms = self.ledger.arms
        if not at_start or arms:
            profiles = {name: desk.profile for name, desk in desks.items()}
            board.queue.use(profiles, board.clock.monotonic(), routes(arms))

    def settle_policies(self, generation: Generation) -> None:
        """Scheduling policies hold for the profiles of this generation that have the plugin, whatever was tried meanwhile."""
        names = [
            name
            for name, desk in generation.desks.items()
            if any(plugin.name == POLICY_PLUGIN for plugin in desk.profile.plugins)
        ]
        self._scheduler.board.cluster.policies.serve_only(names)

    def _open_books(self, generation: Generation) -> None:
        """Books go on as long as the arms stay the same."""
        arms = {p.scheduler_name: p.arm for p in generation.config.profiles if p.arm is not None}
        chronicle = self._scheduler.board.chronicle
        if arms != self.ledger.arms:
            if self.ledger in chronicle.observers:
                chronicle.observers.remove(self.ledger)
            self.ledger = Ledger(arms)
            if arms:
                chronicle.observers.append(self.ledger)
        shadows = {}
        for name, arm in arms.items():
            if arm.mode != SHADOW:
                continue
            of = generation.desks[arm.profile]
            desk = Desk(of.cluster, of.profile, Dice(0), Ring(1), of.handle, of.algorithm)
            account = self.ledger.accounts[arm.profile]
            metrics = self._scheduler.board.metrics
            shadow = Shadow(desk, Share(arm), name, account, metrics, self._timer)
            former = self.shadows.get(name)
            if former is not None:
                shadow.verdicts, shadow.disagreements = former.verdicts, former.disagreements
            shadows[name] = shadow
        self.shadows = shadows

    def to_json(self) -> dict[str, Any]:
        """For ``/debug/arms``."""
        return {
            "arms": [
                {
                    "profile": name,
                    "with": arm.profile,
                    "mode": arm.mode,
                    "percent": arm.percent,
                    "matchLabels": dict(arm.match_labels),
                    "verdicts": dict(shadow.verdicts) if shadow is not None else None,
                    "disagreements": [
                        each.to_json() for each in (shadow.disagreements if shadow else ())
                    ],
                }
                for name, arm in self.ledger.arms.items()
                for shadow in (self.shadows.get(name),)
            ],
            "accounts": {name: each.to_json() for name, each in self.ledger.accounts.items()},
        }
