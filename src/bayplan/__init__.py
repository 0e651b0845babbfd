"""bayplan: the Kubernetes scheduler that is programmed in Python.

What a plugin needs is here::

    from bayplan import FilterPlugin, Rejected, ScorePlugin
"""

from bayplan.cluster.accounts import Account
from bayplan.cluster.changes import Reads
from bayplan.cluster.nodeinfo import NodeInfo
from bayplan.cluster.placed import PlacedPods
from bayplan.cluster.podinfo import PodInfo
from bayplan.cluster.quotas import Quota, Quotas
from bayplan.cluster.view import ClusterView, Nodes
from bayplan.framework.events import Action, Hint, Resource, WakeOn
from bayplan.framework.handle import Handle
from bayplan.framework.plugin import (
    BindPlugin,
    FilterPlugin,
    Missing,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
)
from bayplan.framework.preemption import Failures, Nominated
from bayplan.framework.scoring import NEUTRAL, UNKNOWN, fill_unknown, scale, scale_reversed
from bayplan.framework.state import CycleState, StateKey
from bayplan.framework.status import (
    SKIP,
    Code,
    Mask,
    OnlyNodes,
    Rejected,
    Scores,
    Skip,
    Verdicts,
    unresolvable,
)
from bayplan.framework.victims.plugin import PreemptionPlugin
from bayplan.model.amounts import quantity_text
from bayplan.model.policy import PriorityClass

__version__ = "0.1.0"

__all__ = [
    "NEUTRAL",
    "SKIP",
    "UNKNOWN",
    "Account",
    "Action",
    "BindPlugin",
    "ClusterView",
    "Code",
    "CycleState",
    "Failures",
    "FilterPlugin",
    "Handle",
    "Hint",
    "Mask",
    "Missing",
    "NodeInfo",
    "Nodes",
    "Nominated",
    "OnlyNodes",
    "PermitPlugin",
    "PlacedPods",
    "Plugin",
    "PodInfo",
    "PostBindPlugin",
    "PostFilterPlugin",
    "PreBindPlugin",
    "PreEnqueuePlugin",
    "PreFilterPlugin",
    "PreScorePlugin",
    "PreemptionPlugin",
    "PriorityClass",
    "QueueSortPlugin",
    "Quota",
    "Quotas",
    "Reads",
    "Rejected",
    "ReservePlugin",
    "Resource",
    "ScorePlugin",
    "Scores",
    "Skip",
    "StateKey",
    "Verdicts",
    "WakeOn",
    "__version__",
    "fill_unknown",
    "quantity_text",
    "scale",
    "scale_reversed",
    "unresolvable",
]
