"""What pods ask for, as it is listed for whoever adds up clusters."""

from __future__ import annotations

import itertools

import pytest

from bayplan.model import requests
from bayplan.model.decode import decode_as
from bayplan.model.pod import Pod
from bayplan.serve.pod_resources import pod_resources
from bayplan.telemetry.exposition import PodResource
from bayplan.testing import make_cluster, make_node, make_pod


def spec(text: str) -> Pod:
    return decode_as(Pod, f'{{"metadata": {{"name": "p"}}, "spec": {text}}}'.encode())


LIMITED = """{"containers": [
  {"name": "a", "resources": {"requests": {"cpu": "1500u"}, "limits": {"cpu": "1", "memory": "1Gi"}}},
  {"name": "b", "resources": {"limits": {"cpu": "500m"}}}],
 "initContainers": [{"name": "i", "resources": {"limits": {"memory": "3Gi", "example.com/x": "2"}}}],
 "overhead": {"cpu": "250m", "ephemeral-storage": "1Gi"}}"""


def test_limits_add_up_and_overhead_counts_where_there_is_a_limit() -> None:
    assert requests.for_display(spec(LIMITED).spec, limits=True) == {
        "cpu": 1.75,
        "memory": 3 * 2**30,
        "example.com/x": 2,
    }


def test_requests_are_not_rounded() -> None:
    assert requests.for_display(spec(LIMITED).spec) == {
        "cpu": pytest.approx(0.2515),
        "ephemeral-storage": 2**30,
    }


def test_limits_of_the_pod_as_a_whole_take_their_place() -> None:
    whole = spec(
        '{"containers": [{"name": "a", "resources": {"limits": {"cpu": "1"}}}],'
        ' "resources": {"limits": {"cpu": "3"}}}'
    )
    assert requests.for_display(whole.spec, limits=True) == {"cpu": 3}


def test_placed_and_pending_pods_are_listed_and_those_under_way_have_no_node_yet() -> None:
    cluster = make_cluster(make_node("n"), make_pod("there").requests(cpu="1").priority(5).on("n"))
    under_way = cluster.info(make_pod("under-way").requests(cpu="2").build())
    cluster.assume(under_way, "n")
    waiting = cluster.info(make_pod("waiting").requests(memory="1Gi").scheduler("s").build())
    listed = pod_resources(cluster, {pod.key: pod for pod in (under_way, waiting)})
    assert set(listed(False)) == {
        PodResource("default", "there", "n", "", "5", "cpu", 1.0),
        PodResource("default", "under-way", "", "", "", "cpu", 2.0),
        PodResource("default", "waiting", "", "s", "", "memory", 2.0**30),
    }
    assert list(listed(True)) == []


def test_pods_may_come_and_go_while_they_are_listed() -> None:
    cluster = make_cluster(
        make_node("n"), *(make_pod(f"p{i}").requests(cpu="1").on("n") for i in range(3))
    )
    rows = iter(pod_resources(cluster, {})(False))
    first = next(rows)
    for i in range(3):
        if f"p{i}" != first.pod:
            cluster.remove_pod("default", f"p{i}", "")
    cluster.put(make_pod("new").requests(cpu="1").on("n").build())
    assert [row.pod for row in itertools.chain([first], rows)] == [first.pod]
