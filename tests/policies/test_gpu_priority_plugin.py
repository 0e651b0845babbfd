from __future__ import annotations

from typing import Any

import pytest

from bayplan.errors import ConfigError
from bayplan.policies.gpu_priority_plugin import GPUPriorityPlugin
from bayplan.testing import decide, make_cluster, make_node, make_pod

GPU = {"nvidia.com/gpu": "1"}
NODES = (make_node("gpu").capacity(GPU), make_node("plain"))


def ask(pod: Any, **args: Any) -> Any:
    return decide(pod, make_cluster(*NODES), GPUPriorityPlugin, args={"GPUPriorityPlugin": args})


@pytest.mark.parametrize(("weight", "share"), [(100, 1.0), (50, 0.5), (0, 0)])
def test_the_sketch(weight: int, share: float) -> None:
    without = ask(make_pod("web"), gpuWeight=weight)
    assert without.score("gpu", "GPUPriorityPlugin") == int(10 * share)
    assert without.score("plain", "GPUPriorityPlugin") == int(50 * share)
    policy = GPUPriorityPlugin(gpu_weight=weight)
    cluster = make_cluster(*NODES)
    training = cluster.info(make_pod("train").requests(GPU).build())
    scores = [policy.score_node(training, cluster.view.node(name)) for name in ("gpu", "plain")]  # type: ignore[arg-type]
    assert scores == [int(100 * share), 0]


def test_a_pod_with_gpus_goes_where_they_are() -> None:
    policy, cluster = GPUPriorityPlugin(), make_cluster(*NODES)
    training = cluster.info(make_pod("train").requests(GPU).build())
    plain = cluster.view.node("plain")
    assert plain is not None
    rejected = policy.filter_node(training, plain)
    assert rejected is not None
    assert rejected.message == "node(s) have no GPU"
    assert ask(make_pod("train").requests(GPU)).node == "gpu"


def test_a_weight_is_in_percent() -> None:
    with pytest.raises(ConfigError, match="gpuWeight: Invalid value: 101"):
        ask(make_pod("web"), gpuWeight=101)
