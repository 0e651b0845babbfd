from __future__ import annotations

import pytest

from bayplan.cluster import tombstones as module
from bayplan.cluster.tombstones import Tombstones


def test_exactly_the_pod_that_was_deleted() -> None:
    gone = Tombstones()
    gone.add("default/web", "1")
    assert gone.holds("default/web", "1")
    assert not gone.holds("default/web", "2"), "its successor"
    assert not gone.holds("default/db", "1")


def test_a_pod_without_a_uid_cannot_be_told_from_its_successor() -> None:
    gone = Tombstones()
    gone.add("default/web", "")
    assert not gone.holds("default/web", "")


def test_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEEP", 3)
    gone = Tombstones()
    for number in range(5):
        gone.add("default/web", str(number))
    assert [gone.holds("default/web", str(number)) for number in range(5)] == [False] * 2 + [
        True
    ] * 3


def test_versions_of_a_pod_that_is_pending_or_finished() -> None:
    gone = Tombstones()
    gone.saw("default/web", "1", "10")
    assert gone.holds("default/web", "1", "9"), "numbers, not text"
    assert not gone.holds("default/web", "1", "10"), "the same again"
    assert not gone.holds("default/web", "1", "11")
    assert not gone.holds("default/web", "2", "9"), "its successor"
    assert not gone.holds("default/web", "1", "opaque")


def test_the_versions_seen_longest_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEEP", 2)
    gone = Tombstones()
    for name in ("a", "b", "a", "c"):
        gone.saw(name, "1", "5")
    assert [gone.holds(name, "1", "4") for name in "abc"] == [True, False, True]
