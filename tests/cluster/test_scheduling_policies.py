from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bayplan.cluster.cluster import Cluster
from bayplan.cluster.podinfo import PodInfo
from bayplan.cluster.policy import Policy
from bayplan.cluster.scheduling_policies import joined
from bayplan.model.node_selectors import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    compile_node_selector,
)
from bayplan.model.pod import NodeAffinity, Toleration
from bayplan.testing import make_pod

KEY = "bayplan.io/policy"
SPOT = Toleration("spot", "Exists", effect="NoSchedule")


def requirement(key: str, value: str, *, inside: bool) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key, "In" if inside else "NotIn", (value,))


requirements = st.builds(
    requirement, st.sampled_from("ab"), st.sampled_from("xy"), inside=st.booleans()
)
terms = st.builds(NodeSelectorTerm, st.lists(requirements, max_size=2).map(tuple))
selectors = st.none() | st.builds(NodeSelector, st.lists(terms, max_size=3).map(tuple))
labels = st.dictionaries(st.sampled_from("ab"), st.sampled_from("xyz"))


def fits(selector: NodeSelector | None, node: dict[str, str]) -> bool:
    return selector is None or compile_node_selector(selector).matches(node, "node")


@given(selectors, selectors, labels)
def test_nodes_have_to_suit_the_pod_and_the_policy(
    own: NodeSelector | None, policy: NodeSelector | None, node: dict[str, str]
) -> None:
    both = joined(NodeAffinity(own), NodeAffinity(policy))
    assert fits(both.required, node) == (fits(own, node) and fits(policy, node))


def cluster_with(*policies: Policy, served: bool = True) -> Cluster:
    cluster = Cluster()
    if served:
        cluster.policies.serve("default-scheduler")
    for policy in policies:
        cluster.policies.put_all(policy.source, {policy.name: policy})
    return cluster


def info(cluster: Cluster, policy: str = "p", name: str = "web") -> PodInfo:
    return cluster.info(make_pod(name).label(KEY, policy).build())


def test_pods_of_one_policy_are_alike_and_of_another_are_not() -> None:
    cluster = cluster_with(Policy("p", "ConfigMap a/b", "1", tolerations=(SPOT,)))
    one, two = info(cluster), info(cluster, name="other")
    assert one.alike == two.alike
    assert one.spec.tolerations == (SPOT,)
    cluster.policies.put_all("ConfigMap a/b", {"p": Policy("p", "ConfigMap a/b", "2")})
    three = cluster.info_again(one)
    assert three is not one
    assert three.spec.tolerations == ()
    assert three.alike != one.alike
    assert cluster.info_again(three) is three


def test_a_pod_with_a_node_goes_by_no_policy_any_more() -> None:
    cluster = cluster_with(Policy("p", "ConfigMap a/b", tolerations=(SPOT,)))
    placed = cluster.info(make_pod("web").label(KEY, "p").on("n").build())
    assert placed.policy is None
    assert placed.spec.tolerations == ()


def test_an_object_of_the_kind_goes_before_a_config_map() -> None:
    cluster = cluster_with(
        Policy("p", "SchedulingPolicy p", weights=(("cpu", 1),)),
        Policy("p", "ConfigMap a/b", weights=(("cpu", 2),)),
    )
    applied = info(cluster).policy
    assert applied is not None
    assert applied.weights == (("cpu", 1),)
    cluster.policies.put_all("SchedulingPolicy p", {})
    applied = info(cluster).policy
    assert applied is not None
    assert applied.weights == (("cpu", 2),)


def test_other_schedulers_pods_are_left_alone() -> None:
    cluster = cluster_with(Policy("p", "ConfigMap a/b", tolerations=(SPOT,)), served=False)
    assert info(cluster).policy is None
