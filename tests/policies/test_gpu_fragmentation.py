from __future__ import annotations

from typing import Any

import pytest

from bayplan.cycle.attempt import attempt
from bayplan.cycle.outcome import Placed
from bayplan.errors import ConfigError
from bayplan.policies.gpu_fragmentation import GPUFragmentation
from bayplan.testing import decide, make_cluster, make_desk, make_node, make_pod

NAME = "GPUFragmentation"
GPU = "nvidia.com/gpu"
KEY = "alibabacloud.com/gpu-"
WHOLE = {"typicalPods": [{"cpuMilli": 1000, "gpuMilli": 1000}]}


def sharing(name: str, milli: int, count: int = 1, cpu: str = "0") -> Any:
    pod = make_pod(name).requests(cpu=cpu)
    return pod.annotation(f"{KEY}milli", str(milli)).annotation(f"{KEY}count", str(count))


def gpus(name: str, count: int) -> Any:
    return make_node(name).capacity({GPU: str(count)})


def ask(pod: Any, *objects: Any, **args: Any) -> Any:
    return decide(pod, make_cluster(*objects), GPUFragmentation, args={NAME: args})


def test_a_rest_is_used_before_a_whole_device_is_broken_up() -> None:
    used = sharing("r", 400).on("used")
    answer = ask(sharing("p", 500), gpus("used", 1), gpus("whole", 1), used, **WHOLE)
    # It takes 500 useless thousandths off one node, and would leave 500 useless ones on the other.
    assert [answer.score(n, NAME) for n in ("used", "whole")] == [100, 0]


def test_gpus_without_the_cpu_to_go_with_them_are_of_no_use() -> None:
    starved = make_pod("r").requests(cpu="3500m").on("starved")
    answer = ask(sharing("p", 1000), gpus("starved", 2), gpus("fresh", 2), starved, **WHOLE)
    assert answer.node == "starved"


def test_of_equals_the_one_with_the_least_cpu_left() -> None:
    tight = make_pod("r").requests(cpu="1").on("tight")
    answer = ask(sharing("p", 1000, cpu="1"), gpus("tight", 1), gpus("roomy", 1), tight, **WHOLE)
    assert [answer.score(n, NAME) for n in ("tight", "roomy")] == [100, 98]


def test_a_pod_without_gpus_leaves_the_cpu_that_gpus_need() -> None:
    pod = make_pod("p").requests(cpu="3500m")
    answer = ask(pod, gpus("gpu", 1), make_node("plain"), **WHOLE)
    assert answer.node == "plain"


@pytest.mark.parametrize(
    ("milli", "count", "why"),
    [
        (600, 1, ""),
        (601, 1, "Insufficient GPU devices"),
        (399, 2, ""),
        (400, 2, "Insufficient GPU devices"),
        (100, 3, "Insufficient GPU devices"),
    ],
)
def test_so_many_devices_with_so_much_left(milli: int, count: int, why: str) -> None:
    there = [sharing("a", 400).on("n"), sharing("b", 601).on("n")]
    roomy = gpus("roomy", 8)
    answer = ask(sharing("p", milli, count), gpus("n", 2), roomy, *there, **WHOLE)
    assert answer.why_not("n") == why


def test_models_that_others_want_are_left_to_them() -> None:
    wanted = {"cpuMilli": 0, "gpuMilli": 1000, "nodeLabels": {"model": ["G3", "G2"]}, "weight": 9}
    plain = {"cpuMilli": 0, "gpuMilli": 1000, "weight": 1}
    nodes = [gpus(model, 1).labels({"model": model}) for model in ("G2", "T4")]
    answer = ask(sharing("p", 500), *nodes, typicalPods=[wanted, plain])
    assert answer.score("T4", NAME) == 100
    assert answer.score("G2", NAME) < 50


def test_room_comes_back_when_a_pod_goes() -> None:
    first = sharing("first", 800).on("n").build()
    cluster = make_cluster(gpus("n", 1), first)
    assert cluster.view.nodes.device_free().tolist() == [[200]]
    assert decide(sharing("p", 300), cluster, GPUFragmentation).node == ""
    cluster.remove(first)
    assert decide(sharing("p", 300), cluster, GPUFragmentation).node == "n"


def test_preemption_sees_the_devices_that_its_victims_leave() -> None:
    cluster = make_cluster(gpus("n", 1), sharing("low", 800).uid("u").on("n"))
    desk = make_desk(cluster, GPUFragmentation)
    outcome = attempt(cluster.info(sharing("high", 900).priority(5).build()), desk)
    assert not isinstance(outcome, Placed)
    assert getattr(outcome, "nominated", None) is not None


def test_common_pods_are_learned_from_those_that_are_placed() -> None:
    placed = [sharing(f"r{i}", 1000, cpu="1").on("other") for i in range(4)]
    objects = (gpus("other", 4), gpus("used", 1), gpus("whole", 1), sharing("u", 400).on("used"))
    assert ask(sharing("p", 500), *objects, *placed, updateEvery=1).node == "used"


def test_a_share_is_at_most_a_device() -> None:
    with pytest.raises(ConfigError, match=r"typicalPods\[0\]: Invalid value"):
        ask(make_pod("p"), typicalPods=[{"cpuMilli": 1, "gpuMilli": 1001}])
