"""What a plugin may ask of the scheduler around it: a narrow handle.

Implemented by the runtime (live) and by ``cycle.local`` (in memory). While an attempt is being decided the handle is
read-only: filters and scores run again for what-ifs and explanations, and nothing may come of that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from bayplan.errors import HandleClosed
from bayplan.framework.status import Rejected

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import ClusterView
    from bayplan.framework.preemption import DryRun
    from bayplan.framework.volume_writer import VolumeWriter


class WriteGuard:
    """The base of every handle: what writes calls ``writes`` first."""

    #: Set by the cycle from the first PreFilter to the last PostFilter of an attempt.
    deciding = False

    def writes(self, what: str) -> None:
        """Raise where an attempt is being decided."""
        if self.deciding:
            raise HandleClosed(
                f"handle.{what} may not be called while an attempt is decided: "
                "return a verdict instead, or call it from Reserve, Permit or a later point"
            )


class WaitingPod(Protocol):
    """A pod that Permit holds back."""

    pod: PodInfo

    def allow(self, plugin: str) -> None:
        """``plugin`` has no objection any more."""
        ...

    def reject(self, plugin: str, reason: str) -> bool:
        """Give the pod up; False where its fate was settled before."""
        ...


class Handle(Protocol):
    """Reading the cluster, and the few things a plugin may set in motion."""

    @property
    def view(self) -> ClusterView:
        """The cluster as it is now."""
        ...

    @property
    def scheduler_name(self) -> str:
        """The profile that the plugin belongs to."""
        ...

    @property
    def dry_run(self) -> DryRun:
        """Judging nodes on which some pods are supposed gone: what preemption is made of."""
        ...

    @property
    def volumes(self) -> VolumeWriter:
        """Writing volume bindings to the API server."""
        ...

    def now(self) -> float:
        """The time of day, in seconds since 1970; in memory that of the latest thing known to have happened."""
        ...

    def random_below(self, n: int) -> int:
        """A number from 0 to n-1 from the attempt's seeded source."""
        ...

    def nominate(self, pod: PodInfo, node: str) -> None:
        """Promise a node to a pod."""
        ...

    def activate(self, pods: Iterable[PodInfo]) -> None:
        """Let these pending pods be tried again at once."""
        ...

    def waiting_pods(self) -> Iterable[WaitingPod]:
        """Pods that Permit holds back."""
        ...

    def record_event(self, pod: PodInfo, *, reason: str, note: str, warning: bool = False) -> None:
        """Tell people by a Kubernetes event."""
        ...

    async def bind(self, pod: PodInfo, node: str) -> Rejected | None:
        """Tell the API server that the pod runs on the node."""
        ...
