from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayplan import ClusterView, CycleState, NodeInfo, PodInfo, PreFilterPlugin, Reads
from bayplan.cluster.audit import check
from bayplan.cluster.cluster import Cluster
from bayplan.cycle.attempt import attempt
from bayplan.cycle.desk import Desk
from bayplan.cycle.outcome import Placed, Unplaced
from bayplan.model.decode import decode
from bayplan.plugins import default_registry
from bayplan.testing import make_cluster, make_node, make_pod
from bayplan.testing.builders import PodBuilder
from bayplan.testing.scheduler import desk_of_profile

PROFILE: dict[str, Any] = {
    "plugins": {
        "multiPoint": {"enabled": [{"name": "CapacityScheduling"}]},
        "postFilter": {"enabled": [{"name": "CapacityScheduling"}], "disabled": [{"name": "*"}]},
    }
}


def quota(namespace: str, cpu: int, most: int | None = None, **min_: str) -> Any:
    spec: dict[str, Any] = {"min": {"cpu": cpu, **min_}}
    if most is not None:
        spec["max"] = {"cpu": most}
    return decode(
        {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "ElasticQuota",
            "metadata": {"name": "quota", "namespace": namespace},
            "spec": spec,
        }
    )


def pods(namespace: str, count: int, cpu: int = 1, node: str = "n", priority: int = 0) -> Any:
    return [
        make_pod(f"{namespace}{i}", namespace).on(node).requests(cpu=str(cpu)).priority(priority)
        for i in range(count)
    ]


def node(cpu: int, name: str = "n") -> Any:
    return make_node(name).capacity(cpu=str(cpu), memory="64Gi", pods="110")


def desk_of(cluster: Cluster) -> Desk:
    return desk_of_profile(cluster, PROFILE, default_registry())


def decide(pod: PodBuilder, cluster: Cluster) -> Placed | Unplaced:
    outcome = attempt(cluster.info(pod.build()), desk_of(cluster))
    check(cluster)
    assert isinstance(outcome, Placed | Unplaced), outcome
    return outcome


def said(outcome: Placed | Unplaced) -> str:
    return outcome.message if isinstance(outcome, Unplaced) else ""


def victims(outcome: Placed | Unplaced) -> list[str]:
    nominated = outcome.nominated if isinstance(outcome, Unplaced) else None
    return [victim.key for victim in nominated.victims] if nominated is not None else []


def test_what_others_leave_may_be_borrowed() -> None:
    cluster = make_cluster(node(16), quota("a", 4, 8), quota("b", 4), *pods("a", 6))
    assert isinstance(decide(make_pod("p", "a").requests(cpu="2"), cluster), Placed)


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        pytest.param(
            [quota("a", 4, 6), quota("b", 40), *pods("a", 6)],
            "quota of namespace a: cpu 6 of max 6 used",
            id="its own maximum",
        ),
        pytest.param(
            [quota("a", 4), quota("b", 4), *pods("a", 6), *pods("b", 2)],
            "quotas of all namespaces: cpu 8 of 8 used, borrowed 2 by a",
            id="all that there is to borrow",
        ),
    ],
)
def test_who_may_have_no_more(objects: list[Any], message: str) -> None:
    cluster = make_cluster(node(64), *objects)
    outcome = decide(make_pod("p", "a").requests(cpu="1"), cluster)
    assert said(outcome).startswith(f"0/1 nodes are available: {message}")
    assert outcome.decision.picture().rejection is not None


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([quota("b", 1)], id="no quota of its own"),
        pytest.param([quota("a", 4, 8)], id="a resource that nobody asks for"),
    ],
)
def test_a_quota_limits_only_what_it_names(objects: list[Any]) -> None:
    cluster = make_cluster(node(64), *objects, *pods("a", 2))
    pod = make_pod("p", "a").requests(memory="10Gi")
    assert isinstance(decide(pod, cluster), Placed)


def test_a_namespace_within_its_minimum_takes_back_what_was_borrowed() -> None:
    cluster = make_cluster(node(8), quota("a", 4), quota("b", 4), *pods("a", 8, priority=50))
    outcome = decide(make_pod("p", "b").requests(cpu="2"), cluster)
    assert len(victims(outcome)) == 2
    assert {key[0] for key in victims(outcome)} == {"a"}


def test_room_is_not_enough_if_the_quotas_are_used_up() -> None:
    """A node is free, and still somebody has to give back what was borrowed."""
    cluster = make_cluster(
        node(8), node(8, "free"), quota("a", 4), quota("b", 4), *pods("a", 8, priority=50)
    )
    outcome = decide(make_pod("p", "b").requests(cpu="2"), cluster)
    assert len(victims(outcome)) == 2


def test_one_above_its_minimum_evicts_its_own_pods_of_lower_priority() -> None:
    cluster = make_cluster(
        node(8),
        quota("a", 2, 5),
        quota("b", 6),
        *pods("a", 5, priority=1),
        *pods("b", 3, priority=-5),
    )
    outcome = decide(make_pod("p", "a").requests(cpu="1").priority(9), cluster)
    (victim,) = victims(outcome)
    assert victim.startswith("a/")
    assert not victims(decide(make_pod("p", "a").requests(cpu="1").priority(1), cluster))


def test_nobody_takes_back_from_one_that_has_borrowed_nothing() -> None:
    cluster = make_cluster(node(4), quota("a", 4), quota("b", 4), *pods("a", 4))
    assert not victims(decide(make_pod("p", "b").requests(cpu="1").priority(9), cluster))


def test_pods_with_and_without_quota_leave_each_other_alone() -> None:
    cluster = make_cluster(node(4), quota("a", 2), quota("b", 4), *pods("a", 2), *pods("free", 2))
    assert victims(decide(make_pod("p", "z").requests(cpu="1").priority(9), cluster)) == [
        "free/free0"
    ]
    assert not victims(decide(make_pod("p", "z").requests(cpu="3").priority(9), cluster))
    assert victims(decide(make_pod("p", "a").requests(cpu="1").priority(9), cluster)) == ["a/a0"]


def test_a_disruption_budget_is_respected_as_long_as_another_pod_can_go() -> None:
    budget = decode(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "keep", "namespace": "a"},
            "spec": {"selector": {"matchLabels": {"kept": "yes"}}},
            "status": {"disruptionsAllowed": 0},
        }
    )
    kept = [pod.label("kept", "yes") for pod in pods("a", 6)]
    cluster = make_cluster(
        node(6),
        node(6, "m"),
        quota("a", 4),
        quota("b", 8),
        budget,
        *kept,
        *[make_pod(f"loose{i}", "a").on("m").requests(cpu="1") for i in range(6)],
    )
    outcome = decide(make_pod("p", "b").requests(cpu="3"), cluster)
    assert {key.removesuffix(key[-1]) for key in victims(outcome)} == {"a/loose"}


def test_room_that_was_made_for_another_pod_is_as_good_as_taken() -> None:
    cluster = make_cluster(node(16), quota("a", 4), quota("b", 4), *pods("a", 5))
    waiting = make_pod("w", "b").requests(cpu="3").nominated("n")
    cluster.put(waiting.build())
    outcome = decide(make_pod("p", "a").requests(cpu="1"), cluster)
    assert "cpu 8 of 8 used" in said(outcome)
    # Its own promise is not in its way, nor in that of a pod of its namespace that goes first.
    assert isinstance(decide(waiting, cluster), Placed)
    assert isinstance(decide(make_pod("x", "b").requests(cpu="3").priority(5), cluster), Placed)


@pytest.mark.parametrize(("nodes", "cpu"), [(4, 2), (4, 4), (1, 16)])
def test_what_leaves_for_one_pod_need_not_leave_for_the_next(nodes: int, cpu: int) -> None:
    """Four pods take back what was borrowed, one after the other, before anybody has left."""
    cluster = make_cluster(
        *(node(cpu, f"n{i}") for i in range(nodes)), quota("a", 4, 8), quota("b", 4)
    )
    for i in range(8):
        home = f"n{i * nodes // 8}"
        cluster.put(make_pod(f"a{i}", "a").on(home).requests(cpu="1").build())
    desk = desk_of(cluster)
    leaving: list[str] = []
    for i in range(4):
        pod = cluster.info(make_pod(f"p{i}", "b").requests(cpu="1").uid(f"u{i}").build())
        outcome = attempt(pod, desk)
        assert isinstance(outcome, Unplaced)
        assert outcome.nominated is not None
        cluster.nominations.put(pod, outcome.nominated.node)
        cluster.nominations.claim(pod.key, victims(outcome))
        leaving += victims(outcome)
    assert len(leaving) == len(set(leaving)) == 4


def test_nobody_is_evicted_where_it_is_enough_to_wait() -> None:
    cluster = make_cluster(node(9), quota("a", 4, 8), quota("b", 4), *pods("a", 5), *pods("b", 2))
    other = make_pod("w", "b").requests(cpu="1").nominated("n")
    cluster.put(other.build())
    cluster.nominations.claim("b/w", ["a/a0"])
    outcome = decide(make_pod("p", "b").requests(cpu="1"), cluster)
    assert victims(outcome) == []
    assert said(outcome).endswith("preemption: waiting for pods that leave for others")
    cluster.remove_pod("a", "a0")
    assert isinstance(decide(make_pod("p", "b").requests(cpu="1"), cluster), Placed)


class Counts(PreFilterPlugin):
    """Wants to hear of every pod that is supposed gone, so that nodes are tried one by one."""

    reads = Reads.NOTHING

    def prefilter(self, pod: PodInfo, view: ClusterView, state: CycleState) -> None:
        return None

    def remove_pod(
        self, pod: PodInfo, removed: PodInfo, node: NodeInfo, view: ClusterView, state: CycleState
    ) -> None:
        return None


ONE_BY_ONE: dict[str, Any] = {
    "plugins": {
        **PROFILE["plugins"],
        "multiPoint": {"enabled": [{"name": "CapacityScheduling"}, {"name": "Counts"}]},
    }
}


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("abz"), st.sampled_from("nmo"), st.integers(1, 3), st.integers(0, 2)
        ),
        max_size=14,
    ),
    st.tuples(st.sampled_from("abz"), st.integers(1, 4), st.integers(0, 3)),
    st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(2, 9)),
    st.booleans(),
)
def test_nodes_together_and_one_by_one(
    there: list[tuple[str, str, int, int]],
    asked: tuple[str, int, int],
    limits: tuple[int, int, int],
    promised: bool,
) -> None:
    namespace, cpu, priority = asked
    answers = []
    for profile in (PROFILE, ONE_BY_ONE):
        cluster = make_cluster(
            *(node(6, name) for name in "nmo"),
            quota("a", limits[0], max(limits[0], limits[2])),
            quota("b", limits[1]),
        )
        for i, (who, where, takes, rank) in enumerate(there):
            pod = make_pod(f"p{i}", who).on(where).requests(cpu=str(takes)).priority(rank)
            cluster.put(pod.build())
        if promised:
            waits = make_pod("w", "b").requests(cpu="1").nominated("m").priority(2)
            cluster.put(waits.build())
            cluster.nominations.claim("b/w", ["a/p0", "b/p1", "z/p2", "a/gone"])
        registry = default_registry()
        registry.add(Counts)
        desk = desk_of_profile(cluster, profile, registry)
        pod = make_pod("p", namespace).requests(cpu=str(cpu)).priority(priority)
        outcome = attempt(cluster.info(pod.build()), desk)
        assert isinstance(outcome, Placed | Unplaced), outcome
        answers.append((outcome.decision.node, victims(outcome)))
    assert answers[0] == answers[1]


def test_what_is_kept_of_a_class_follows_the_quotas() -> None:
    cluster = make_cluster(node(64), quota("a", 2, 2), quota("b", 9))
    desk = desk_of(cluster)
    decided = []
    for i in range(4):
        pod = cluster.info(make_pod(f"p{i}", "a").requests(cpu="1").build())
        outcome = attempt(pod, desk)
        decided.append(isinstance(outcome, Placed))
        if isinstance(outcome, Placed):
            cluster.assume(pod, outcome.node)
        if i == 2:
            cluster.put(quota("a", 2, 3))
    assert decided == [True, True, False, True]
    check(cluster)
