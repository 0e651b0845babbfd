from __future__ import annotations

from typing import Any

import pytest

from bayplan.cluster.policy import Policy
from bayplan.errors import ConfigError
from bayplan.policies.scheduling_policy import SchedulingPolicy
from bayplan.testing import decide, make_cluster, make_desk, make_node, make_pod

KEY = "bayplan.io/policy"


def ask(policy: Policy | None, *nodes: Any) -> Any:
    cluster = make_cluster(*nodes)
    if policy is not None:
        cluster.policies.put_all(policy.source, {policy.name: policy})
    cluster.policies.serve("default-scheduler")
    pod = make_pod("p").requests(cpu="1", memory="1Gi").annotation(KEY, "pol")
    return decide(pod, cluster, SchedulingPolicy)


def test_weights_take_the_place_of_the_profiles() -> None:
    much_cpu = make_node("cpu").capacity({"cpu": "16", "memory": "4Gi"})
    much_memory = make_node("memory").capacity({"cpu": "4", "memory": "16Gi"})
    for weights, best in (({"cpu": 100}, "cpu"), ({"memory": 100}, "memory")):
        policy = Policy("pol", "ConfigMap a/b", weights=tuple(weights.items()))
        answer = ask(policy, much_cpu, much_memory)
        assert answer.node == best
        assert answer.score(best, "NodeResourcesFit") == 93


def test_a_pod_waits_for_a_policy_that_is_not_there() -> None:
    answer = ask(None, make_node("a"))
    assert 'scheduling policy "pol" does not exist' in answer.message
    assert "Preemption is not helpful for scheduling" in answer.message


def test_and_for_one_that_cannot_be_used() -> None:
    answer = ask(Policy("pol", "ConfigMap a/b", problem="spec: it is wrong"), make_node("a"))
    assert 'scheduling policy "pol" cannot be used: spec: it is wrong' in answer.message


def test_where_policies_are_has_to_be_a_name() -> None:
    with pytest.raises(ConfigError, match="write namespace/name"):
        make_desk(
            make_cluster(), SchedulingPolicy, args={"SchedulingPolicy": {"configMap": "alone"}}
        )
