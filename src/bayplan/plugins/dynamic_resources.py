"""DynamicResources: devices that a pod claims. Claims are not supported yet: a pod that has any is turned down.

Reads:  the claims that the pod's spec refers to.
Says:   of a pod with claims, that nothing can be done for it (placing it as if it had none would start it on a node
        that lacks its devices). Of any other pod what Kubernetes says of it: score 0 everywhere, nothing to deallocate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayplan.cluster.changes import Reads
from bayplan.framework.plugin import FilterPlugin, PostFilterPlugin, PreFilterPlugin, ScorePlugin
from bayplan.framework.state import StateKey
from bayplan.framework.status import SKIP, Code, Rejected, Skip, unresolvable

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import ClusterView, Nodes
    from bayplan.framework.preemption import Failures
    from bayplan.framework.state import CycleState

#: Written by PreFilter, so that PostFilter knows whether it was reached.
SEEN: Final = StateKey[bool]("DynamicResources")


class DynamicResources(PreFilterPlugin, FilterPlugin, PostFilterPlugin, ScorePlugin):
    """Stands where Kubernetes allocates devices, and refuses pods that need any."""

    name = "DynamicResources"
    reads = Reads.NOTHING

    def prefilter(self, pod: PodInfo, view: ClusterView, state: CycleState) -> Skip | Rejected:
        state[SEEN] = True
        return _refused(pod) or SKIP

    def filter(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> Rejected | None:
        """Called only where a configuration has switched off PreFilter."""
        return _refused(pod)

    def postfilter(
        self, pod: PodInfo, view: ClusterView, state: CycleState, failures: Failures
    ) -> Rejected:
        if SEEN not in state:
            # An earlier plugin ended PreFilter. Kubernetes then misses its own state, says so, and does not preempt.
            return Rejected("not found", code=Code.ERROR)
        return Rejected("no new claims to deallocate")

    def score(self, pod: PodInfo, nodes: Nodes, state: CycleState) -> int:
        return 0


def _refused(pod: PodInfo) -> Rejected | None:
    claims = pod.spec.resource_claims
    if not claims:
        return None
    names = ", ".join(f'"{claim.name}"' for claim in claims)
    return unresolvable(f"pod uses resource claims ({names}), which are not supported yet")
