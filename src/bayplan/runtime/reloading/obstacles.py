"""What stands in the way of taking a configuration over without a restart. Asked by ``reloader``."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bayplan.queueing.hints import declared

if TYPE_CHECKING:
    from bayplan.framework.config import Configuration
    from bayplan.framework.profile import Profile
    from bayplan.runtime.reloading.exchange import Generation
    from bayplan.runtime.scheduler import Scheduler

#: What the process, its connections and its queue were built from.
_FIXED: Final = {
    "extenders": "extenders",
    "parallelism": "parallelism",
    "leader_election": "leaderElection",
    "client_connection": "clientConnection",
    "pod_initial_backoff_seconds": "podInitialBackoffSeconds",
    "pod_max_backoff_seconds": "podMaxBackoffSeconds",
    "delay_cache_until_active": "delayCacheUntilActive",
}
#: What of the BayplanConfiguration can change; everything else in it is looked at once, at the start.
_FREE: Final = ("plugin_dirs", "profiles", "reload")


def obstacles(
    present: Generation, wanted: Generation, scheduler: Scheduler, watched: frozenset[str]
) -> Iterator[str]:
    """Every reason why not; ``watched``: the kinds that this process watches because a plugin asked for them."""
    yield from _fixed_settings(present.config, wanted.config)
    yield from _queue_order(present, wanted)
    for name in sorted(set(present.desks) - set(wanted.desks)):
        waiting = _waiting(scheduler, name)
        if waiting:
            yield f"profiles: {name} is gone, and {waiting} pods wait for it"
    for name, desk in wanted.desks.items():
        yield from _unheard(name, desk.profile)
        asked = {kind.value for plugin in desk.profile.plugins for kind in plugin.watches}
        for kind in sorted(asked - watched):
            yield f"profiles: {name} needs {kind} objects, which are watched from the start or not at all"


def _unheard(name: str, profile: Profile) -> Iterator[str]:
    """Plugins that cannot say what wakes their pods: the queue asks in the middle of the exchange, which must not fail."""
    for plugin in profile.plugins:
        try:
            declared(plugin)
        except Exception as error:  # noqa: BLE001 - a user's code; whatever it raises is a reason
            said = f"{type(error).__name__}: {error}"
            yield f"profiles: {name}: wakes_on of {plugin.name} raised {said}"


def _fixed_settings(present: Configuration, wanted: Configuration) -> Iterator[str]:
    for field, name in _FIXED.items():
        if getattr(present, field) != getattr(wanted, field):
            yield f"{name}: a change needs a restart"
    for info in msgspec.structs.fields(present.own):
        before, after = getattr(present.own, info.name), getattr(wanted.own, info.name)
        if info.name not in _FREE and before != after:
            yield f"{info.encode_name}: a change needs a restart"
    if _policy_args(present) != _policy_args(wanted):
        yield "profiles: SchedulingPolicy and its arguments need a restart"


def _policy_args(config: Configuration) -> list[Any]:
    found = [profile.args.get("SchedulingPolicy") for profile in config.profiles]
    return sorted({repr(args) for args in found if args is not None})


def _queue_order(present: Generation, wanted: Generation) -> Iterator[str]:
    before, after = _any_profile(present), _any_profile(wanted)
    old, new = before.queue_sort[0], after.queue_sort[0]
    if old.name != new.name:
        yield f"queueSort: {new.name} in place of {old.name}: the queue is in that one's order"
    elif msgspec.to_builtins(old.args, enc_hook=repr) != msgspec.to_builtins(
        new.args, enc_hook=repr
    ):
        yield f"queueSort: {new.name} has other arguments: the queue is in the order of the old ones"
    elif _text_of(type(old)) != _text_of(type(new)):
        yield f"queueSort: {new.name} sorts otherwise than before: the queue is in the old order"


def _any_profile(generation: Generation) -> Profile:
    return next(iter(generation.desks.values())).profile


def _text_of(plugin: type) -> dict[str, Any]:
    """What the methods of a class do."""
    return {
        name: _code(member.__code__)
        for name, member in vars(plugin).items()
        if isinstance(member, FunctionType)
    }


def _code(code: CodeType) -> tuple[Any, ...]:
    """What a function does, wherever it stands in its file."""
    constants = tuple(_code(c) if isinstance(c, CodeType) else c for c in code.co_consts)
    return (code.co_code, constants, code.co_names, code.co_varnames)


def _waiting(scheduler: Scheduler, name: str) -> int:
    """Pods that ask for this scheduler, wherever they are on their way."""
    return sum(
        (pod.spec.scheduler_name or "default-scheduler") == name
        for pod in scheduler.pods.pending.values()
    )
