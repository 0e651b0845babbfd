"""What plugins hear of, and what a pod that stands for many gives away."""

from __future__ import annotations

import pytest

from bayplan import Action, FilterPlugin, Resource, ScorePlugin, WakeOn
from bayplan.framework.events import ClusterEvent
from bayplan.queueing.hints import Listeners, OneOfMany, declared
from tests.queueing.scene import NODE_ADD, POD_DELETE, Scene, listener, make_profile, queue_it


class Silent(FilterPlugin):
    """Turns pods down and says nothing of events."""


class Harmless(ScorePlugin):
    """Turns nobody down."""


def test_a_plugin_that_says_nothing_hears_of_everything() -> None:
    listeners = Listeners({"s": make_profile(Silent(), Harmless())})
    event = ClusterEvent.of(Resource.DATA, Action.UPDATE, None, None)
    assert [found.name for found in listeners.of(event)] == ["Silent"]


def test_whoever_hears_of_new_nodes_hears_of_taints() -> None:
    wakes = declared(listener("Fit", WakeOn(Resource.NODE, Action.ADD, queue_it)))
    assert wakes[1:] == (WakeOn(Resource.NODE, Action.UPDATE_NODE_TAINT),)
    both = WakeOn(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT, queue_it)
    assert declared(listener("Taints", both)) == (both,)


@pytest.mark.parametrize("read", ["name", "key", "uid", "created", "resource_version"])
def test_a_pod_notes_when_it_is_asked_what_sets_it_apart(read: str) -> None:
    pod = Scene().info("p")
    one = OneOfMany(pod, NODE_ADD)
    assert (one.labels, one.namespace, one.priority) == (pod.labels, pod.namespace, pod.priority)
    assert not one.asked_apart
    assert getattr(one, read) == getattr(pod, read)
    assert one.asked_apart


def test_comparing_uids_with_a_placed_pod_sets_nobody_apart() -> None:
    one = OneOfMany(Scene().info("p"), POD_DELETE)
    assert one.uid == "p"
    assert not one.asked_apart
