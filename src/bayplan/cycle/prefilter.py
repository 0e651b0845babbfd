"""PreFilter: every plugin's one look at the pod before any node.

Part of ``cycle.evaluation``; the rules of combination are Kubernetes'.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bayplan.errors import PluginError
from bayplan.framework.runner import call
from bayplan.framework.status import Code, OnlyNodes, Rejected, Skip, unresolvable

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.cluster.view import ClusterView
    from bayplan.framework.profile import Profile
    from bayplan.framework.state import CycleState

Answer = None | Skip | Rejected | OnlyNodes


@dataclass(slots=True)
class PreFilterResult:
    """What the PreFilter plugins said together."""

    #: The pod is turned down whole; signed by the plugin that did, or by nobody where several did it together.
    rejection: Rejected | None = None
    #: Plugins with nothing to say: their Filter is left out.
    skipped: set[str] = field(default_factory=set)
    #: No node but these is worth a look; None where all are.
    only_nodes: frozenset[str] | None = None
    #: What to say of the other nodes.
    left_out: Rejected = field(default_factory=lambda: unresolvable(""))
    #: Plugins that had a say in ``only_nodes`` or ``rejection``: their events wake the pod.
    plugins: set[str] = field(default_factory=set)
    answers: dict[str, Answer] = field(default_factory=dict)


def ask(plugin: Any, pod: PodInfo, view: ClusterView, state: CycleState) -> Answer:
    """One plugin's answer."""
    answer: Any = call(plugin, "PreFilter", plugin.prefilter, pod, view, state)
    if answer is None or isinstance(answer, Skip):
        return answer
    if isinstance(answer, Rejected):
        if answer.code is Code.ERROR:
            raise PluginError(plugin.name, "PreFilter", answer.message)
        return answer
    if isinstance(answer, OnlyNodes) and isinstance(answer.names, frozenset | set):
        return OnlyNodes(frozenset(answer.names))
    wanted = "wants None, SKIP, Rejected or OnlyNodes(a frozenset of names)"
    raise PluginError(plugin.name, "PreFilter", f"{wanted}, got {answer!r}")


def run_prefilters(
    pod: PodInfo, profile: Profile, view: ClusterView, state: CycleState
) -> PreFilterResult:
    """Ask all plugins in order and put their answers together.

    A rejection that eviction might cure does not stop the others: preemption needs their state. One that nothing cures
    does, and so does an empty set of nodes.
    """
    result = PreFilterResult()
    for plugin in profile.prefilter:
        answer = result.answers[plugin.name] = ask(plugin, pod, view, state)
        if isinstance(answer, Skip):
            result.skipped.add(plugin.name)
        elif isinstance(answer, Rejected):
            result.rejection = answer.by(plugin.name)
            if answer.code is Code.UNRESOLVABLE:
                result.plugins = {plugin.name}
                return result
        elif isinstance(answer, OnlyNodes):
            result.plugins.add(plugin.name)
            so_far = result.only_nodes
            result.only_nodes = answer.names if so_far is None else so_far & answer.names
            if not result.only_nodes:
                result.rejection = unresolvable(_nobody_left(sorted(result.plugins)))
                return result
    if result.rejection is not None:
        result.plugins.add(result.rejection.plugin)
    names = " ".join(sorted(result.plugins))
    result.left_out = unresolvable(f"node(s) didn't satisfy plugin(s) [{names}]")
    return result


def _nobody_left(plugins: list[str]) -> str:
    if len(plugins) == 1:
        return f"node(s) didn't satisfy plugin {plugins[0]}"
    return f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}] simultaneously"
