from __future__ import annotations

from typing import Any

from bayplan.policies.app_spread import AppSpread
from bayplan.testing import decide, make_cluster, make_node, make_pod

OBJECTS = (
    make_node("two"),
    make_node("one"),
    make_node("none"),
    make_pod("a", "shop").label("AppID", "x").on("two"),
    make_pod("b", "shop").label("AppID", "x").on("two"),
    make_pod("c", "shop").label("AppID", "x").on("one"),
    make_pod("d", "shop").label("AppID", "y").on("none"),
    make_pod("e", "else").label("AppID", "x").on("none"),
)


def ask(pod: Any, **args: Any) -> Any:
    return decide(pod, make_cluster(*OBJECTS), AppSpread, args={"AppSpread": args})


def test_the_fewer_of_them_the_better() -> None:
    answer = ask(make_pod("p", "shop").label("AppID", "x"))
    assert [answer.score(n, "AppSpread") for n in ("two", "one", "none")] == [0, 50, 100]


def test_a_pod_without_the_label_goes_anywhere() -> None:
    answer = ask(make_pod("p", "shop"), maxPerNode=1)
    assert [answer.score(n, "AppSpread") for n in ("two", "one", "none")] == [100] * 3


def test_no_more_than_the_most() -> None:
    answer = ask(make_pod("p", "shop").label("AppID", "x"), maxPerNode=2)
    assert answer.why_not("two") == "node(s) run enough pods of the application"
    assert answer.why_not("one") == ""


def test_placed_pods_are_counted_at_once() -> None:
    cluster = make_cluster(make_node("a"), make_node("b"))
    nodes = []
    for i in range(4):
        pod = make_pod(f"p{i}").label("AppID", "x")
        args = {"AppSpread": {"maxPerNode": 2}}
        nodes.append(decide(pod, cluster, AppSpread, args=args).node)
        cluster.put(make_pod(f"p{i}").label("AppID", "x").on(nodes[-1]).build())
    assert sorted(nodes) == ["a", "a", "b", "b"]
