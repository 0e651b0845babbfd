from __future__ import annotations

from bayplan.policies.custom_filter_plugin import CustomFilterPlugin
from bayplan.testing import decide, make_cluster, make_node, make_pod

ARGS = {"CustomFilterPlugin": {"labels": ["disk"]}}


def test_labels_and_room() -> None:
    cluster = make_cluster(
        make_node("ssd").label("disk", "ssd"),
        make_node("hdd").label("disk", "hdd"),
        make_node("none"),
        make_node("full").label("disk", "ssd"),
        make_pod("r").requests(cpu="3500m").on("full"),
    )
    pod = make_pod("p").label("disk", "ssd").requests(cpu="1")
    answer = decide(pod, cluster, CustomFilterPlugin, args=ARGS)
    assert answer.node == "ssd"
    assert answer.why_not("hdd") == answer.why_not("none") == "custom labels do not match"
    assert answer.why_not("full") != ""


def test_room_is_its_own_business() -> None:
    cluster = make_cluster(make_node("n"))
    node = cluster.view.node("n")
    assert node is not None
    policy = CustomFilterPlugin()
    said = policy.filter_node(cluster.info(make_pod("p").requests(cpu="5").build()), node)
    assert said is not None
    assert said.message == "not enough resources"
    assert policy.filter_node(cluster.info(make_pod("p").requests(cpu="4").build()), node) is None
