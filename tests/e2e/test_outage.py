"""The API server goes away under load and comes back; and comes back with a past that nobody can catch up with."""

from __future__ import annotations

import pytest

from bayplan.testing.control_plane import wait_until
from tests.e2e.feeding import Feeder
from tests.e2e.stage import Stage, node, pod

pytestmark = pytest.mark.e2e

#: At ten tries a second, the API server is away for so many tenths of a second at least.
TRIES_IN_VAIN = 50


@pytest.mark.parametrize("ending", ["killed", "in order"])
def test_case_19_an_api_server_that_is_stopped_and_started_under_load(
    stage: Stage, ending: str
) -> None:
    for number in range(10):
        stage.add(node(f"n{number}", cpu="8"))
    scheduler = stage.start_scheduler().wait_ready()
    load = [pod(f"p{number}").requests(cpu="100m") for number in range(600)]

    with Feeder(stage.plane.admin, load[:300]) as feeder:
        stage.wait_some_bound(100)
        stage.plane.stop_api(in_order=ending == "in order")
        with Feeder(stage.plane.admin, load[300:]) as other:
            other.wait_in_vain(TRIES_IN_VAIN)
            stage.plane.start_api()
    stage.wait_bound(*feeder.keys, *other.keys, timeout_s=120)

    assert scheduler.process.running, "it lives through an outage"


def test_case_15_what_happened_while_nobody_could_watch_is_learnt_from_a_list(stage: Stage) -> None:
    """410 Gone: the revisions in between are compacted away, so that deletions are never told."""
    stage.add(node("stays", cpu="2"), node("goes", cpu="2"))
    scheduler = stage.start_scheduler().wait_ready()
    for name, home in (("kept", "stays"), ("ends", "stays"), ("gone", "goes")):
        here = {"kubernetes.io/hostname": home}
        stage.add(pod(name).requests(cpu="1").node_selector(here))
    stage.wait_bound("default/kept", "default/ends", "default/gone")
    stage.add(pod("waits").requests(cpu="1").node_selector({"kubernetes.io/hostname": "stays"}))
    stage.wait_refused("default/waits")

    stage.plane.stop_api()
    with stage.plane.second_api() as other:
        other.delete(pod("ends").manifest, grace_s=0)
        other.delete(pod("gone").manifest, grace_s=0)
        other.delete(node("goes").manifest)
        other.create(node("comes", cpu="1").manifest)
        other.create(node("tainted").taint("for-nobody").manifest)
        stage.plane.etcd.compact()
    stage.plane.start_api()

    # The room of a pod whose end was never told, a node whose beginning was not, and one that is no more.
    assert stage.wait_bound("default/waits") == {"default/waits": "stays"}
    nodes = 'scheduler_cache_size{type="nodes"}'
    wait_until(lambda: scheduler.metric(nodes) == 3, "list of three nodes", 60)
    stage.add(pod("new").requests(cpu="1"))
    assert stage.wait_bound("default/new") == {"default/new": "comes"}
    stage.add(pod("too-many").requests(cpu="1"))
    stage.may_wait.add("default/too-many")
    assert stage.wait_refused("default/too-many").startswith("0/3 nodes are available: ")
