"""For authors of plugins: builders, a scheduler in memory, and what to assert on."""

from bayplan.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod
from bayplan.testing.scheduler import Answer, decide, make_cluster, make_desk

__all__ = [
    "Answer",
    "NodeBuilder",
    "PodBuilder",
    "decide",
    "make_cluster",
    "make_desk",
    "make_node",
    "make_pod",
]
