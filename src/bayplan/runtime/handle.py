"""The handle that plugins get in a running scheduler (``framework.handle.Handle``).

One per profile; built by ``app``, which fills in what all profiles share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayplan.framework.handle import WriteGuard
from bayplan.framework.status import Rejected
from bayplan.telemetry import events

if TYPE_CHECKING:
    from bayplan.clock import Clock
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import ClusterView
    from bayplan.framework.dice import Dice
    from bayplan.framework.handle import WaitingPod
    from bayplan.framework.preemption import DryRun
    from bayplan.runtime.bind_requests import BindRequests
    from bayplan.runtime.notes import Notes
    from bayplan.runtime.reporting.conditions import Conditions
    from bayplan.runtime.reporting.events import Recorder
    from bayplan.runtime.volumes import LiveVolumes
    from bayplan.runtime.waiting import WaitingPods


@dataclass(slots=True)
class Services:
    """What the handles of all profiles pass requests on to."""

    bindings: BindRequests
    volumes: LiveVolumes
    conditions: Conditions
    recorder: Recorder
    waiting: WaitingPods
    notes: Notes
    clock: Clock
    #: Lets pending pods be tried again at once; set by ``app`` when there is a queue.
    activate: Callable[[Iterable[PodInfo]], None] = lambda _pods: None


class LiveHandle(WriteGuard):
    """A handle on a live cluster."""

    def __init__(
        self, view: ClusterView, scheduler_name: str, dice: Dice, services: Services
    ) -> None:
        self.view = view
        self.scheduler_name = scheduler_name
        self._dice = dice
        self._services = services
        #: Set by the cycle for the attempt in hand.
        self.engine: DryRun | None = None

    @property
    def dry_run(self) -> DryRun:
        """The dry-run engine of the attempt in hand."""
        if self.engine is None:
            raise RuntimeError("a dry run belongs to an attempt, and none is in hand")
        return self.engine

    @property
    def volumes(self) -> LiveVolumes:
        """Writing volume bindings to the API server."""
        self.writes("volumes")
        return self._services.volumes

    def now(self) -> float:
        """The time of day."""
        return self._services.clock.now()

    def random_below(self, n: int) -> int:
        """From the attempt's dice."""
        return self._dice.below(n)

    def nominate(self, pod: PodInfo, node: str) -> None:
        """Promise a node to a pod, here and in its status."""
        self.writes("nominate")
        self.view.cluster.nominations.put(pod, node)
        self._services.conditions.nominate(pod, node)

    def activate(self, pods: Iterable[PodInfo]) -> None:
        """Let these pending pods be tried again at once."""
        self.writes("activate")
        self._services.activate(pods)

    def waiting_pods(self) -> Iterable[WaitingPod]:
        """Pods that Permit holds back."""
        return self._services.waiting

    def record_event(self, pod: PodInfo, *, reason: str, note: str, warning: bool = False) -> None:
        """Tell people by a Kubernetes event."""
        self.writes("record_event")
        text = events.by_plugin(reason, note, warning=warning)
        self._services.recorder.record(self.scheduler_name, pod, text)

    async def bind(self, pod: PodInfo, node: str) -> Rejected | None:
        """Tell the API server that the pod runs on the node.

        Unlike the other writes this one may start while another pod is being decided: nobody decides while a coroutine
        of a binding runs, so the guard only catches a plugin that drives it by hand.
        """
        self.writes("bind")
        return await self._services.bindings.bind(pod, node, self._services.notes.of(pod.uid))
