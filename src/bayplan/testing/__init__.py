"""For authors of plugins: builders, a scheduler in memory, what to assert on, and time that a test moves by hand.

All that is public is here; the modules behind it may change. ``docs/guide/testing.md`` shows how it goes together.
"""

from bayplan.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod
from bayplan.testing.forms import assert_forms_agree, per_node_form
from bayplan.testing.scheduler import Answer, decide, make_cluster, make_desk, place, wakes
from bayplan.testing.virtual_time import VirtualClock, VirtualLoop, run, settle

__all__ = [
    "Answer",
    "NodeBuilder",
    "PodBuilder",
    "VirtualClock",
    "VirtualLoop",
    "assert_forms_agree",
    "decide",
    "make_cluster",
    "make_desk",
    "make_node",
    "make_pod",
    "per_node_form",
    "place",
    "run",
    "settle",
    "wakes",
]
