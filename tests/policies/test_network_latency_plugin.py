from __future__ import annotations

from typing import Any

import pytest

from bayplan.errors import ConfigError
from bayplan.policies.network_latency_plugin import NetworkLatencyPlugin
from bayplan.testing import decide, make_cluster, make_node, make_pod

NAME = "NetworkLatencyPlugin"


def ask(*nodes: Any, pod: Any = None, **args: Any) -> Any:
    return decide(
        pod or make_pod("p"), make_cluster(*nodes), NetworkLatencyPlugin, args={NAME: args}
    )


@pytest.mark.parametrize(("ms", "score"), [(0, 100), (2.5, 75), (10, 0)])
def test_the_nearer_the_better(ms: float, score: int) -> None:
    node = make_node("n").usage(latency=ms)
    assert ask(node, make_node("o")).score("n", NAME) == score
    assert ask(node, make_node("o"), latencyWeight=50).score("n", NAME) == score // 2


def test_too_far() -> None:
    answer = ask(make_node("n").usage(latency=10.5), make_node("o").usage(latency=1))
    assert answer.why_not("n") == "network latency is too high"


def test_where_the_traffic_comes_from() -> None:
    pod = make_pod("p").annotation("bayplan.io/latency-from", "z1")
    near = make_node("near").usage(**{"latency": 9, "latency.z1": 1})
    far = make_node("far").usage(**{"latency": 1, "latency.z1": 9})
    assert ask(near, far, pod=pod).node == "near"
    assert ask(near, far).node == "far"


def test_a_table_stands_in_where_nothing_was_measured() -> None:
    pod = make_pod("p").label("bayplan.io/latency-from", "z1")
    nodes = [make_node(zone).zone(zone) for zone in ("z1", "z2", "z3")]
    nodes[0].usage(**{"latency.z1": 4})
    args = {"latencies": {"z1": {"z1": 0, "z2": 5, "z3": 20}}}
    answer = ask(*nodes, pod=pod, **args)
    assert [answer.score(z, NAME) for z in ("z1", "z2")] == [60, 50]
    assert answer.why_not("z3") == "network latency is too high"


def test_an_unmeasured_node_is_in_the_middle_unless_the_file_says_otherwise() -> None:
    nodes = (make_node("dark"), make_node("n").usage(latency=1))
    assert ask(*nodes).score("dark", NAME) == 50
    assert ask(*nodes, missing="reject").why_not("dark") == "no data for 'latency'"


@pytest.mark.parametrize(
    ("interval", "seconds"), [("5m", 600), ("90s", 180), ("1h30m", 10800), ("500ms", 1)]
)
def test_how_long_a_measurement_is_good(interval: str, seconds: float) -> None:
    policy = NetworkLatencyPlugin(measurement_interval=interval)
    assert policy.keeps_for("latency") == policy.keeps_for("latency.z1") == seconds
    assert policy.keeps_for("cpu") is None


@pytest.mark.parametrize("interval", ["", "5", "soon", "5m!"])
def test_what_is_no_interval(interval: str) -> None:
    with pytest.raises(ConfigError, match="measurementInterval: Invalid value"):
        ask(make_node("n"), measurementInterval=interval)
