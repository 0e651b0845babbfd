"""DefaultBinder: tells the API server where the pod runs.

Reads:  nothing; the pod and the node are chosen.
Says:   None once the API server has agreed, else what it answered. Runs off the decision path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayplan.cluster.changes import Reads
from bayplan.framework.plugin import BindPlugin
from bayplan.framework.status import Rejected

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.framework.state import CycleState


class DefaultBinder(BindPlugin):
    """Binds by the pod's binding subresource."""

    name = "DefaultBinder"
    reads = Reads.NOTHING

    async def bind(self, pod: PodInfo, node: str, state: CycleState) -> Rejected | None:
        return await self.handle.bind(pod, node)
