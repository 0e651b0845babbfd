from __future__ import annotations

from bayplan.policies.load_balancing_plugin import LoadBalancingPlugin
from bayplan.testing import decide, make_cluster, make_node, make_pod

NAME = "LoadBalancingPlugin"


def test_the_scarcest_resource_counts() -> None:
    cluster = make_cluster(
        make_node("cpu"),
        make_node("memory"),
        make_node("none"),
        make_pod("a").requests(cpu="2").on("cpu"),
        make_pod("b").requests(memory="24Gi").on("memory"),
    )
    answer = decide(make_pod("p").requests(cpu="1"), cluster, LoadBalancingPlugin)
    assert [answer.score(n, NAME) for n in ("cpu", "memory", "none")] == [25, 25, 75]
    assert answer.node == "none"


def test_what_is_measured_counts_where_it_is_more() -> None:
    cluster = make_cluster(make_node("busy").usage(cpu=0.9), make_node("n").usage(cpu=0.0))
    answer = decide(make_pod("p").requests(cpu="400m"), cluster, LoadBalancingPlugin)
    assert [answer.score(n, NAME) for n in ("busy", "n")] == [0, 90]
