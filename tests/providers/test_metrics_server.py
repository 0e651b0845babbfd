from __future__ import annotations

import json
from typing import Any

import pytest

from bayplan.errors import BayplanError
from bayplan.providers.metrics_server import MetricsServer
from bayplan.providers.source import known_nodes
from bayplan.testing import make_cluster, make_node
from bayplan.testing.virtual_time import run


def read(items: list[dict[str, Any]]) -> Any:
    cluster = make_cluster(make_node("a"), make_node("b").capacity(cpu="8"), make_node("c"))
    asked: list[str] = []

    async def fetch(path: str) -> bytes:
        asked.append(path)
        return json.dumps({"kind": "NodeMetricsList", "items": items}).encode()

    readings = run(MetricsServer(fetch, lambda: known_nodes(cluster)).read())
    assert asked == ["/apis/metrics.k8s.io/v1beta1/nodes"]
    return readings


def item(name: str, **usage: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "timestamp": "2026-01-01T00:00:00Z", "usage": usage}


def test_usage_as_shares_of_what_nodes_offer() -> None:
    items = [
        item("a", cpu="1000000000n", memory="8388608Ki"),
        item("b", cpu="2", memory="16Gi"),
        item("unknown", cpu="1", memory="1Gi"),
    ]
    assert read(items) == {"cpu": {"a": 0.25, "b": 0.25}, "memory": {"a": 0.25, "b": 0.5}}


def test_a_node_that_was_not_measured_is_not_known() -> None:
    assert read([item("a", memory="16Gi")]) == {"cpu": {}, "memory": {"a": 0.5}}


def test_what_is_no_quantity() -> None:
    with pytest.raises(BayplanError, match="quantities must match"):
        read([item("a", cpu="lots")])
