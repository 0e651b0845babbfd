"""A whole cluster in this process: the API, simulated nodes with their agents, and the controllers.

::

    async with EmbeddedCluster(ClusterOptions(shape=of_count(10))) as cluster:
        cluster.api.write_kubeconfig(path)

Started by ``bayplan cluster``, ``bayplan demo`` and by tests. There is no scheduler in it: that is what it is for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Protocol, Self

from bayplan.embedded.agents.fleet import Fleet
from bayplan.embedded.agents.pods import Pace, PodAgents
from bayplan.embedded.controllers.budgets import Budgets
from bayplan.embedded.controllers.deployments import Deployments
from bayplan.embedded.controllers.garbage import Garbage
from bayplan.embedded.controllers.jobs import Jobs
from bayplan.embedded.controllers.pod_notes import PodNotes
from bayplan.embedded.controllers.replica_sets import ReplicaSets
from bayplan.embedded.controllers.stateful_sets import StatefulSets
from bayplan.embedded.controllers.volumes import CLASSES, DEFAULT_CLASS, Volumes
from bayplan.embedded.definitions import install
from bayplan.embedded.metrics.serving import serve_metrics
from bayplan.embedded.metrics.usage import Usage
from bayplan.embedded.nodes.making import make_nodes
from bayplan.embedded.nodes.shape import Shape
from bayplan.embedded.server import EmbeddedApi, EmbeddedOptions
from bayplan.embedded.store import Store

#: The StorageClass that claims get which name none, as every managed cluster has one.
_STANDARD: Final = "standard"


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """How the cluster is to be."""

    shape: Shape = field(default_factory=Shape)
    api: EmbeddedOptions = field(default_factory=EmbeddedOptions)
    pace: Pace = field(default_factory=Pace)
    usage: Usage = field(default_factory=Usage)


class _Part(Protocol):
    def start(self) -> None: ...
    def stop(self) -> None: ...


class EmbeddedCluster:
    """The API and all that lives in it."""

    def __init__(self, options: ClusterOptions | None = None) -> None:
        self.options = options or ClusterOptions()
        self.api = EmbeddedApi(self.options.api)
        serve_metrics(self.api.store, self.options.usage)
        self._parts = living_parts(self.api.store, self.options.pace)

    @property
    def store(self) -> Store:
        """The API's objects."""
        return self.api.store

    async def __aenter__(self) -> Self:
        await self.api.__aenter__()
        install(self.store)
        self._make_nodes()
        self._make_class()
        for part in self._parts:
            part.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for part in reversed(self._parts):
            part.stop()
        await self.api.__aexit__(kind, error, trace)

    def _make_nodes(self) -> None:
        """The nodes of the shape, as far as they are not there from last time."""
        for node in make_nodes(self.options.shape, self.store.clock.now()):
            if not self.store.find("nodes", node["metadata"]["name"]):
                self.store.create("nodes", node)

    def _make_class(self) -> None:
        if not self.store.find(CLASSES, _STANDARD):
            self.store.create(
                CLASSES,
                {
                    "metadata": {"name": _STANDARD, "annotations": {DEFAULT_CLASS: "true"}},
                    "provisioner": "bayplan.io/simulated",
                    "volumeBindingMode": "WaitForFirstConsumer",
                },
            )


def living_parts(store: Store, pace: Pace) -> tuple[_Part, ...]:
    """Everything that lives in the cluster, in the order in which it starts."""
    fleet = Fleet(store)
    notes = PodNotes(store)
    controllers = (
        Deployments(store, notes),
        ReplicaSets(store, notes),
        StatefulSets(store, notes),
        Jobs(store, notes),
        Budgets(store, notes),
        Volumes(store),
        Garbage(store),
    )
    return (fleet, PodAgents(store, fleet, pace), notes, *controllers)
