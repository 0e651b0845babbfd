from __future__ import annotations

from typing import Any

import pytest

from bayplan.errors import ConfigError
from bayplan.policies.cost_optimization_plugin import CostOptimizationPlugin
from bayplan.testing import decide, make_cluster, make_node, make_pod

NAME = "CostOptimizationPlugin"
TYPE = "node.kubernetes.io/instance-type"


def half() -> Any:
    """Half of a node of 4 CPUs and 32 GiB."""
    return make_pod("p").requests(cpu="2", memory="16Gi")


def ask(*nodes: Any, pod: Any = None, **args: Any) -> Any:
    return decide(pod or half(), make_cluster(*nodes), CostOptimizationPlugin, args={NAME: args})


def price(node: Any, pod: Any = None, **args: Any) -> float:
    cluster = make_cluster(node)
    row = cluster.view.node(node.name)
    assert row is not None
    policy = CostOptimizationPlugin(**args)
    return policy.score_node(cluster.info((pod or half()).build()), row) / 1_000_000


@pytest.mark.parametrize(
    ("node", "args", "expected"),
    [
        pytest.param(make_node("n"), {}, 0.26, id="2 cores at 0.05 and 16 GiB at 0.01"),
        pytest.param(make_node("n").usage(price=3), {}, 1.5, id="half of what it really costs"),
        pytest.param(
            make_node("n").label(TYPE, "big"),
            {"instance_prices": {"big": 4}},
            2.0,
            id="half of its list price",
        ),
        pytest.param(
            make_node("n").label(TYPE, "big").label("spot-instance", "true"),
            {"instance_prices": {"big": 4}, "spot_discount": 0.75},
            0.5,
            id="a spot node's list price",
        ),
        pytest.param(
            make_node("n").label("spot-instance", "true").usage(price=3),
            {},
            1.5,
            id="a price that was measured has its discount already",
        ),
        pytest.param(
            make_node("n").labels({TYPE: "big", "cloud-provider": "b"}),
            {"instance_prices": {"big": 4, "b/big": 6}},
            3.0,
            id="one cloud's price",
        ),
    ],
)
def test_what_a_pod_costs(node: Any, args: dict[str, Any], expected: float) -> None:
    assert price(node, **args) == pytest.approx(expected, abs=2e-6)


def test_gpus_have_a_price() -> None:
    gpus = {"nvidia.com/gpu": "2"}
    pod = half().requests({"nvidia.com/gpu": "1"})
    assert price(make_node("n").capacity(gpus), pod) == pytest.approx(2.26, abs=2e-6)


def test_twice_the_price_is_half_the_score() -> None:
    answer = ask(make_node("cheap").usage(price=1), make_node("dear").usage(price=2))
    assert [answer.score(n, NAME) for n in ("cheap", "dear")] == [100, 50]


def test_spot_first() -> None:
    spot = make_node("spot").label("spot-instance", "true").usage(price=1)
    other = make_node("other").usage(price=1)
    args = {"preferSpotInstances": True}
    answer = ask(spot, other, **args)
    assert [answer.score(n, NAME) for n in ("spot", "other")] == [100, 50]
    assert ask(spot, other).score("other", NAME) == 100


def test_a_limit() -> None:
    answer = ask(
        make_node("cheap").usage(price=10), make_node("dear").usage(price=30), maxCostThreshold=10
    )
    assert answer.why_not("dear") == "pod would cost more than 10 per hour"
    assert answer.node == "cheap"


def test_what_costs_nothing_does_not_divide_by_it() -> None:
    answer = ask(make_node("a"), make_node("b").usage(price=0), pod=make_pod("p"))
    assert [answer.score(n, NAME) for n in ("a", "b")] == [100, 100]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"costMetrics": {"disk": 1}}, "costMetrics.disk: Unsupported value: one of cpu, memory"),
        ({"costMetrics": {"cpu": -1}}, "costMetrics.cpu: Invalid value: -1"),
        ({"spotDiscount": 1}, "spotDiscount: Invalid value: 1"),
        ({"maxCostThreshold": -1}, "maxCostThreshold: Invalid value: -1"),
    ],
)
def test_what_is_no_price(args: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        ask(make_node("n"), **args)
