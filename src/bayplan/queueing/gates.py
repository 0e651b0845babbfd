"""Running PreEnqueue: may a pod come in at all?

The plugin that turned the pod down last is asked first, since it most likely still does. A plugin that fails keeps the pod
out like one that says no: its events, or the timed flush, bring it back. (upstream: runPreEnqueuePlugins)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from bayplan.errors import PluginError
from bayplan.framework.runner import call
from bayplan.framework.status import Code
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.framework.plugin import PreEnqueuePlugin
    from bayplan.framework.profile import Profile
    from bayplan.queueing.entry import Queued

_log: Final = get_logger(__name__)


def find_gate(queued: Queued, profile: Profile | None) -> tuple[str, Code]:
    """The name of a plugin that keeps the pod out, empty where all let it in, and what PreEnqueue comes to."""
    plugins = profile.pre_enqueue if profile is not None else ()
    if queued.gating_plugin:
        plugins = tuple(sorted(plugins, key=lambda plugin: plugin.name != queued.gating_plugin))
    for plugin in plugins:
        code = _ask(plugin, queued)
        if code is not Code.SUCCESS:
            return plugin.name, code
    return "", Code.SUCCESS


def perhaps_let_in(gated: Iterable[Queued], gate: str, profile: Profile | None) -> list[Queued]:
    """Those of the pods behind a gate to which the plugin that keeps it does not say no again."""
    found = [plugin for plugin in profile.pre_enqueue if plugin.name == gate] if profile else []
    if not found:
        return list(gated)
    plugin, certain = found[0], found[0].keeps_out
    return [
        queued
        for queued in gated
        if queued.pod.uid not in certain and _ask(plugin, queued) is Code.SUCCESS
    ]


def _ask(plugin: PreEnqueuePlugin, queued: Queued) -> Code:
    try:
        answer = call(plugin, "PreEnqueue", plugin.pre_enqueue, queued.pod)
    except PluginError as error:
        _log.error("PreEnqueue plugin failed", error, pod=queued.pod.key, plugin=plugin.name)
        return Code.ERROR
    code = Code.SUCCESS if answer is None else answer.code
    if debug := _log.v(4):
        debug.info(
            "Status after running PreEnqueue plugin",
            pod=queued.pod.key,
            plugin=plugin.name,
            status=code.label,
        )
    return code
