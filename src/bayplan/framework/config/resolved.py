"""A configuration as the rest of bayplan uses it: defaults filled in, plugins expanded and ordered, arguments typed.

Built by ``load``; read by ``framework.profile``, ``app``, ``runtime`` and ``cli.check_config``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import msgspec

    from bayplan.framework.config.own import BayplanConfiguration
    from bayplan.framework.config.reloading import Arm
    from bayplan.framework.config.types import ClientConnection, Extender, LeaderElection


class PluginRef(NamedTuple):
    """A plugin at a point. The weight counts at ``score`` (where it is 1 at least) and is 0 elsewhere."""

    name: str
    weight: int = 0


class Place(NamedTuple):
    """Where a file speaks of something."""

    path: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class ProfileConfig:
    """One profile."""

    scheduler_name: str
    #: The profile's own, or that of the file. 0: adaptive.
    percentage_of_nodes_to_score: int
    #: Per point, as files name points, the plugins in the order in which they run.
    plugins: dict[str, tuple[PluginRef, ...]]
    #: Of every plugin in ``order``.
    args: dict[str, msgspec.Struct]
    #: Every plugin to instantiate, those enabled by MultiPoint first, in its order.
    order: tuple[str, ...]
    #: ``module:Class`` of an algorithm that decides in place of the plugins; empty: the plugins decide.
    algorithm: str = ""
    #: Another profile that is tried on this one's pods.
    arm: Arm | None = None
    #: Where the file configures or enables each plugin, for messages about it.
    places: dict[str, Place] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Configuration:
    """The whole configuration."""

    profiles: tuple[ProfileConfig, ...]
    #: In the order of the file. kube-scheduler calls the ignorable ones last.
    extenders: tuple[Extender, ...]
    parallelism: int
    leader_election: LeaderElection
    client_connection: ClientConnection
    pod_initial_backoff_seconds: int
    pod_max_backoff_seconds: int
    percentage_of_nodes_to_score: int
    enable_profiling: bool
    enable_contention_profiling: bool
    delay_cache_until_active: bool
    own: BayplanConfiguration
    #: What works, but hardly as meant; one line each.
    warnings: list[str]
    #: As the file has it; may be older than v1.
    api_version: str
    source: str = ""

    def profile(self, scheduler_name: str) -> ProfileConfig | None:
        """The profile that pods ask for by this name."""
        return next((p for p in self.profiles if p.scheduler_name == scheduler_name), None)
