"""``NodeMetrics`` and ``PodMetrics``: what runs where, and what it uses.

Measured when the first one asks in a window of time; whoever asks in the same window hears the same, as from metrics-server.
Reads pods and nodes of the store; found by ``kubectl top`` and by bayplan's metricsServer provider. A pod is measured
while it runs, and a node never uses more than it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from bayplan.embedded.entries import Entry
from bayplan.embedded.kinds import Column, Kind
from bayplan.embedded.metrics.usage import OWN, RESOURCES, Usage
from bayplan.embedded.objects import Object, as_object, at, timestamp
from bayplan.embedded.rules.quantities import nano
from bayplan.embedded.shelf import Shelf

if TYPE_CHECKING:
    from bayplan.embedded.store import Store

GROUP: Final = "metrics.k8s.io"
_VERSION: Final = "v1beta1"
_USED: Final = (
    Column("CPU", "string", ".usage.cpu"),
    Column("Memory", "string", ".usage.memory"),
    Column("Window", "string", ".window"),
)
NODES: Final = Kind(
    GROUP, _VERSION, "nodes", "NodeMetrics", namespaced=False, computed=True, columns=_USED
)
PODS: Final = Kind(GROUP, _VERSION, "pods", "PodMetrics", namespaced=True, computed=True)

_NANO_PER_KI: Final = 10**9 << 10


def serve_metrics(store: Store, usage: Usage) -> None:
    """Serve them from now on."""
    metrics = _Metrics(store, usage)
    store.serve_computed(NODES, metrics.of_nodes)
    store.serve_computed(PODS, metrics.of_pods)


class _Metrics:
    """Both kinds."""

    def __init__(self, store: Store, usage: Usage) -> None:
        self._store = store
        self._usage = usage
        #: The newest measurements, and of when they are.
        self._kept: dict[str, tuple[float, Shelf]] = {}

    def of_nodes(self) -> Shelf:
        """A ``NodeMetrics`` for each node."""
        return self._shelf(NODES, self._nodes)

    def of_pods(self) -> Shelf:
        """A ``PodMetrics`` for each pod that runs."""
        return self._shelf(PODS, self._pods)

    def _nodes(self) -> Iterator[Object]:
        used: dict[str, dict[str, int]] = {}
        for entry, containers in self._running():
            on_node = used.setdefault(entry.fields["spec.nodeName"], dict(OWN))
            for amounts in containers.values():
                for resource, amount in amounts.items():
                    on_node[resource] += amount
        for entry in self._store.shelves["nodes"].entries.values():
            capacity = as_object(at(entry.decode(), "status", "capacity"))
            amounts = {
                resource: min(used.get(entry.name, OWN)[resource], nano(capacity.get(resource, 0)))
                for resource in RESOURCES
            }
            yield self._measured(NODES, entry) | {"usage": _written(amounts)}

    def _pods(self) -> Iterator[Object]:
        for entry, containers in self._running():
            said = [
                {"name": name, "usage": _written(amounts)} for name, amounts in containers.items()
            ]
            yield self._measured(PODS, entry) | {"containers": said}

    def _running(self) -> Iterator[tuple[Entry, dict[str, dict[str, int]]]]:
        at_s = self._at_s()
        for entry in self._store.shelves["pods"].entries.values():
            if entry.fields["status.phase"] == "Running":
                yield entry, self._usage.of_containers(entry.decode(), at_s)

    def _measured(self, kind: Kind, entry: Entry) -> Object:
        """A measurement without its figures."""
        stamp = timestamp(self._at_s())
        meta: Object = {"name": entry.name, "creationTimestamp": stamp}
        if entry.namespace:
            meta["namespace"] = entry.namespace
        if entry.labels:
            meta["labels"] = dict(entry.labels)
        head = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": meta}
        return head | {"timestamp": stamp, "window": f"{self._usage.every_s:g}s"}

    def _at_s(self) -> float:
        return self._usage.measured_at(self._store.clock.now())

    def _shelf(self, kind: Kind, measure: Callable[[], Iterator[Object]]) -> Shelf:
        at_s = self._at_s()
        kept = self._kept.get(kind.shelf)
        if kept is None or kept[0] != at_s:
            shelf = Shelf(kind.shelf, window=0)
            for obj in measure():
                shelf.load(Entry(kind.shelf, obj, self._store.version))
            kept = self._kept[kind.shelf] = (at_s, shelf)
        return kept[1]


def _written(amounts: Mapping[str, int]) -> Object:
    """As metrics-server writes them."""
    return {"cpu": f"{amounts['cpu']}n", "memory": f"{amounts['memory'] // _NANO_PER_KI}Ki"}
