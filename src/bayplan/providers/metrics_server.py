"""CPU and memory as metrics-server measures them (``metrics.k8s.io/v1beta1``), as shares of what nodes offer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from bayplan.model import quantity
from bayplan.providers.source import Fetch, KnownNode, Readings

PATH: Final = "/apis/metrics.k8s.io/v1beta1/nodes"


class _Metadata(msgspec.Struct):
    name: str


class _NodeMetrics(msgspec.Struct):
    metadata: _Metadata
    usage: dict[str, str] = {}


class _List(msgspec.Struct):
    items: list[_NodeMetrics] = []


class MetricsServer:
    """Asks the API server, behind which metrics-server answers."""

    def __init__(self, fetch: Fetch, nodes: Callable[[], Iterable[KnownNode]]) -> None:
        self._fetch = fetch
        self._nodes = nodes

    async def read(self) -> Readings:
        answer = msgspec.json.decode(await self._fetch(PATH), type=_List)
        offers = {node.name: node.allocatable for node in self._nodes()}
        readings: dict[str, dict[str, float]] = {"cpu": {}, "memory": {}}
        for item in answer.items:
            offered = offers.get(item.metadata.name)
            if offered is None:
                continue
            if offered["cpu"] and "cpu" in item.usage:
                cores = quantity.nano_value(item.usage["cpu"]) / 1e9
                readings["cpu"][item.metadata.name] = cores / (offered["cpu"] / 1000)
            if offered["memory"] and "memory" in item.usage:
                used = quantity.value(item.usage["memory"])
                readings["memory"][item.metadata.name] = used / offered["memory"]
        return readings
