"""Taking what a placement uses up, and asking whether it may go ahead: Reserve and Permit, and the way back.

Called by the runtime once a pod is assumed on its node. Reserve plugins run in order and are undone in reverse; the way
back visits every one of them, also those that were never reached, as Kubernetes does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bayplan.errors import PluginError
from bayplan.framework.runner import call
from bayplan.framework.status import Code, Rejected

if TYPE_CHECKING:
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.framework.plugin import Plugin
    from bayplan.framework.profile import Profile
    from bayplan.framework.state import CycleState

#: No plugin holds a pod back for longer.
MAX_WAIT_S: Final = 15 * 60.0


@dataclass(frozen=True, slots=True)
class Placement:
    """A pod that is assumed on a node, and what its plugins have noted on the way there."""

    pod: PodInfo
    node: str
    profile: Profile
    #: The pod's own: alike pods share what was noted before Reserve, and nothing after.
    state: CycleState
    #: Permit plugins that make the pod wait, and for how long at most.
    waits: dict[str, float] = field(default_factory=dict)


def reserve(placement: Placement) -> Rejected | None:
    """Run Reserve; None where every plugin agrees.

    Raises:
        PluginError: a plugin raised, or said Error.
    """
    pod, node, state = placement.pod, placement.node, placement.state
    for plugin in placement.profile.reserve:
        answer = call(plugin, "Reserve", plugin.reserve, pod, node, state)
        if answer is not None:
            return checked(plugin, "Reserve", answer)
    return None


def unreserve(placement: Placement) -> Iterator[PluginError]:
    """Undo Reserve, the last plugin first; what goes wrong is yielded and stops nobody else's undoing."""
    pod, node, state = placement.pod, placement.node, placement.state
    for plugin in reversed(placement.profile.reserve):
        try:
            call(plugin, "Unreserve", plugin.unreserve, pod, node, state)
        except PluginError as error:
            yield error


def permit(placement: Placement) -> Rejected | None:
    """Run Permit; None lets the pod go on, after the waits that are noted on the placement.

    All plugins run even where one asks to wait; the first that rejects has the last word.

    Raises:
        PluginError: a plugin raised, or answered nonsense.
    """
    pod, node, state = placement.pod, placement.node, placement.state
    for plugin in placement.profile.permit:
        answer: object = call(plugin, "Permit", plugin.permit, pod, node, state)
        if isinstance(answer, Rejected):
            placement.waits.clear()
            return checked(plugin, "Permit", answer)
        if answer is None:
            continue
        if isinstance(answer, bool) or not isinstance(answer, (int, float)) or not answer >= 0:
            raise PluginError(
                plugin.name, "Permit", f"wants None, Rejected or seconds, got {answer!r}"
            )
        placement.waits[plugin.name] = min(float(answer), MAX_WAIT_S)
    return None


def checked(plugin: Plugin, point: str, answer: object) -> Rejected:
    """A plugin's refusal, signed; one with code Error is raised instead.

    Raises:
        PluginError: the answer is an error, or no refusal at all.
    """
    if not isinstance(answer, Rejected):
        raise PluginError(plugin.name, point, f"wants None or Rejected, got {answer!r}")
    if answer.code is Code.ERROR:
        raise PluginError(plugin.name, point, answer.message)
    return answer.by(plugin.name)
