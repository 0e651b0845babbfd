from __future__ import annotations

from typing import Any

import pytest

from bayplan.errors import ConfigError
from bayplan.policies.energy_plugin import EnergyPlugin
from bayplan.testing import decide, make_cluster, make_node, make_pod

NAME = "EnergyPlugin"


def ask(*objects: Any, **args: Any) -> Any:
    pod = make_pod("p").requests(cpu="1")
    return decide(pod, make_cluster(*objects), EnergyPlugin, args={NAME: args})


def test_an_empty_node_has_to_be_switched_on() -> None:
    answer = ask(make_node("off"), make_node("on"), make_pod("r").on("on"))
    # A quarter of 200 watts, and 100 more for the empty one.
    assert [answer.score(n, NAME) for n in ("off", "on")] == [33, 100]


def test_hardware_differs() -> None:
    label = "node.kubernetes.io/instance-type"
    classes = {"lean": {"idleWatts": 10, "maxWatts": 50}}
    answer = ask(make_node("n"), make_node("lean").label(label, "lean"), powerClasses=classes)
    assert answer.node == "lean"
    assert answer.score("n", NAME) == 20 * 100 // 150


@pytest.mark.parametrize(
    ("degrees", "score", "why"),
    [
        (60, 100, ""),
        (70, 100, ""),
        (74.5, 55, ""),
        (80, 0, ""),
        (80.5, None, "temperature is too high"),
    ],
)
def test_heat(degrees: float, score: int | None, why: str) -> None:
    answer = ask(make_node("n").usage(temperature=degrees), make_node("other"))
    assert answer.why_not("n") == why
    if score is not None:
        assert answer.score("n", NAME) == score


def test_an_unknown_temperature() -> None:
    nodes = (make_node("dark"), make_node("n").usage(temperature=20))
    assert ask(*nodes).score("dark", NAME) == 100
    assert ask(*nodes, missing="reject").why_not("dark") == "no data for 'temperature'"


def test_a_node_draws_no_less_when_it_works() -> None:
    with pytest.raises(ConfigError, match="maxWatts: Invalid value: 50"):
        ask(make_node("n"), maxWatts=50)
