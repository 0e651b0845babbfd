"""SchedulingPolicy: pods that name a policy go by it, and wait where it cannot be used.

Reads:  the policy that holds for the pod: the one that the label or annotation ``bayplan.io/policy`` of the pod names, or
        else that of its namespace. Policies are objects (``policy.bayplan.io/v1alpha1``) or texts in a ConfigMap.
Says:   from PreFilter, UNRESOLVABLE where there is no such policy or it cannot be used; else nothing: what a policy asks
        for is laid over the pod before any plugin sees it. Its node affinity and tolerations are the pod's, its resource
        weights those of NodeResourcesFit, its priority class orders the queue.

Having this plugin in a profile is what makes the profile's pods go by policies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bayplan import (
    SKIP,
    ClusterView,
    CycleState,
    PodInfo,
    PreFilterPlugin,
    Reads,
    Rejected,
    Resource,
    Skip,
    WakeOn,
    unresolvable,
)


class SchedulingPolicy(PreFilterPlugin):
    """Applies scheduling policies."""

    reads = Reads.NOTHING
    watches = (Resource.PRIORITY_CLASS,)

    #: Namespace and name of the ConfigMap whose texts are policies; empty: none is watched.
    config_map: str = "kube-system/scheduling-policies"
    #: Whether objects of the kind SchedulingPolicy are watched; a cluster that has no such kind is fine.
    custom_resources: bool = True

    @classmethod
    def check_args(cls, args: Any) -> Iterator[tuple[str, str]]:
        namespace, slash, name = args.config_map.partition("/")
        if args.config_map and not (namespace and slash and name and "/" not in name):
            yield "configMap", f"Invalid value: {args.config_map!r}: write namespace/name"

    def prefilter(
        self, pod: PodInfo, view: ClusterView, state: CycleState
    ) -> Skip | Rejected | None:
        if pod.policy is None or not pod.policy.problem:
            return SKIP
        return unresolvable(pod.policy.problem)

    def wakes_on(self) -> Sequence[WakeOn]:
        # Pods are made anew, and tried at once, when a policy changes that holds for them.
        return ()
