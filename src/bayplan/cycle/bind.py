"""From an agreed placement to a bound pod: PreBind, Bind and PostBind, in coroutines that wait for whatever they call.

Awaited by the runtime, off the decision path; this module starts no task and knows no event loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from bayplan.cycle.reserve import checked
from bayplan.errors import BayplanError, PluginError
from bayplan.framework.runner import call
from bayplan.framework.status import Rejected, Skip

if TYPE_CHECKING:
    from bayplan.cycle.reserve import Placement
    from bayplan.framework.plugin import Plugin, PreBindPlugin

P = ParamSpec("P")
T = TypeVar("T")


def preflight(placement: Placement) -> tuple[PreBindPlugin, ...]:
    """The PreBind plugins that have something to do for this pod.

    Raises:
        PluginError: a plugin raised, or rejected the pod: that is for earlier points to do.
    """
    pod, node, state = placement.pod, placement.node, placement.state
    busy: list[PreBindPlugin] = []
    for plugin in placement.profile.prebind:
        answer = call(plugin, "PreBindPreFlight", plugin.preflight, pod, node, state)
        if isinstance(answer, Rejected):
            raise PluginError(plugin.name, "PreBindPreFlight", answer.message)
        if not isinstance(answer, Skip):
            busy.append(plugin)
    return tuple(busy)


async def prebind(placement: Placement, plugins: Iterable[PreBindPlugin]) -> Rejected | None:
    """Run PreBind, one plugin after the other; None once all is prepared.

    Raises:
        PluginError: a plugin raised, or said Error.
    """
    pod, node, state = placement.pod, placement.node, placement.state
    for plugin in plugins:
        answer = await _call(plugin, "PreBind", plugin.prebind, pod, node, state)
        if answer is not None:
            return checked(plugin, "PreBind", answer)
    return None


async def bind(placement: Placement) -> Rejected | None:
    """Ask Bind plugins in turn until one takes the pod on; None once it is bound.

    Raises:
        PluginError: a plugin raised or said Error, or none took the pod on.
    """
    pod, node, state = placement.pod, placement.node, placement.state
    for plugin in placement.profile.bind:
        answer = await _call(plugin, "Bind", plugin.bind, pod, node, state)
        if isinstance(answer, Skip):
            continue
        return None if answer is None else checked(plugin, "Bind", answer)
    name = placement.profile.bind[-1].name if placement.profile.bind else ""
    raise PluginError(name, "Bind", f"no plugin binds pod {pod.key}: all stepped aside")


async def postbind(placement: Placement) -> list[PluginError]:
    """Tell PostBind plugins; what goes wrong changes nothing any more and is returned."""
    pod, node, state = placement.pod, placement.node, placement.state
    wrong = []
    for plugin in placement.profile.postbind:
        try:
            await _call(plugin, "PostBind", plugin.postbind, pod, node, state)
        except PluginError as error:
            wrong.append(error)
    return wrong


async def _call(
    plugin: Plugin,
    point: str,
    method: Callable[P, Awaitable[T]],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T | Any:
    """Await one method of one plugin; whatever it raises becomes an error that names it.

    Cancellation is no exception of the plugin's and passes through.
    """
    try:
        return await method(*args, **kwargs)
    except PluginError:
        raise
    except BayplanError as error:
        raise PluginError(plugin.name, point, str(error)) from error
    except Exception as error:  # a plugin may raise anything; its pod fails and nothing else
        raise PluginError(plugin.name, point, f"{type(error).__name__}: {error}") from error
