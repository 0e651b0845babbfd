"""What is available on each NUMA node, from NodeResourceTopology objects (``topology.node.k8s.io/v1alpha2``)."""

from __future__ import annotations

from typing import Final

import msgspec

from bayplan.model import quantity
from bayplan.providers.source import Fetch, Readings
from bayplan.providers.unreported import Unreported

PATH: Final = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"


class _Resource(msgspec.Struct):
    name: str
    available: str | int = "0"


class _Zone(msgspec.Struct):
    name: str
    type: str = ""
    resources: list[_Resource] = []


class _Metadata(msgspec.Struct):
    name: str


class _Topology(msgspec.Struct):
    metadata: _Metadata
    zones: list[_Zone] = []


class _List(msgspec.Struct):
    items: list[_Topology] = []


class NumaTopology:
    """Asks the API server for what node agents have written there."""

    def __init__(self, fetch: Fetch, unreported: Unreported) -> None:
        self._fetch = fetch
        self._unreported = unreported
        self._before: dict[str, _Topology] = {}

    async def read(self) -> Readings:
        answer = msgspec.json.decode(await self._fetch(PATH), type=_List)
        readings: dict[str, dict[str, float]] = {}
        for topology in answer.items:
            zones = sorted((z for z in topology.zones if z.type == "Node"), key=_number)
            for number, zone in enumerate(zones):
                for resource in zone.resources:
                    exact = quantity.milli_value if resource.name == "cpu" else quantity.value
                    metric = f"numa.{number}.{resource.name}"
                    available = float(exact(str(resource.available)))
                    readings.setdefault(metric, {})[topology.metadata.name] = available
        now = {topology.metadata.name: topology for topology in answer.items}
        changed = {node for node, found in now.items() if found != self._before.get(node)}
        self._before = now
        return readings | self._unreported.read(changed)


def _number(zone: _Zone) -> tuple[int, str]:
    """``node-10`` comes after ``node-9``."""
    digits = zone.name.rpartition("-")[2]
    return (int(digits) if digits.isascii() and digits.isdigit() else 0, zone.name)
