"""The cluster's states: what comes, changes, is assumed, confirmed, forgotten and goes, in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bayplan.cluster.audit import audit, check
from bayplan.cluster.cluster import Cluster
from bayplan.cluster.nodes import NodeTable
from bayplan.errors import AuditError
from bayplan.testing import PodBuilder, make_cluster, make_node, make_pod

INT64_MAX = (1 << 63) - 1
HOST = "kubernetes.io/hostname"


def _cpu(cluster: Cluster, node: str) -> int:
    view = cluster.view
    row = cluster.nodes.row_of[node]
    return int(view.nodes.requested("cpu")[row])


def _web(name: str = "web", cpu: str = "1") -> PodBuilder:
    return make_pod(name).requests(cpu=cpu).uid(f"uid-{name}")


def test_a_placed_pod_takes_its_requests_and_gives_them_back() -> None:
    cluster = make_cluster(make_node("a"), _web().on("a"))
    assert _cpu(cluster, "a") == 1000
    cluster.remove_pod("default", "web", "uid-web")
    assert _cpu(cluster, "a") == 0
    check(cluster)


def test_an_assumed_pod_counts_until_it_is_forgotten() -> None:
    cluster = make_cluster(make_node("a"))
    info = cluster.info(_web().build())
    cluster.assume(info, "a")
    assert _cpu(cluster, "a") == 1000
    cluster.forget(info)
    assert _cpu(cluster, "a") == 0
    cluster.forget(info)  # twice does no harm
    check(cluster)


def test_a_pod_cannot_be_assumed_twice() -> None:
    cluster = make_cluster(make_node("a"))
    info = cluster.info(_web().build())
    cluster.assume(info, "a")
    with pytest.raises(ValueError, match="default/web is placed already"):
        cluster.assume(info, "a")


def test_a_confirmed_pod_is_not_forgotten() -> None:
    cluster = make_cluster(make_node("a"))
    info = cluster.info(_web().build())
    cluster.assume(info, "a")
    cluster.put(_web().on("a").build())
    cluster.forget(info)
    assert _cpu(cluster, "a") == 1000
    check(cluster)


def test_news_of_a_pending_pod_that_is_being_bound_keep_its_room() -> None:
    cluster = make_cluster(make_node("a"))
    cluster.assume(cluster.info(_web().build()), "a")
    cluster.put(_web().label("new", "label").build())
    assert _cpu(cluster, "a") == 1000


def test_a_pod_that_ended_up_elsewhere_moves() -> None:
    cluster = make_cluster(make_node("a"), make_node("b"))
    cluster.assume(cluster.info(_web().build()), "a")
    cluster.put(_web().on("b").build())
    assert (_cpu(cluster, "a"), _cpu(cluster, "b")) == (0, 1000)
    check(cluster)


def test_a_finished_pod_holds_nothing() -> None:
    pod = _web().on("a")
    cluster = make_cluster(make_node("a"), pod)
    pod.manifest["status"]["phase"] = "Succeeded"
    cluster.put(pod.build())
    assert _cpu(cluster, "a") == 0
    check(cluster)


def test_old_news_are_ignored() -> None:
    cluster = make_cluster(make_node("a"), _web(cpu="2").on("a").version("7"))
    cluster.put(_web(cpu="1").on("a").version("6").build())
    assert _cpu(cluster, "a") == 2000
    cluster.put(_web(cpu="3").on("a").version("10").build())
    assert _cpu(cluster, "a") == 3000


def test_a_deleted_pod_does_not_come_back_by_late_news() -> None:
    cluster = make_cluster(make_node("a"), _web().on("a"))
    cluster.remove_pod("default", "web", "uid-web")
    cluster.put(_web().on("a").build())
    assert _cpu(cluster, "a") == 0


def test_a_successor_of_the_same_name_is_another_pod() -> None:
    cluster = make_cluster(make_node("a"), _web().on("a"))
    successor = _web(cpu="2").uid("uid-next").on("a")
    cluster.put(successor.build())
    cluster.remove_pod("default", "web", "uid-web")  # news of the predecessor's end arrive late
    assert _cpu(cluster, "a") == 2000
    check(cluster)


def test_pods_may_arrive_before_their_node() -> None:
    cluster = make_cluster(_web().on("a"))
    assert cluster.view.node("a") is None
    assert cluster.view.node_count == 0
    cluster.put(make_node("a").build())
    node = cluster.view.node("a")
    assert node is not None
    assert node.free["cpu"] == 3000
    check(cluster)


def test_pods_may_outlive_their_node() -> None:
    cluster = make_cluster(make_node("a"), _web().on("a"))
    cluster.remove_node("a")
    assert cluster.view.node("a") is None
    check(cluster)
    cluster.put(make_node("a").capacity(cpu="8").build())
    node = cluster.view.node("a")
    assert node is not None
    assert node.free["cpu"] == 7000
    cluster.remove_node("a")
    cluster.remove_pod("default", "web", "uid-web")
    assert "a" not in cluster.nodes.row_of
    check(cluster)


def test_a_row_is_used_again_without_traces() -> None:
    cluster = make_cluster(make_node("a").zone("z").taint("t").cordoned().image("i", 5))
    cluster.set_data("a", "cpu", 0.5)
    row = cluster.nodes.row_of["a"]
    cluster.remove_node("a")
    cluster.put(make_node("b").build())
    assert cluster.nodes.row_of["b"] == row
    node = cluster.view.node("b")
    assert node is not None
    assert (node.zone, node.taints, node.unschedulable, dict(node.images)) == ("", (), False, {})
    assert cluster.view.nodes.data("cpu")[row] != cluster.view.nodes.data("cpu")[row]


def test_sums_saturate_and_recover() -> None:
    huge = _web("huge", cpu=str(INT64_MAX)).on("a")
    cluster = make_cluster(make_node("a"), huge, _web("huge2", cpu=str(INT64_MAX)).on("a"))
    cluster.put(_web("small").on("a").build())
    assert _cpu(cluster, "a") == INT64_MAX
    check(cluster)
    cluster.remove_pod("default", "huge", "uid-huge")
    check(cluster)
    cluster.remove_pod("default", "huge2", "uid-huge2")
    assert _cpu(cluster, "a") == 1000
    check(cluster)


def test_indexes_answer_by_resource_and_by_zone() -> None:
    cluster = make_cluster(
        make_node("small").capacity(cpu="2").zone("z1"),
        make_node("big").capacity(cpu="16").zone("z1"),
        make_node("gpu").capacity({"nvidia.com/gpu": "4"}).zone("z2"),
        _web(cpu="14").on("big"),
    )
    view = cluster.view
    assert {node.name for node in view.nodes_with("cpu", 2000)} == {"small", "big", "gpu"}
    assert {node.name for node in view.nodes_with("cpu", 3000)} == {"gpu"}
    assert [node.name for node in view.nodes_with("nvidia.com/gpu", 1)] == ["gpu"]
    assert {node.name for node in view.in_zone("z1")} == {"small", "big"}
    assert view.in_zone("z9") == []


def test_what_pods_have_in_common_is_kept_once_and_let_go() -> None:
    cluster = make_cluster(make_node("a"), *(_web(f"w{i}").on("a") for i in range(20)))
    assert (len(cluster.shapes), len(cluster.kins)) == (1, 1)
    for i in range(20):
        cluster.remove_pod("default", f"w{i}", f"uid-w{i}")
    assert len(cluster.shapes) == 0


@pytest.mark.parametrize(
    ("flip", "found"),
    [
        pytest.param(lambda nodes: nodes.requested[0], "node a: requested cpu", id="requested"),
        pytest.param(lambda nodes: nodes.pod_count, "node a: pod count", id="pods"),
        pytest.param(lambda nodes: nodes.nonzero_cpu, "node a: nonzero cpu", id="for scoring"),
        pytest.param(lambda nodes: nodes.taint_set, "node a: the column of taints", id="taints"),
        pytest.param(
            lambda nodes: nodes.labels._columns[HOST], f"node a: label {HOST} is 'a'", id="labels"
        ),
    ],
)
def test_the_recount_finds_a_flipped_column(flip: Callable[[NodeTable], Any], found: str) -> None:
    cluster = make_cluster(make_node("a"), make_node("b").taint("t"), _web().on("a"))
    cluster.view.label_value(HOST, "a")
    flip(cluster.nodes).data[cluster.nodes.row_of["a"]] += 1
    (difference,) = audit(cluster)
    assert difference.startswith(found)
    with pytest.raises(AuditError, match="node a"):
        check(cluster)


def test_the_recount_finds_an_image_that_is_not_there() -> None:
    cluster = make_cluster(make_node("a").image("app:1", 5), make_node("b"))
    state = cluster.nodes.images.get("app:1")
    assert state is not None
    state.add(cluster.nodes.row_of["b"])
    assert audit(cluster) == ["image app:1 is on rows [0, 1], reported by [0]"]


def test_a_what_if_leaves_the_cluster_alone() -> None:
    cluster = make_cluster(make_node("a"), _web().on("a").host_port(80))
    row = cluster.nodes.row_of["a"]
    trial = cluster.view.trial(cluster.view.nodes.rows[row : row + 1])
    pod = trial.pods_on(0)[0]
    trial.remove_pod(0, pod)
    assert (int(trial.requested("cpu")[0]), trial.pods_on(0)) == (0, [])
    assert list(trial.port_holders("TCP", 80)) == []
    trial.add_pod(0, pod)
    assert int(trial.pod_count[0]) == 1
    assert _cpu(cluster, "a") == 1000
    check(cluster)
