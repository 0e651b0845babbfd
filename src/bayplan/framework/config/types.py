"""KubeSchedulerConfiguration v1 as it is written: every field, with upstream's defaults.

Filled by ``decode``; read by ``validation``, ``expand`` and ``arguments``, which make the resolved ``Configuration`` of
``resolved`` out of it. Names and defaults: kube-scheduler/config/v1/types.go, pkg/scheduler/apis/config/v1/defaults.go.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final, TypeVar

import msgspec

from bayplan.framework.config.decode import Int32, Int64

GROUP: Final = "kubescheduler.config.k8s.io"
VERSION: Final = f"{GROUP}/v1"
KIND: Final = "KubeSchedulerConfiguration"

DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"

S = TypeVar("S", bound=msgspec.Struct)


class Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of the file."""


class Plugin(Wire, frozen=True, kw_only=True):
    """A plugin that is enabled or disabled at a point."""

    name: str = ""
    weight: Int32 | None = None


class PluginSet(Wire, frozen=True, kw_only=True):
    """What a file says about one extension point."""

    enabled: tuple[Plugin, ...] = ()
    disabled: tuple[Plugin, ...] = ()


class Plugins(Wire, frozen=True, kw_only=True):
    """What a profile says about its extension points."""

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()

    def at(self, point: str) -> PluginSet:
        """The set of a point by the name that files use, ``preFilter``."""
        found: PluginSet = getattr(self, _ATTRIBUTES[point])
        return found


_ATTRIBUTES: Final = {field.encode_name: field.name for field in msgspec.structs.fields(Plugins)}


class PluginConfig(Wire, frozen=True, kw_only=True):
    """The arguments of one plugin."""

    name: str = ""
    args: Any = None


class KubeSchedulerProfile(Wire, frozen=True, kw_only=True):
    """One scheduler, by the name that pods ask for."""

    scheduler_name: str | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()


class LeaderElection(Wire, frozen=True, kw_only=True):
    """How one of several instances becomes the one that schedules."""

    leader_elect: bool = True
    lease_duration: timedelta = timedelta(seconds=15)
    renew_deadline: timedelta = timedelta(seconds=10)
    retry_period: timedelta = timedelta(seconds=2)
    resource_lock: str = "leases"
    resource_name: str = "kube-scheduler"
    resource_namespace: str = "kube-system"


class ClientConnection(Wire, frozen=True, kw_only=True):
    """How to reach the API server."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: float = 50.0
    burst: Int32 = 100


class ExtenderTLSConfig(Wire, frozen=True, kw_only=True):
    """How to trust an extender and be trusted by it; data beat files."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


class ExtenderManagedResource(Wire, frozen=True, kw_only=True):
    """A resource that an extender answers for."""

    name: str = ""
    ignored_by_scheduler: bool = False


class Extender(Wire, frozen=True, kw_only=True):
    """A webhook that takes part in scheduling. A verb left empty is one it does not serve."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = msgspec.field(name="enableHTTPS", default=False)
    tls_config: ExtenderTLSConfig | None = None
    #: Zero: 5 seconds, see ``with_defaults``.
    http_timeout: timedelta = timedelta()
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


#: What upstream's HTTP client takes where ``httpTimeout`` is zero (pkg/scheduler/extender.go).
DEFAULT_EXTENDER_TIMEOUT: Final = timedelta(seconds=5)


class KubeSchedulerConfiguration(Wire, frozen=True, kw_only=True):
    """The whole file."""

    parallelism: Int32 = 16
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = True
    #: None: as ``enable_profiling``.
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: Int32 = 0
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[KubeSchedulerProfile, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False


#: Fields that people put elsewhere, and where upstream wants them.
MISPLACED: Final = {
    **{
        field.encode_name: "at the top level of the file"
        for field in msgspec.structs.fields(KubeSchedulerConfiguration)
    },
    **{
        field.encode_name: "inside a profile, profiles[]"
        for field in msgspec.structs.fields(KubeSchedulerProfile)
        if field.encode_name != "percentageOfNodesToScore"
    },
    **dict.fromkeys(_ATTRIBUTES, "inside the plugins of a profile, profiles[].plugins"),
}


def with_defaults(config: KubeSchedulerConfiguration) -> KubeSchedulerConfiguration:
    """What upstream fills in after decoding: zero means "the default" in some places, as does no profile at all."""
    profiles = config.profiles or (KubeSchedulerProfile(),)
    if len(profiles) == 1 and profiles[0].scheduler_name is None:
        # Only where there is one profile: several have to say which is which, and validation asks for that.
        named = msgspec.structs.replace(profiles[0], scheduler_name=DEFAULT_SCHEDULER_NAME)
        profiles = (named,)
    contention = config.enable_contention_profiling
    return msgspec.structs.replace(
        config,
        profiles=profiles,
        leader_election=_zero_is_default(config.leader_election),
        client_connection=_zero_is_default(config.client_connection),
        enable_contention_profiling=config.enable_profiling if contention is None else contention,
        extenders=tuple(
            extender
            if extender.http_timeout
            else msgspec.structs.replace(extender, http_timeout=DEFAULT_EXTENDER_TIMEOUT)
            for extender in config.extenders
        ),
    )


def _zero_is_default(struct: S) -> S:
    zeros = {
        field.name: field.default
        for field in msgspec.structs.fields(struct)
        if not getattr(struct, field.name) and getattr(struct, field.name) is not False
    }
    return msgspec.structs.replace(struct, **zeros)
