"""What the watch of pods tells, and what becomes of it: columns, queue, events, in every order that a watch can have."""

from __future__ import annotations

import pytest

from bayplan.testing import make_node, make_pod
from bayplan.testing.builders import PodBuilder
from tests.runtime.ingest.told import Scene


@pytest.fixture
def scene() -> Scene:
    scene = Scene()
    scene.nodes.on_put(make_node("a").build())
    scene.nodes.on_put(make_node("b").build())
    scene.take()
    return scene


def pods_on(scene: Scene, node: str) -> list[str]:
    info = scene.cluster.view.node(node)
    assert info is not None
    return sorted(pod.name for pod in info.pods)


def test_a_pending_pod_of_ours_is_queued_and_one_of_somebody_else_is_counted(scene: Scene) -> None:
    scene.put(make_pod("ours"))
    scene.put(make_pod("theirs").scheduler("other"), uid="u2")
    assert scene.take() == ["add ours"]
    assert scene.pods.foreign == {"default/theirs"}


def test_a_pod_that_we_bound_is_confirmed(scene: Scene) -> None:
    scene.put(make_pod("web"))
    scene.assume("web", "a")
    scene.put(make_pod("web").on("a"))
    assert scene.take() == ["add web", "remove web", "AssignedPodAdd"]
    assert pods_on(scene, "a") == ["web"]
    assert scene.pods.pending == {}


def test_a_pod_that_somebody_else_bound_moves_there(scene: Scene) -> None:
    scene.put(make_pod("web"))
    scene.assume("web", "a")
    scene.put(make_pod("web").on("b"))
    scene.take()
    assert (pods_on(scene, "a"), pods_on(scene, "b")) == ([], ["web"])


def test_the_same_version_again_tells_nobody(scene: Scene) -> None:
    scene.put(make_pod("web").on("a"))
    scene.take()
    scene.version -= 1
    scene.put(make_pod("web").on("a"))
    assert scene.take() == []


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        pytest.param(
            make_pod("web").on("a"),
            make_pod("web").on("a").label("x", "y"),
            ["AssignedPodUpdatePodLabel"],
            id="labels",
        ),
        pytest.param(
            make_pod("web").on("a").requests(cpu="2"),
            make_pod("web").on("a").requests(cpu="1"),
            ["AssignedPodUpdatePodScaleDown"],
            id="less is asked for",
        ),
        pytest.param(
            make_pod("web").on("a"),
            make_pod("web").on("a").annotation("x", "y"),
            ["AssignedPodUpdate"],
            id="something else",
        ),
    ],
)
def test_a_placed_pod_that_changes(
    scene: Scene, before: PodBuilder, after: PodBuilder, told: list[str]
) -> None:
    scene.put(before)
    scene.take()
    scene.put(after)
    assert scene.take() == told
    assert pods_on(scene, "a") == ["web"]


def test_an_event_of_a_change_has_both_states(scene: Scene) -> None:
    scene.put(make_pod("web").on("a").requests(cpu="2").label("x", "1"))
    scene.put(make_pod("web").on("a").requests(cpu="1").label("x", "2"))
    event = scene.queue.events[-1]
    assert (event.old.labels, event.new.labels) == ({"x": "1"}, {"x": "2"})
    assert event.old.spec.node_name == event.new.spec.node_name == "a"
    requested = event.old.spec.containers[0].resources.requests
    assert requested["cpu"] in {"2", "2000m"}


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_holds_nothing(scene: Scene, phase: str) -> None:
    scene.put(make_pod("web").on("a").requests(cpu="2"))
    ended = make_pod("web").on("a").requests(cpu="2")
    ended.manifest["status"]["phase"] = phase
    scene.take()
    scene.put(ended)
    assert scene.take() == ["AssignedPodDelete"]
    assert pods_on(scene, "a") == []


def test_a_placed_pod_that_is_deleted_frees_its_node(scene: Scene) -> None:
    scene.put(make_pod("web").on("a"))
    scene.take()
    scene.gone("web")
    assert scene.take() == ["AssignedPodDelete"]
    assert pods_on(scene, "a") == []


def test_a_deletion_of_what_is_not_there_tells_nobody(scene: Scene) -> None:
    scene.gone("web")
    assert scene.take() == []


def test_a_pending_pod_that_is_deleted_leaves_the_queue(scene: Scene) -> None:
    settled: list[str] = []
    scene.pods.on_settled.append(settled.append)
    scene.put(make_pod("web"))
    scene.take()
    scene.gone("web")
    assert scene.take() == ["remove web"]
    assert settled == ["u1"]


def test_an_assumed_pod_that_is_deleted_frees_its_room_and_wakes_others(scene: Scene) -> None:
    scene.put(make_pod("web"))
    scene.assume("web", "a")
    scene.take()
    scene.gone("web")
    assert scene.take() == ["remove web", "AssignedPodDelete"]
    assert pods_on(scene, "a") == []


def test_an_assumed_pod_whose_deletion_has_begun_frees_its_room(scene: Scene) -> None:
    scene.put(make_pod("web"))
    scene.assume("web", "a")
    scene.take()
    scene.put(make_pod("web").terminating())
    assert scene.take() == ["AssignedPodDelete"]
    assert pods_on(scene, "a") == []


def test_news_of_an_assumed_pod_change_nothing(scene: Scene) -> None:
    scene.put(make_pod("web"))
    scene.assume("web", "a")
    scene.take()
    scene.put(make_pod("web").label("x", "y"))
    assert scene.take() == []
    assert pods_on(scene, "a") == ["web"]


def test_a_pod_of_the_same_name_is_another_pod(scene: Scene) -> None:
    scene.put(make_pod("web"), uid="u1")
    scene.assume("web", "a")
    scene.take()
    scene.put(make_pod("web"), uid="u2")
    assert scene.take() == ["remove web", "AssignedPodDelete", "add web"]
    # The deletion of the first one comes late, and is not about the second.
    scene.gone("web", uid="u1")
    assert scene.take() == []
    assert scene.pods.pending["default/web"].uid == "u2"


def test_a_placed_pod_is_replaced_by_a_pending_one_of_its_name(scene: Scene) -> None:
    scene.put(make_pod("web").on("a"), uid="u1")
    scene.take()
    scene.put(make_pod("web"), uid="u2")
    assert scene.take() == ["AssignedPodDelete", "add web"]
    assert pods_on(scene, "a") == []


def test_a_pending_pod_that_changes_is_the_queue_s_business(scene: Scene) -> None:
    scene.put(make_pod("web"))
    scene.take()
    scene.put(make_pod("web").label("x", "y"))
    assert scene.take() == ["update web"]


def test_a_promise_that_is_withdrawn_wakes_pods_of_no_higher_priority(scene: Scene) -> None:
    scene.put(make_pod("web").priority(7).nominated("a"))
    scene.take()
    scene.put(make_pod("web").priority(7))
    assert scene.take() == ["update web", "AssignedPodDelete up to 7"]
    assert scene.cluster.nominations.node_of("default/web") == ""


def test_a_promise_that_only_we_know_of_outlasts_other_news(scene: Scene) -> None:
    scene.put(make_pod("web"))
    scene.cluster.nominations.put(scene.pods.pending["default/web"], "a")
    scene.put(make_pod("web").label("x", "y"))
    assert scene.cluster.nominations.node_of("default/web") == "a"


def test_whoever_waits_for_a_pod_to_leave_hears_of_it(scene: Scene) -> None:
    leaving: list[str] = []
    scene.pods.on_leaving.append(leaving.append)
    scene.put(make_pod("web").on("a"))
    assert leaving == []
    scene.put(make_pod("web").on("a").terminating())
    scene.gone("web")
    assert leaving == ["u1", "u1"]


@pytest.mark.parametrize("first", ["the node", "its pod"])
def test_a_node_and_its_pod_may_go_in_any_order(scene: Scene, first: str) -> None:
    scene.put(make_pod("web").on("a").requests(cpu="1"))
    if first == "its pod":
        scene.gone("web")
        scene.nodes.on_gone("", "a", "", None)
    else:
        scene.nodes.on_gone("", "a", "", None)
        scene.gone("web")
    scene.take()
    assert scene.cluster.view.node("a") is None
    scene.nodes.on_put(make_node("a").build())
    assert pods_on(scene, "a") == []


def test_a_pod_may_come_before_its_node(scene: Scene) -> None:
    scene.put(make_pod("web").on("late").requests(cpu="1"))
    scene.nodes.on_put(make_node("late").build())
    scene.take()
    assert pods_on(scene, "late") == ["web"]


def test_where_a_pod_was_seen(scene: Scene) -> None:
    scene.put(make_pod("web"))
    info = scene.pods.pending["default/web"]
    assert scene.pods.seen_on(info) is None
    scene.put(make_pod("web").on("a"))
    assert scene.pods.seen_on(info) == "a"
    scene.gone("web")
    assert scene.pods.seen_on(info) == ""
