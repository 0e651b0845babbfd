"""What has to be watched where a profile goes by scheduling policies. Called by ``assembly``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bayplan.client import resources
from bayplan.cycle.desk import POLICY_PLUGIN
from bayplan.errors import ConfigError, Problem
from bayplan.model.scheduling_policy import ConfigMap, SchedulingPolicy
from bayplan.runtime.ingest.scheduling_policies import Followers, Holders
from bayplan.runtime.scheduler import Feed

if TYPE_CHECKING:
    from bayplan.cluster.cluster import Cluster
    from bayplan.framework.config import Configuration
    from bayplan.runtime.reporting.policies import PolicyReports


@dataclass(frozen=True, slots=True)
class PoliciesWanted:
    """Where policies are."""

    #: ``namespace/name``; empty: in no ConfigMap.
    config_map: str
    custom_resources: bool


def policies_wanted(config: Configuration) -> PoliciesWanted | None:
    """Where the profiles want policies from; None where no profile goes by policies.

    Raises:
        ConfigError: they do not agree.
    """
    found: PoliciesWanted | None = None
    for profile in config.profiles:
        args: Any = profile.args.get(POLICY_PLUGIN)
        if args is None:
            continue
        wanted = PoliciesWanted(args.config_map, args.custom_resources)
        if found is not None and wanted != found:
            place = profile.places[POLICY_PLUGIN]
            message = "all profiles with this plugin need the same arguments for it"
            raise ConfigError([Problem(place.path, message, place.line)], config.source)
        found = wanted
    return found


def policy_feeds(
    wanted: PoliciesWanted | None, cluster: Cluster, followers: Followers, reports: PolicyReports
) -> list[Feed]:
    """What is watched for policies; nothing where no profile goes by them."""
    if wanted is None:
        return []
    feeds = []
    if wanted.config_map:
        namespace, _, name = wanted.config_map.partition("/")
        feeds.append(
            Feed(
                replace(resources.CONFIG_MAPS, only_in=namespace, only_named=name),
                Holders(ConfigMap, cluster, followers, reports),
                f"metadata.name={name}",
            )
        )
    if wanted.custom_resources:
        handler = Holders(SchedulingPolicy, cluster, followers, reports)
        feeds.append(Feed(resources.SCHEDULING_POLICIES, handler, optional=True))
    return feeds
