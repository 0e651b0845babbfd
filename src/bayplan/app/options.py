"""What a command line asks for, and the configuration that comes of it and of the file.

Made by ``cli``; read by ``process``. A field that is None was not given: then the file holds, else the default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from bayplan.client.leases import ElectionSettings
from bayplan.errors import ConfigError, Problem
from bayplan.framework.config import Configuration, load_config
from bayplan.framework.config.load import default_config
from bayplan.framework.config.types import ClientConnection, LeaderElection
from bayplan.framework.registry import ENTRY_POINTS
from bayplan.plugins import default_registry
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.framework.registry import Registry

_log: Final = get_logger(__name__)

_DEFAULT_LEASE: Final = LeaderElection().resource_name


@dataclass(frozen=True, slots=True)
class Lease:
    """``--leader-elect`` and its like."""

    elect: bool | None = None
    duration: timedelta | None = None
    renew_deadline: timedelta | None = None
    retry_period: timedelta | None = None
    name: str | None = None
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class Serving:
    """Where health, metrics and the configuration are shown; kube-scheduler's flags."""

    bind_address: str = "0.0.0.0"
    #: 0: nothing is served.
    secure_port: int = 10259
    #: Plain HTTP, for health and metrics; 0: none.
    http_port: int = 0
    http_bind_address: str = "127.0.0.1"
    cert_file: str = ""
    key_file: str = ""
    cert_dir: str = ""
    #: Whom to ask who somebody is and what he may do; empty: the scheduler's own kubeconfig.
    authentication_kubeconfig: str = ""
    authorization_kubeconfig: str = ""
    #: Signs clients' certificates; empty: looked up in the cluster, unless that is skipped.
    client_ca_file: str = ""
    authentication_skip_lookup: bool = False
    always_allow_paths: Sequence[str] = ("/healthz", "/readyz", "/livez")
    #: What ``/flagz`` shows; None: the gate ComponentFlagz is off.
    flags: Mapping[str, str] | None = field(default_factory=dict)
    #: Whether the gate ComponentStatusz is on.
    statusz: bool = True


@dataclass(frozen=True, slots=True)
class Options:
    """The command line of ``bayplan run``."""

    config: Path | None = None
    kubeconfig: str = ""
    master: str = ""
    context: str = ""
    #: Run this profile alone, or call the only one so.
    scheduler_name: str = ""
    lease: Lease = Lease()
    serving: Serving = Serving()
    plugin_dirs: Sequence[Path] = ()
    #: A logging policy; None: the one beside ``config``, if there is one.
    logging: Path | None = None
    #: A TracingConfiguration; None: no spans.
    tracing: Path | None = None
    #: Decide and say so, but write nothing.
    dry_run: bool = False
    #: Serve default-scheduler though a kube-scheduler seems to be at work.
    take_over: bool = False
    #: Requests per second; None: the file's, or no limit.
    qps: float | None = None
    burst: int | None = None


def known_plugins(generation: int = 1) -> Registry:
    """The plugins that a configuration can name without saying where they are."""
    registry = default_registry(generation)
    registry.add_entry_points(_installed())
    return registry


@cache
def _installed() -> tuple[EntryPoint, ...]:
    """What packages publish: looked up once, since that reads a file of every package."""
    return tuple(entry_points(group=ENTRY_POINTS))


def configure(options: Options, registry: Registry | None = None) -> tuple[Configuration, Registry]:
    """The configuration, and the plugins that it can name.

    Raises:
        ConfigError: with everything that is wrong.
    """
    registry = known_plugins() if registry is None else registry
    for directory in options.plugin_dirs:
        registry.add_directory(directory)
    if options.config is None:
        config = default_config(registry)
    else:
        config = load_config(options.config, registry)
    for warning in config.warnings:
        _log.warning("Configuration", warning=warning)
    config = _named(config, options.scheduler_name)
    election = _election(config, options.lease)
    return replace(config, leader_election=election), registry


def _named(config: Configuration, name: str) -> Configuration:
    """The configuration with the profile that ``--scheduler-name`` wants."""
    if not name:
        return config
    chosen = config.profile(name)
    if chosen is None:
        if len(config.profiles) > 1:
            names = ", ".join(profile.scheduler_name for profile in config.profiles)
            problem = Problem("", f"--scheduler-name {name}: there is no such profile, but {names}")
            raise ConfigError([problem], config.source)
        chosen = replace(config.profiles[0], scheduler_name=name)
    return replace(config, profiles=(chosen,))


def _election(config: Configuration, lease: Lease) -> LeaderElection:
    given = {
        "leader_elect": lease.elect,
        "lease_duration": lease.duration,
        "renew_deadline": lease.renew_deadline,
        "retry_period": lease.retry_period,
        "resource_name": lease.name,
        "resource_namespace": lease.namespace,
    }
    if lease.name is None and config.leader_election.resource_name == _DEFAULT_LEASE:
        # kube-scheduler's own lease is taken only where somebody asks for it by flag.
        given["resource_name"] = own_lease(config)
    changes = {name: value for name, value in given.items() if value is not None}
    return msgspec.structs.replace(config.leader_election, **changes)


def own_lease(config: Configuration) -> str:
    """What the lease is called where nobody has named it."""
    return f"bayplan-{config.profiles[0].scheduler_name}"


def election_settings(election: LeaderElection) -> ElectionSettings:
    """The lease and its rhythm.

    Raises:
        ConfigError: the numbers do not go together.
    """
    settings = ElectionSettings(
        election.resource_name,
        election.resource_namespace,
        election.lease_duration.total_seconds(),
        election.renew_deadline.total_seconds(),
        election.retry_period.total_seconds(),
    )
    problems = settings.problems()
    if problems:
        raise ConfigError([Problem("leaderElection", problem) for problem in problems])
    return settings


def rate_limit(connection: ClientConnection, options: Options) -> tuple[float, int]:
    """Requests per second, 0 for no limit, and how many at once after a pause.

    kube-scheduler's default of 50 protects API servers of ten years ago; it holds only where somebody wrote another
    number. What protects the API server is its own priority and fairness.
    """
    default = ClientConnection()
    qps, burst = connection.qps, connection.burst
    if (qps, burst) == (default.qps, default.burst):
        qps = 0.0
    if options.qps is not None:
        qps = options.qps
    return max(qps, 0.0), max(options.burst or burst, 1)
