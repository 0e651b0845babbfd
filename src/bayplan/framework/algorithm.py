"""The fully custom scheduler: one class that decides, in place of all filters and scores.

Named by a profile (``algorithm: module:Class``); the queue, the cache, binding and the record stay bayplan's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import ClusterView
    from bayplan.framework.status import Rejected


class Algorithm(Protocol):
    """What such a class has to offer; it is made without arguments."""

    def schedule(self, pod: PodInfo, view: ClusterView) -> str | Rejected:
        """The name of the node for this pod, or why there is none."""
        ...
