"""Other profiles take over while pods wait."""

from __future__ import annotations

from bayplan import Action, Resource, WakeOn
from bayplan.queueing.entry import Place
from tests.queueing.scene import NODE_ADD, Gate, Scene, listener, make_profile

ON_NODES = WakeOn(Resource.NODE, Action.ADD)


def taken_over(scene: Scene, *names: str, route: str = "default-scheduler", gate: Gate) -> None:
    profiles = {name: make_profile(listener("New", ON_NODES), gate, name=name) for name in names}
    scene.queue.use(profiles, scene.now, lambda pod: route)
    assert scene.queue.audit() == []


def test_who_was_turned_down_by_a_plugin_that_is_gone_is_tried_again() -> None:
    scene = Scene(listener("Old"))
    scene.add("web")
    scene.turn_down(scene.pop(), "Old")
    taken_over(scene, "default-scheduler", gate=Gate())
    assert scene.where("web") is Place.BACKOFF


def test_gates_of_the_new_profile_are_asked_of_those_that_have_passed_the_old() -> None:
    scene = Scene(listener("Old"))
    scene.add("web", "other")
    gate = Gate(ON_NODES)
    gate.shut.add("web")
    taken_over(scene, "default-scheduler", gate=gate)
    assert (scene.where("web"), scene.where("other")) == (Place.GATED, Place.ACTIVE)
    gate.shut.clear()
    scene.queue.on_event(NODE_ADD, scene.now)
    assert scene.where("web") is Place.ACTIVE


def test_pods_that_are_sent_elsewhere_are_that_profiles() -> None:
    scene = Scene(listener("Old"))
    scene.add("web", "parked")
    scene.turn_down(scene.pop(), "Old")
    taken_over(scene, "default-scheduler", "canary", route="canary", gate=Gate())
    assert {queued.profile for queued in scene.queue.pods()} == {"canary"}
    # Its own plugins wake it.
    queued = scene.pop()
    scene.turn_down(queued, "New")
    assert scene.where(queued.pod.name) is Place.UNSCHEDULABLE
    scene.queue.on_event(NODE_ADD, scene.now)
    assert scene.where(queued.pod.name) is Place.BACKOFF
    assert scene.queue.audit() == []


def test_one_that_is_out_comes_back_to_the_new_profile() -> None:
    scene = Scene(listener("Old"))
    scene.add("web")
    out = scene.pop()
    taken_over(scene, "default-scheduler", "canary", route="canary", gate=Gate())
    scene.turn_down(out, "Old")
    queued = scene.queue.get("default/web")
    assert queued is not None
    assert queued.profile == "canary"
    # It missed the change of rules: it is tried again, and not parked.
    assert queued.place is Place.BACKOFF
