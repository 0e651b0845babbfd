"""What attempts of one profile work with. Made by whoever runs attempts: the runtime, the simulator, tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from bayplan.cycle.classes import Classes
from bayplan.cycle.laps import Laps
from bayplan.cycle.preempt import Chain, DryRunEngine

#: Having it in a profile makes the profile's pods go by scheduling policies.
POLICY_PLUGIN: Final = "SchedulingPolicy"

if TYPE_CHECKING:
    from bayplan.cluster.cluster import Cluster
    from bayplan.cycle.evaluation import Evaluation
    from bayplan.cycle.record import Ring
    from bayplan.framework.algorithm import Algorithm
    from bayplan.framework.dice import Dice
    from bayplan.framework.preemption import DryRun
    from bayplan.framework.profile import Profile


class EngineHandle(Protocol):
    """The part of a handle that the cycle itself sets."""

    #: The dry-run engine of the attempt in hand.
    engine: DryRun | None
    #: Whether an attempt is being decided: plugins may look, and set nothing in motion.
    deciding: bool


class Desk:
    """What attempts of one profile work with: the cluster, the classes seen so far, the dice, the record."""

    def __init__(
        self,
        cluster: Cluster,
        profile: Profile,
        dice: Dice,
        ring: Ring,
        handle: EngineHandle,
        algorithm: Algorithm | None = None,
    ) -> None:
        self.cluster = cluster
        self.profile = profile
        self.handle = handle
        #: Decides in place of filters and scores, where the profile names one.
        self.algorithm = algorithm
        self.view = cluster.view
        if any(plugin.name == POLICY_PLUGIN for plugin in profile.plugins):
            cluster.policies.serve(profile.name)
        self.classes = Classes(profile, cluster.view)
        self.dice = dice
        self.ring = ring

    @property
    def laps(self) -> Laps:
        """Where the time of the last attempt went."""
        return self.classes.plan.laps

    def time_with(self, timer: Callable[[], float]) -> None:
        """Time the points of each attempt from now on."""
        self.classes.plan.laps = Laps(timer)

    def engine(self, evaluation: Evaluation) -> DryRunEngine:
        """The filters in play for an evaluation, to be run on supposed states of nodes."""
        chain = Chain.of(self.profile, evaluation.prefilter.skipped)
        return DryRunEngine(chain, self.view, self.cluster.nominations)
