"""News of a pod that waits to be scheduled, as events that may wake it.

A pod may cure itself: by a toleration that is added, a label that changes, a gate that is taken away. Whether it does is for
the hints of the plugins to say that turned it down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayplan.framework.events import ClusterEvent, Resource
from bayplan.framework.pod_news import changes, pod_of

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo


def own_update_events(before: PodInfo, after: PodInfo) -> list[ClusterEvent]:
    """One event for each aspect that changed, or one general event."""
    old, new = pod_of(before), pod_of(after)
    return [
        ClusterEvent.of(Resource.UNSCHEDULED_POD, action, old, new)
        for action in changes(before, after)
    ]
