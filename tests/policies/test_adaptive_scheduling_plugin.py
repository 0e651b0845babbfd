from __future__ import annotations

import logging
from typing import Any

import pytest

from bayplan.cycle.attempt import attempt
from bayplan.cycle.outcome import Placed
from bayplan.errors import ConfigError
from bayplan.policies.adaptive_scheduling_plugin import AdaptiveSchedulingPlugin
from bayplan.testing import decide, make_cluster, make_desk, make_node, make_pod

NAME = "AdaptiveSchedulingPlugin"


def desk_of(cluster: Any, **args: Any) -> tuple[Any, AdaptiveSchedulingPlugin]:
    desk = make_desk(cluster, AdaptiveSchedulingPlugin, args={NAME: {"updateEvery": 1, **args}})
    (policy,) = [p for p in desk.profile.plugins if isinstance(p, AdaptiveSchedulingPlugin)]
    return desk, policy


def place(desk: Any, cluster: Any, name: str, namespace: str, **requests: str) -> None:
    outcome = attempt(cluster.info(make_pod(name, namespace).requests(**requests).build()), desk)
    assert isinstance(outcome, Placed)
    cluster.assume(outcome.pod, outcome.node)


def test_weights_follow_what_a_namespace_asks_for(caplog: pytest.LogCaptureFixture) -> None:
    cluster = make_cluster(*(make_node(f"n{i}") for i in range(4)))
    desk, policy = desk_of(cluster)
    with caplog.at_level(logging.INFO):
        for i in range(3):
            place(desk, cluster, f"c{i}", "compute", cpu="2")
            place(desk, cluster, f"m{i}", "memory", memory="16Gi")
        place(desk, cluster, "last", "other", cpu="100m")
    compute, memory = policy.weights_of("compute"), policy.weights_of("memory")
    assert compute["cpu"] > 50 > compute["memory"]
    assert memory["memory"] > 50 > memory["cpu"]
    assert policy.weights_of("unknown") == {"cpu": 50, "memory": 50}
    assert len(caplog.messages) == len(policy.changes)
    assert "Weights of namespace compute go from {'cpu': 50, 'memory': 50}" in caplog.text
    assert "cpu: the namespace holds 12.5% of the cluster's" in caplog.text


def test_what_goes_away_takes_its_change_with_it() -> None:
    cluster = make_cluster(make_node("n"))
    desk, policy = desk_of(cluster)
    heavy = make_pod("heavy", "shop").requests(cpu="3").on("n").build()
    cluster.put(heavy)
    place(desk, cluster, "a", "other")
    assert policy.weights_of("shop")["cpu"] > 50
    cluster.remove(heavy)
    place(desk, cluster, "b", "other")
    assert policy.weights_of("shop") == {"cpu": 50, "memory": 50}
    assert [change.new for change in policy.changes][-1] == {"cpu": 50, "memory": 50}


def test_bounds_and_pins_hold() -> None:
    cluster = make_cluster(make_node("n"))
    desk, policy = desk_of(
        cluster, minWeight=40, maxWeight=60, pinned={"fixed": {"cpu": 1, "memory": 3}}
    )
    for namespace in ("shop", "fixed"):
        cluster.put(make_pod("p", namespace).requests(cpu="1900m").on("n").build())
    place(desk, cluster, "a", "shop")
    assert policy.weights_of("shop") == {"cpu": 60, "memory": 40}
    assert policy.weights_of("fixed") == {"cpu": 1, "memory": 3}


def test_nothing_moves_before_it_is_time() -> None:
    cluster = make_cluster(make_node("n"))
    desk, policy = desk_of(cluster, updateEvery=1000)
    place(desk, cluster, "first", "shop", cpu="100m")
    before = policy.weights_of("shop")
    cluster.put(make_pod("heavy", "shop").requests(cpu="3").on("n").build())
    place(desk, cluster, "second", "shop", cpu="100m")
    assert policy.weights_of("shop") == before


def test_the_score_is_the_weighed_free_share() -> None:
    cluster = make_cluster(make_node("n"), make_pod("r", "x").requests(cpu="2").on("n"))
    args = {NAME: {"pinned": {"default": {"cpu": 3, "memory": 1}}}}
    answer = decide(make_pod("p").requests(cpu="1"), cluster, AdaptiveSchedulingPlugin, args=args)
    assert answer.score("n", NAME) == int((3 * 0.25 + 1) * 100 / 4)


def test_weights_need_a_resource() -> None:
    with pytest.raises(ConfigError, match="resourceWeights: Invalid value: at least one resource"):
        desk_of(make_cluster(), resourceWeights={"cpu": 0})
