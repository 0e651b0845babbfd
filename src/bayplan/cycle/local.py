"""The handle that plugins get where there is no API server: in case files, dumps, the simulator and tests.

Reads work as anywhere; what would be sent is noted instead, for whoever wants to look.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from bayplan.framework.handle import WriteGuard
from bayplan.framework.status import Rejected

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import ClusterView
    from bayplan.framework.dice import Dice
    from bayplan.framework.handle import WaitingPod
    from bayplan.framework.preemption import DryRun
    from bayplan.framework.volume_writer import VolumeWriter


class LocalHandle(WriteGuard):
    """A handle on a cluster that is in memory alone."""

    def __init__(self, view: ClusterView, scheduler_name: str, dice: Dice) -> None:
        self.view = view
        self.scheduler_name = scheduler_name
        self._dice = dice
        #: Set by the cycle for the attempt in hand.
        self.engine: DryRun | None = None
        #: What was asked for, oldest first: ("bind", pod, node) and the like.
        self.sent: list[tuple[str, str, str]] = []

    @property
    def dry_run(self) -> DryRun:
        """The dry-run engine of the attempt in hand."""
        if self.engine is None:
            raise RuntimeError("a dry run belongs to an attempt, and none is in hand")
        return self.engine

    @property
    def volumes(self) -> VolumeWriter:
        """There is nowhere to write volumes to."""
        raise NotImplementedError(
            "volumes are bound through the API server, and there is none here"
        )

    def now(self) -> float:
        """When the latest pod was created, or started: a file says nothing about what came after."""
        pods = self.view.cluster.pods
        used = pods.rows.used
        times = np.concatenate((pods.started.seen[:used], pods.created.seen[:used], [0.0]))
        return float(np.nanmax(times))

    def random_below(self, n: int) -> int:
        """From the attempt's dice."""
        return self._dice.below(n)

    def nominate(self, pod: PodInfo, node: str) -> None:
        """Promise a node to a pod."""
        self.writes("nominate")
        self.view.cluster.nominations.put(pod, node)

    def activate(self, pods: Iterable[PodInfo]) -> None:
        """Noted."""
        self.writes("activate")
        self.sent.extend(("activate", pod.key, "") for pod in pods)

    def waiting_pods(self) -> Iterable[WaitingPod]:
        """Nobody waits where nothing is bound."""
        return ()

    def record_event(self, pod: PodInfo, *, reason: str, note: str, warning: bool = False) -> None:
        """Noted."""
        self.writes("record_event")
        self.sent.append((reason, pod.key, note))

    async def bind(self, pod: PodInfo, node: str) -> Rejected | None:
        """Noted."""
        self.writes("bind")
        self.sent.append(("bind", pod.key, node))
        return None
