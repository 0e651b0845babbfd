from __future__ import annotations

from typing import Any

import pytest

from bayplan.errors import ConfigError, PluginError
from bayplan.policies.low_cpu_scheduler import LowCpuScheduler
from bayplan.testing import decide, make_cluster, make_node, make_pod

NAME = "LowCpuScheduler"


def ask(*nodes: Any, pod: Any = None, **args: Any) -> Any:
    return decide(pod or make_pod("web"), make_cluster(*nodes), LowCpuScheduler, args={NAME: args})


@pytest.mark.parametrize(
    ("cpu", "why", "score"),
    [
        pytest.param(0.0, "", 100, id="idle"),
        pytest.param(0.25, "", 75, id="a quarter"),
        pytest.param(0.8, "", 19, id="at the threshold: the sketch cuts 19.99 off"),
        pytest.param(0.81, "cpu usage too high", None, id="above the threshold"),
        pytest.param(1.3, "cpu usage too high", None, id="more than all of it"),
    ],
)
def test_the_sketch(cpu: float, why: str, score: int | None) -> None:
    answer = ask(make_node("n").usage(cpu=cpu), make_node("other").usage(cpu=0.5))
    assert answer.why_not("n") == why
    if score is not None:
        assert answer.score("n", NAME) == score


def test_memory_counts_where_it_has_a_threshold() -> None:
    node = make_node("n").usage(cpu=0.1, memory=0.7)
    assert ask(node).score("n", NAME) == 90
    assert ask(node, memoryThreshold=0.9).score("n", NAME) == 30
    assert ask(node, memoryThreshold=0.6).why_not("n") == "memory usage too high"


@pytest.mark.parametrize(
    ("missing", "why", "score"),
    [("reject", "no data for 'cpu'", None), ("neutral", "", 50), ("skip", "", 0)],
)
def test_a_node_that_nobody_measures(missing: str, why: str, score: int | None) -> None:
    answer = ask(make_node("dark"), make_node("n").usage(cpu=0.3), missing=missing)
    assert answer.why_not("dark") == why
    if score is not None:
        assert answer.score("dark", NAME) == score
        assert answer.score("n", NAME) == (0 if missing == "skip" else 70)


def test_scoring_alone_without_data_fails_the_attempt_and_says_so() -> None:
    class ScoreOnly(LowCpuScheduler):
        name = NAME

        def filter(self, *_: Any) -> None:  # type: ignore[override]
            return None

    cluster = make_cluster(make_node("dark"), make_node("n").usage(cpu=0.3))
    with pytest.raises(PluginError, match=r'Score plugin "LowCpuScheduler": no data for nodes'):
        decide(make_pod("web"), cluster, ScoreOnly)


def test_target_packing_fills_a_node_up_to_the_target() -> None:
    nodes = [make_node(f"at-{cpu}").usage(cpu=cpu / 100) for cpu in (0, 30, 40, 70)]
    answer = ask(*nodes, strategy="targetPacking", target=0.4)
    scores = [answer.score(node.name, NAME) for node in nodes]
    assert scores == [40, 85, 100, 20]
    assert answer.node == "at-40"


def test_risk_balancing_prefers_the_steady_node() -> None:
    steady = make_node("steady").usage(cpu=0.4, cpu_stddev=0.05)
    swings = make_node("swings").usage(cpu=0.3, cpu_stddev=0.5)
    assert ask(steady, swings, strategy="riskBalancing").node == "steady"
    assert ask(steady, swings, strategy="riskBalancing", riskMargin=0).node == "swings"


def test_requests_count_as_the_least_that_is_used() -> None:
    full = make_node("full").usage(cpu=0.01)
    other = make_node("other").usage(cpu=0.5)
    resident = make_pod("r").requests(cpu="3").on("full")
    assert ask(full, other, resident).node == "full"
    answer = ask(full, other, resident, countRequests=True)
    assert answer.score("full", NAME) == 25
    assert answer.node == "other"


def test_a_threshold_is_a_share() -> None:
    with pytest.raises(ConfigError, match="threshold: Invalid value: 80"):
        ask(make_node("n"), threshold=80)
