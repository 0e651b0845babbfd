"""What is told about a pod at each turn: the event and the condition that belong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayplan.telemetry import events

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.runtime.reporting.conditions import Conditions
    from bayplan.runtime.reporting.events import Recorder


@dataclass(frozen=True, slots=True)
class Reporter:
    """Tells people, and other controllers, about pods."""

    conditions: Conditions
    recorder: Recorder

    def unscheduled(self, pod: PodInfo, reason: str, message: str, nominated: str | None) -> None:
        """An attempt came to nothing; ``nominated`` as in a patch: None leaves it, empty clears it."""
        text = events.failed_scheduling(message)
        self.recorder.record(pod.spec.scheduler_name, pod, text)
        self.conditions.unscheduled(pod, reason, message, nominated)

    def skipped_deleting(self, pod: PodInfo) -> None:
        """A pod was on its way out when its turn came."""
        text = events.skipped_deleting(pod.namespace, pod.name)
        self.recorder.record(pod.spec.scheduler_name, pod, text)

    def scheduled(self, pod: PodInfo, node: str) -> None:
        """A pod was bound."""
        self.conditions.forget(pod.uid)
        text = events.scheduled(pod.namespace, pod.name, node)
        self.recorder.record(pod.spec.scheduler_name, pod, text)
