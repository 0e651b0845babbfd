"""An attempt by a fully custom scheduler: its class decides, everything around the decision is as always.

Part of an attempt; used where a profile names an ``algorithm``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bayplan.cycle.evaluation import Evaluation
from bayplan.cycle.plan import Plan
from bayplan.cycle.record import Decision
from bayplan.errors import PluginError
from bayplan.framework.status import Rejected

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import ClusterView
    from bayplan.framework.algorithm import Algorithm
    from bayplan.framework.profile import Profile


def decide(pod: PodInfo, algorithm: Algorithm, profile: Profile, view: ClusterView) -> Decision:
    """Ask the algorithm; its answer is checked as a plugin's would be."""
    name = type(algorithm).__name__
    answer: Any
    try:
        answer = algorithm.schedule(pod, view)
    except Exception as error:  # a user's class may raise anything; its pod fails and nothing else
        raise PluginError(name, "schedule", f"{type(error).__name__}: {error}") from error
    # No filter and no score is asked, but the record still knows the nodes there were.
    bare = replace(profile, plugins=[], prefilter=(), filter=(), prescore=(), score=())
    decision = Decision(pod, Evaluation(pod, Plan(bare), view), {})
    if isinstance(answer, Rejected):
        decision.rejection = answer.by(name)
        return decision
    row = view.row_of(answer) if isinstance(answer, str) else None
    if row is None:
        raise PluginError(name, "schedule", f"wants the name of a node or Rejected, got {answer!r}")
    decision.chosen, decision.fits, decision.ties = row, True, 1
    return decision
