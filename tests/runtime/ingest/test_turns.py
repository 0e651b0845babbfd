"""Profiles that change hands: whose pods are queued, and that none is forgotten, revived or taken twice."""

from __future__ import annotations

from bayplan.runtime.ingest.turns import Turns
from bayplan.testing import PodBuilder, make_pod
from tests.runtime.ingest.told import Scene


def scene() -> Scene:
    return Scene(Turns({"default-scheduler", "batch"}, ["batch"]))


def batch(name: str) -> PodBuilder:
    return make_pod(name).scheduler("batch")


def pending(scene: Scene) -> list[str]:
    return sorted(key.partition("/")[2] for key in scene.pods.pending)


def test_whose_pods_are_ours() -> None:
    turns = Turns({"a", "b"}, ["b"])
    assert [turns.is_ours(name) for name in ("a", "b", "c")] == [True, False, False]
    turns.away.discard("b")
    assert turns.is_ours("b")


def test_pods_of_a_profile_that_is_away_are_counted_and_not_queued() -> None:
    told = scene()
    told.put(make_pod("ours"))
    told.put(batch("theirs"))
    assert pending(told) == ["ours"]
    assert told.pods.foreign == {"default/theirs"}


def test_taken_up_and_laid_down() -> None:
    told = scene()
    told.put(make_pod("ours"))
    told.put(batch("b1"), "u1")
    told.put(batch("b2"), "u2")
    told.pods.take_up("batch")
    assert pending(told) == ["b1", "b2", "ours"]
    assert told.pods.foreign == set()
    told.pods.lay_down("batch")
    assert pending(told) == ["ours"]
    assert told.pods.foreign == {"default/b1", "default/b2"}
    told.pods.take_up("batch")
    assert pending(told) == ["b1", "b2", "ours"]
    told.take()


def test_what_happened_while_it_was_away_is_known() -> None:
    told = scene()
    for number, name in enumerate(("bound", "gone", "stays", "again")):
        told.put(batch(name), f"u{number}")
    told.put(batch("bound").on("n"), "u0")
    told.gone("gone", "u1")
    told.gone("again", "u3")
    told.put(batch("again"), "u9")
    told.pods.take_up("batch")
    assert pending(told) == ["again", "stays"]
    assert told.pods.pending["default/again"].uid == "u9"


def test_what_happened_while_it_was_here_is_known_too() -> None:
    told = scene()
    told.put(batch("b1"), "u1")
    told.pods.take_up("batch")
    told.put(batch("b2"), "u2")
    told.gone("b1", "u1")
    told.pods.lay_down("batch")
    assert told.pods.foreign == {"default/b2"}
    told.pods.take_up("batch")
    assert pending(told) == ["b2"]


def test_an_end_of_an_older_pod_of_that_name_ends_nothing() -> None:
    told = scene()
    told.put(batch("b"), "new")
    told.gone("b", "old")
    told.pods.take_up("batch")
    assert pending(told) == ["b"]


def test_who_is_on_his_way_to_a_node() -> None:
    told = scene()
    told.pods.take_up("batch")
    told.put(batch("b1"), "u1")
    told.put(batch("b2"), "u2")
    assert told.pods.under_way("batch") == 0
    told.assume("b1", "n")
    assert (told.pods.under_way("batch"), told.pods.under_way("default-scheduler")) == (1, 0)
