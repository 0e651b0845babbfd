"""From the file's ``providers`` to pollers that run beside the scheduler. Called by ``process``."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.client.retry import NEVER
from bayplan.framework.config import live_data
from bayplan.framework.events import Action, ClusterEvent, Resource
from bayplan.providers.metrics_server import MetricsServer
from bayplan.providers.numa_topology import NumaTopology
from bayplan.providers.poller import Poller, Times
from bayplan.providers.prometheus import Prometheus
from bayplan.providers.source import Source, known_nodes
from bayplan.providers.tables import NodeLabels, Static, Table
from bayplan.providers.unreported import Unreported

if TYPE_CHECKING:
    from bayplan.app.assembly import Surroundings
    from bayplan.client.api import Sender
    from bayplan.cluster.cluster import Cluster
    from bayplan.framework.config import Configuration
    from bayplan.runtime.scheduler import Scheduler

#: Nobody waits longer for an answer of metrics-server.
_TIMEOUT_S = 10.0


def pollers_of(config: Configuration, scheduler: Scheduler, around: Surroundings) -> list[Poller]:
    """One for each provider."""
    board = scheduler.board

    def keeps(metric: str) -> float | None:
        # Of now: profiles are exchanged while this runs.
        profiles = [counter.desk.profile for counter in scheduler.counters.values()]
        plugins = [plugin for profile in profiles for plugin in profile.plugins]
        limits = [limit for p in plugins if (limit := p.keeps_for(metric)) is not None]
        return min(limits, default=None)

    def refreshed() -> None:
        event = ClusterEvent(Resource.DATA, Action.UPDATE, custom_label="Data/Updated")
        board.queue.on_event(event, around.clock.monotonic())
        scheduler.loop.wake()

    return [
        Poller(
            provider.name,
            source_of(provider, config.source, board.cluster, around.api),
            Times(provider.interval.total_seconds(), provider.max_age.total_seconds(), keeps),
            board.cluster,
            around.clock,
            refreshed,
        )
        for provider in config.own.providers
    ]


def source_of(
    provider: live_data.Provider, config_file: str, cluster: Cluster, api: Sender
) -> Source:
    """What a provider's settings describe."""
    nodes = partial(known_nodes, cluster)

    async def fetch(path: str) -> bytes:
        request = Request("GET", path, retry=NEVER)
        return await api.send(request, Lane.READ, timeout_s=_TIMEOUT_S)

    match provider.type:
        case live_data.NUMA_TOPOLOGY:
            readings = max(2, math.ceil(provider.max_age / provider.interval))
            unreported = Unreported(cluster.set_data, readings)
            cluster.on_count.append(unreported.on_count)
            return NumaTopology(fetch, unreported)
        case live_data.METRICS_SERVER:
            return MetricsServer(fetch, nodes)
        case live_data.PROMETHEUS:
            return Prometheus(provider.url, provider.queries, provider.node_label)
        case live_data.NODE_LABELS:
            return NodeLabels(provider.keys, nodes)
        case live_data.STATIC:
            return Static(provider.values, nodes)
        case _:
            return Table(Path(config_file).parent / provider.file, nodes)
