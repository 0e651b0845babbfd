"""DefaultPreemption: where no node fits, which pods of lower priority would have to go, and on which node.

Reads:  why each node was turned down, the pods on the nodes where eviction could help, their budgets, promised nodes.
Says:   a node and its victims; or that nothing helps, and what stands in the way on each node. Acts on nothing: whoever
        runs the attempt deletes the victims and keeps the node promised.

The search is the framework's (``framework.victims``): every preemption plugin has the same.
"""

from __future__ import annotations

from bayplan.cluster.changes import Reads
from bayplan.framework.victims.plugin import PreemptionPlugin


class DefaultPreemption(PreemptionPlugin):
    """Makes room for a pod by evicting pods of lower priority from one node."""

    name = "DefaultPreemption"
    reads = Reads.NOTHING
