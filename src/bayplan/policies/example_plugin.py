"""ExamplePlugin: the shortest plugin there is: a random score, and a log line once the pod is bound.

The numbers come from the attempt's own dice, so that a run with a fixed ``seed`` can be repeated.
"""

from __future__ import annotations

import logging

from bayplan import CycleState, NodeInfo, PodInfo, PostBindPlugin, ScorePlugin

log = logging.getLogger(__name__)


class ExamplePlugin(ScorePlugin, PostBindPlugin):
    """Places pods at random."""

    cache = False

    def score_node(self, pod: PodInfo, node: NodeInfo) -> float:
        return self.handle.random_below(100)

    async def postbind(self, pod: PodInfo, node: str, state: CycleState) -> None:
        log.info("Decision: %s/%s => %s", pod.namespace, pod.name, node)
