from __future__ import annotations

from typing import Any

import pytest

from bayplan.errors import ConfigError
from bayplan.policies.business_score_plugin import BusinessScorePlugin
from bayplan.testing import decide, make_cluster, make_node, make_pod

NAME = "BusinessScorePlugin"
TYPE = "node.kubernetes.io/instance-type"


def score(node: Any, **args: Any) -> int:
    pod = make_pod("p").requests(cpu="2")  # half of the node
    answer = decide(pod, make_cluster(node), BusinessScorePlugin, args={NAME: args})
    return answer.score("n", NAME)


@pytest.mark.parametrize(
    ("price", "cost"), [(2, 100), (2.02, 80), (4, 80), (4.02, 60), (10, 60), (10.02, 20)]
)
def test_the_sketch_s_steps_of_cost(price: float, cost: int) -> None:
    node = make_node("n").label(TYPE, "t")
    assert score(node, instancePrices={"t": price}, weights={"cost": 100}) == cost


def test_the_sketch_s_sum() -> None:
    rated = make_node("n").labels(
        {
            "bayplan.io/cpu-performance": "90",
            "bayplan.io/network-performance": "60",
            "bayplan.io/storage-performance": "31",
            "bayplan.io/reliability": "99",
        }
    )
    # int(100 * 0.4) + int(60 * 0.35) + int(99 * 0.25), as the sketch cuts each part.
    assert score(rated) == 40 + 21 + 24
    assert score(make_node("n")) == 40 + 17 + 12


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ({"price": 1}, "weights.price: Unsupported value: one of cost, performance, reliability"),
        ({"cost": 80, "reliability": 30}, "weights: Invalid value: they add up to more than 100"),
        ({"cost": -1}, "weights.cost: Invalid value: -1"),
    ],
)
def test_weights_are_in_percent(weights: dict[str, int], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        score(make_node("n"), weights=weights)
