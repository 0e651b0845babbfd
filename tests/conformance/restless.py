"""A cluster that is looked at all the time while it comes into being.

What is said in the end comes from what was kept and brought up to date, as in a cluster that a scheduler runs in. Used
by the conformance tests and by bench/differential.py.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from bayplan.cluster.cluster import Cluster
from bayplan.cluster.podinfo import PodInfo
from bayplan.cycle.attempt import evaluate
from bayplan.cycle.desk import Desk
from bayplan.errors import BayplanError
from bayplan.framework.registry import Registry
from bayplan.model.decode import decode_as
from bayplan.model.pod import Pod
from bayplan.sim.cases import judge_at, objects_of, open_desk, verdict_on
from tests.conformance.stream import as_events

#: After which share of the events the pod is evaluated.
LOOKS: Final = 0.3


def over_and_over(case: Mapping[str, Any], registry: Registry) -> dict[str, Any]:
    """What is said in the end when the pod is evaluated all the time, while the case's objects arrive as events."""
    desk = open_desk(case, registry)
    chance = random.Random(case["id"])

    def look() -> None:
        if chance.random() < LOOKS:
            ask(desk, case)

    restless = Restless(desk.cluster, look)
    as_events(cast("Cluster", restless), objects_of(case))
    return verdict_on(case, judge_at(desk, case))


def ask(desk: Desk, case: Mapping[str, Any]) -> None:
    """Have the pod evaluated; what is said, and whether it fails, does not matter yet."""
    with contextlib.suppress(BayplanError):
        evaluate(desk.cluster.info(decode_as(Pod, case["pod"])), desk)


@dataclass
class Restless:
    """A cluster that somebody looks at whenever something happens to it."""

    cluster: Cluster
    look: Callable[[], None]

    def put(self, obj: Any) -> None:
        self.cluster.put(obj)
        self.look()

    def remove(self, obj: Any) -> None:
        self.cluster.remove(obj)
        self.look()

    def assume(self, pod: PodInfo, node: str) -> None:
        self.cluster.assume(pod, node)
        self.look()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.cluster, name)
