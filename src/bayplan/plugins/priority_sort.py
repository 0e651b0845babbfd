"""PrioritySort: the more important pod first, then the one that has waited longer.

Reads:  ``pod.queue_priority`` (the pod's priority, unless a scheduling policy names another) and when the pod was last
        put in the queue.
Says:   a sort key. The time is that of the latest return to the queue, not of creation: a pod that keeps failing does
        not stand in the way of others of its priority.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayplan.cluster.changes import Reads
from bayplan.framework.plugin import QueueSortPlugin

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo


class PrioritySort(QueueSortPlugin):
    """Orders the queue by priority, then by time."""

    name = "PrioritySort"
    reads = Reads.NOTHING

    def sort_key(self, pod: PodInfo, queued_at: float) -> tuple[int, float]:
        return (-pod.queue_priority, queued_at)
