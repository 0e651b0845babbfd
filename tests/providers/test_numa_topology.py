from __future__ import annotations

import json
from typing import Any

from bayplan.providers.numa_topology import NumaTopology
from bayplan.providers.unreported import Unreported
from bayplan.testing.virtual_time import run


def zone(name: str, kind: str = "Node", **available: Any) -> dict[str, Any]:
    return {
        "name": name,
        "type": kind,
        "resources": [{"name": key, "available": value} for key, value in available.items()],
    }


def test_available_amounts_by_numa_node() -> None:
    zones = [
        zone("node-10", cpu="500m"),
        zone("node-9", cpu=4, memory="1Gi"),
        zone("core-0", "Core", cpu="1"),
    ]
    items = [
        {"metadata": {"name": "a"}, "zones": zones},
        {"metadata": {"name": "b"}, "zones": [zone("node-0", cpu="2")]},
        {"metadata": {"name": "c"}},
    ]

    async def fetch(path: str) -> bytes:
        assert path == "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"
        return json.dumps({"items": items}).encode()

    unreported = Unreported(lambda _node, _metric, _value: None, 3)
    assert run(NumaTopology(fetch, unreported).read()) == {
        "numa.0.cpu": {"a": 4000.0, "b": 2000.0},
        "numa.0.memory": {"a": float(2**30)},
        "numa.1.cpu": {"a": 500.0},
    }
