"""From the file to a pod that waits for data and is placed once they come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bayplan.app.assembly import Surroundings
from bayplan.app.providing import pollers_of
from bayplan.errors import ConfigError
from bayplan.framework.config import Configuration, load_config_objects
from bayplan.plugins import default_registry
from bayplan.policies.low_cpu_scheduler import LowCpuScheduler
from bayplan.policies.network_latency_plugin import NetworkLatencyPlugin
from bayplan.telemetry.metrics import Metrics
from bayplan.testing import make_node, make_pod
from bayplan.testing.virtual_time import settle
from tests.runtime.fakes import Bench, on_bench
from tests.runtime.sent import Sent

METRICS = {
    "items": [
        {"metadata": {"name": "busy"}, "usage": {"cpu": "3600m", "memory": "1Gi"}},
        {"metadata": {"name": "idle"}, "usage": {"cpu": "400m", "memory": "1Gi"}},
    ]
}


def config(*providers: dict[str, Any]) -> Configuration:
    return load_config_objects(
        [
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
            },
            {
                "apiVersion": "bayplan.io/v1alpha1",
                "kind": "BayplanConfiguration",
                "providers": list(providers),
            },
        ],
        default_registry(),
    )


def surroundings(bench: Bench, api: Any) -> Surroundings:
    return Surroundings(api=api, clock=bench.clock, metrics=Metrics(), hostname="here", seed=1)


def test_a_pod_rejected_for_want_of_data_is_woken_by_them() -> None:
    async def scenario(bench: Bench) -> None:
        sent = Sent()
        sent.answer = lambda _: METRICS
        loaded = config({"name": "measured", "type": "metricsServer"})
        (poller,) = pollers_of(loaded, bench.scheduler, surroundings(bench, sent))
        bench.add_nodes(make_node("busy"), make_node("idle"))
        bench.api.create(make_pod("web"))
        await settle(lambda: bool(bench.api.condition("default/web")))
        assert "2 no data for 'cpu'" in bench.api.condition("default/web")["message"]
        bench.clock.advance(20)
        await poller.poll()
        await bench.until_bound("default/web")
        assert bench.api.node_of("default/web") == "idle"
        bench.check()

    on_bench(scenario, LowCpuScheduler)


def test_a_plugin_that_wants_fresh_values_gets_them() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        given = {"*": {"latency": 3, "price": 1}}
        loaded = config({"name": "t", "type": "static", "values": given, "maxAge": "1h"})
        (poller,) = pollers_of(loaded, bench.scheduler, surroundings(bench, Sent()))
        times = poller._times
        assert (times.good_for("latency"), times.good_for("price")) == (600, 3600)
        await poller.poll()
        data = bench.scheduler.board.cluster.view.nodes.data
        assert (data("latency").tolist(), data("price").tolist()) == ([3], [1])

    on_bench(scenario, NetworkLatencyPlugin)


@pytest.mark.parametrize(
    "provider",
    [
        {"type": "prometheus", "url": "http://127.0.0.1:9", "queries": {"cpu": "up"}},
        {"type": "nodeLabels", "keys": {"price": "example.com/price"}},
        {"type": "csv", "file": "prices.csv"},
        {"type": "numaTopology"},
    ],
    ids=lambda provider: provider["type"],
)
def test_every_type_can_be_built(provider: dict[str, Any], tmp_path: Path) -> None:
    async def scenario(bench: Bench) -> None:
        loaded = config({"name": "p", **provider})
        (poller,) = pollers_of(loaded, bench.scheduler, surroundings(bench, Sent()))
        assert poller.name == "p"

    on_bench(scenario)


@pytest.mark.parametrize(
    ("provider", "said"),
    [
        ({"type": "static", "values": {"a": {"x": 1}}}, "name: Required value"),
        ({"name": "p", "type": "guess"}, 'type: Invalid value: "guess": use one of metricsServer'),
        ({"name": "p", "type": "csv"}, "file: Required value"),
        (
            {"name": "p", "type": "prometheus", "queries": {"a": "b"}, "url": "localhost:9090"},
            "url: Invalid value",
        ),
        ({"name": "p", "type": "metricsServer", "interval": "10ms"}, "interval: Invalid value"),
        ({"name": "p", "type": "metricsServer", "interval": "10m"}, "maxAge: Invalid value"),
        ({"name": "p", "type": "metricsServer", "every": "10m"}, "unknown field"),
    ],
)
def test_what_is_wrong_is_named(provider: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        config(provider)


def test_a_name_is_used_once() -> None:
    with pytest.raises(ConfigError, match=r"providers\[1\]\.name: Duplicate value"):
        config(*[{"name": "p", "type": "metricsServer"}] * 2)
