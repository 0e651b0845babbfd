"""The configuration as ``/configz`` shows it: a KubeSchedulerConfiguration with all defaults filled in and plugins expanded.

Reads what ``framework.config`` has made of the file and the flags; used by ``app``.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from bayplan.framework.config.durations import format_duration
from bayplan.telemetry.redaction import REDACTED

if TYPE_CHECKING:
    from bayplan.framework.config import Configuration, ProfileConfig


def kube_configuration(config: Configuration) -> dict[str, Any]:
    """As plain values; keys of extenders are blotted out."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "parallelism": config.parallelism,
        "leaderElection": _plain(config.leader_election),
        "clientConnection": _plain(config.client_connection),
        "enableProfiling": config.enable_profiling,
        "enableContentionProfiling": config.enable_contention_profiling,
        "percentageOfNodesToScore": config.percentage_of_nodes_to_score,
        "podInitialBackoffSeconds": config.pod_initial_backoff_seconds,
        "podMaxBackoffSeconds": config.pod_max_backoff_seconds,
        "profiles": [_profile(profile) for profile in config.profiles],
        "extenders": [_extender(each) for each in config.extenders],
        "delayCacheUntilActive": config.delay_cache_until_active,
    }


def _profile(profile: ProfileConfig) -> dict[str, Any]:
    plugins = {
        point: {
            "enabled": [
                {"name": ref.name, "weight": ref.weight} if ref.weight else {"name": ref.name}
                for ref in refs
            ],
            "disabled": [{"name": "*"}],
        }
        for point, refs in profile.plugins.items()
    }
    return {
        "schedulerName": profile.scheduler_name,
        "percentageOfNodesToScore": profile.percentage_of_nodes_to_score,
        "plugins": plugins,
        "pluginConfig": [
            {"name": name, "args": _plain(args)}
            for name, args in profile.args.items()
            if msgspec.structs.fields(args)
        ],
    }


def _extender(extender: Any) -> Any:
    shown = _plain(extender)
    tls = shown.get("tlsConfig")
    if tls and tls.get("keyData"):
        tls["keyData"] = REDACTED
    return shown


def _plain(value: Any) -> Any:
    return _with_durations(msgspec.to_builtins(value, builtin_types=(timedelta,), enc_hook=repr))


def _with_durations(value: Any) -> Any:
    match value:
        case dict():
            return {key: _with_durations(each) for key, each in value.items()}
        case list() | tuple():
            return [_with_durations(each) for each in value]
        case timedelta():
            return format_duration(value)
        case _:
            return value
