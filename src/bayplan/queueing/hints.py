"""Which plugins an event concerns, and what they say of a pod that they turned down.

Built from the profiles' ``wakes_on``; asked by the queue. A plugin that turns pods down and declares nothing of its own
hears of everything: a pod that is tried too often is better than one that is forgotten. (upstream: scheduler.go
buildQueueingHintMap)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bayplan.cluster.podinfo import PodInfo
from bayplan.errors import PluginError
from bayplan.framework.events import EXTENDER, Action, Hint, HintFn, Resource, WakeOn
from bayplan.framework.plugin import (
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    ReservePlugin,
)
from bayplan.framework.runner import call
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.framework.events import ClusterEvent
    from bayplan.framework.profile import Profile
    from bayplan.queueing.entry import Queued
    from bayplan.telemetry.metrics import Metrics

_log: Final = get_logger(__name__)

_MAY_TURN_DOWN: Final = (
    PreEnqueuePlugin,
    PreFilterPlugin,
    FilterPlugin,
    ReservePlugin,
    PermitPlugin,
    PreBindPlugin,
)
_EVERYTHING: Final = (WakeOn(Resource.ANY, Action.ALL),)


class Strategy(IntEnum):
    """What becomes of a parked pod after an event."""

    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


class Timing(NamedTuple):
    """Where it is told how long hints take, and what measures it."""

    metrics: Metrics
    timer: Callable[[], float]


class _Extenders(Plugin):
    """Foreign extenders: they cannot say what wakes a pod that they turned down, so everything does."""

    name = EXTENDER


class Listener:
    """A plugin of one profile that wants to hear of an event."""

    __slots__ = ("_hints", "_plugin", "_timing", "name", "profile")

    def __init__(
        self,
        profile: str,
        plugin: Plugin,
        hints: tuple[HintFn | None, ...],
        timing: Timing | None = None,
    ) -> None:
        self.profile = profile
        self.name = plugin.name
        self._plugin = plugin
        self._hints = hints
        self._timing = timing

    def says_queue(self, pod: PodInfo, event: ClusterEvent) -> bool:
        """Whether the pod deserves another attempt; a hint that fails counts as yes, so that no pod is stuck."""
        for hint in self._hints:
            if hint is None:
                return True
            timing = self._timing
            began = timing.timer() if timing is not None else 0.0
            label = self._ask(hint, pod, event)
            if timing is not None:
                seconds = timing.timer() - began
                timing.metrics.hint(self.name, event.label, label, seconds)
            if label != Hint.SKIP.value:
                return True
        return False

    def _ask(self, hint: HintFn, pod: PodInfo, event: ClusterEvent) -> str:
        try:
            said = call(self._plugin, "EventHint", hint, pod, event.old, event.new)
        except PluginError as error:
            _log.error("Event hint failed", error, pod=pod.key, event=event.label)
            return "Error"
        label = Hint.SKIP.value if said is Hint.SKIP else Hint.QUEUE.value
        if debug := _log.v(5):
            debug.info("Hint", pod=pod.key, plugin=self.name, event=event.label, hint=label)
        return label


class Listeners:
    """All plugins of all profiles, by what they want to hear of."""

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        timing: Timing | None = None,
        *,
        extended: bool = False,
    ) -> None:
        """``extended``: foreign extenders may turn pods down, too."""
        self._timing = timing
        self._wakes: list[tuple[str, Plugin, tuple[WakeOn, ...]]] = [
            (name, plugin, declared(plugin))
            for name, profile in profiles.items()
            for plugin in profile.plugins
        ]
        if extended:
            self._wakes += [(name, _Extenders(None, None), _EVERYTHING) for name in profiles]
        self._profiles = frozenset(profiles)
        self._known: dict[tuple[Resource, Action], tuple[Listener, ...]] = {}

    def of(self, event: ClusterEvent) -> tuple[Listener, ...]:
        """The plugins that an event concerns."""
        what = (event.resource, event.action)
        found = self._known.get(what)
        if found is None:
            found = self._known[what] = tuple(self._find(*what))
        return found

    def _find(self, resource: Resource, action: Action) -> list[Listener]:
        found = []
        for profile, plugin, wakes in self._wakes:
            hints = tuple(wake.hint for wake in wakes if wake.covers(resource, action))
            if hints:
                found.append(Listener(profile, plugin, hints, self._timing))
        return found

    def judge(self, queued: Queued, event: ClusterEvent) -> Strategy:
        """What an event means for one pod (upstream: isPodWorthRequeuing)."""
        rejectors = queued.rejectors
        if not rejectors:
            return Strategy.AFTER_BACKOFF
        if event.is_wildcard:
            meant = event.new is None or getattr(event.new, "uid", None) == queued.pod.uid
            return Strategy.AFTER_BACKOFF if meant else Strategy.SKIP
        if queued.profile not in self._profiles:
            return Strategy.AFTER_BACKOFF
        strategy = Strategy.SKIP
        for listener in self.of(event):
            if listener.profile != queued.profile or listener.name not in rejectors:
                continue
            if not listener.says_queue(queued.pod, event):
                continue
            if listener.name in queued.pending_plugins:
                return Strategy.IMMEDIATELY
            strategy = Strategy.AFTER_BACKOFF
            if not queued.pending_plugins:
                break
        return strategy


def declared(plugin: Plugin) -> tuple[WakeOn, ...]:
    """What a plugin wants to hear of."""
    if type(plugin).wakes_on is Plugin.wakes_on:
        return _EVERYTHING if isinstance(plugin, _MAY_TURN_DOWN) else ()
    wakes = tuple(plugin.wakes_on())
    actions = [wake.actions for wake in wakes if wake.resource is Resource.NODE]
    if any(a & Action.ADD for a in actions) and not any(
        a & Action.UPDATE_NODE_TAINT for a in actions
    ):
        # Whoever hears of new nodes hears of changed taints too, unhinted, in Kubernetes (kubernetes/kubernetes#109437).
        wakes = (*wakes, WakeOn(Resource.NODE, Action.UPDATE_NODE_TAINT))
    return wakes


class OneOfMany(PodInfo):
    """A pod that stands for all that are alike, and notes whether it was asked what sets it apart.

    Its uid counts only where the event may be about this very pod: the usual use of it is to find that out.
    """

    __slots__ = ("_apart", "asked_apart")

    def __init__(self, pod: PodInfo, event: ClusterEvent) -> None:
        for slot in PodInfo.__slots__:
            object.__setattr__(self, slot, getattr(pod, slot))
        placed = event.resource is Resource.ASSIGNED_POD
        object.__setattr__(self, "_apart", _APART_BUT_UID if placed else _APART)
        #: Whether the answer holds for this pod alone.
        self.asked_apart = False

    def __getattribute__(self, name: str) -> Any:
        if name in object.__getattribute__(self, "_apart"):
            object.__setattr__(self, "asked_apart", True)
        return object.__getattribute__(self, name)


_APART_BUT_UID: Final = frozenset(
    {"name", "key", "created", "started", "resource_version", "nominated_node"}
)
_APART: Final = _APART_BUT_UID | {"uid"}
