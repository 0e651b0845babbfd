"""Whatever is written in whatever order: the past can be listed, and a watch from any moment leads to the present."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.embedded.api.speaking import fresh_store, pod

from bayplan.embedded.entries import ChangeType, Entry
from bayplan.embedded.forms import Plain
from bayplan.embedded.objects import Object, decode
from bayplan.embedded.selecting import Selection, selection
from bayplan.embedded.shelf import Shelf
from bayplan.embedded.shelves import Shelves
from bayplan.embedded.store import Store
from bayplan.embedded.watching import Watch
from bayplan.errors import RequestRefused

#: Name and label; no label deletes.
WRITES = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["", "x", "y"])), max_size=25)


def write(store: Store, name: str, label: str) -> None:
    there = store.find("configmaps", name, "default")
    if not label:
        if there:
            store.delete("configmaps", name, "default")
        return
    obj: Object = {"metadata": {"name": name, "labels": {"tier": label}}}
    if there:
        store.update("configmaps", obj, "default")
    else:
        store.create("configmaps", obj, "default")


def state(shelf: Shelf, wanted: Selection) -> dict[str, int]:
    return {entry.key: entry.version for entry in shelf.select(wanted)}


@given(WRITES)
def test_every_moment_can_be_listed(writes: list[tuple[str, str]]) -> None:
    store = fresh_store()
    shelf = store.shelves["configmaps"]
    moments = {store.version: state(shelf, Selection())}
    for name, label in writes:
        write(store, name, label)
        moments[store.version] = state(shelf, Selection())
    for version, then in moments.items():
        assert state(shelf.as_of(version), Selection()) == then
    assert list(shelf.keys()) == sorted(shelf.entries)


@given(WRITES, st.sampled_from(["", "tier=x", "tier!=x"]), st.integers(0, 25))
def test_a_watch_from_any_moment_leads_to_the_present(
    writes: list[tuple[str, str]], labels: str, start: int
) -> None:
    store = fresh_store()
    kind = store.kind("configmaps")
    shelf = store.shelves["configmaps"]
    wanted = selection(kind, "default", labels, "")
    for name, label in writes[:start]:
        write(store, name, label)
    known, version = state(shelf, wanted), store.version
    for name, label in writes[start:]:
        write(store, name, label)

    watch = Watch(shelf, wanted, Plain(kind))
    watch.replay(shelf.since(version))
    for line in watch._lines:
        event = decode(line)
        meta = event["object"]["metadata"]
        key = f"default/{meta['name']}"
        assert (key in known) is (event["type"] != ChangeType.ADDED)
        assert int(meta["resourceVersion"]) > version
        version = int(meta["resourceVersion"])
        if event["type"] == ChangeType.DELETED:
            del known[key]
        else:
            known[key] = version
    watch.end()
    assert known == state(shelf, wanted)


def test_a_past_beyond_the_window_is_refused() -> None:
    shelves = Shelves(window=2)
    first = shelves.version
    for name in "abc":
        shelves.put("configmaps", {"metadata": {"name": name, "namespace": "default"}})
    with pytest.raises(RequestRefused, match="too old resource version"):
        shelves["configmaps"].as_of(first)
    assert len(shelves["configmaps"].as_of(first + 1)) == 1


def test_a_watcher_that_does_not_keep_up_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayplan.embedded.watching.MOST_WAITING", 3)
    store = fresh_store()
    watch = Watch(store.shelves["pods"], Selection(), Plain(store.kind("pods")))
    for name in "abcde":
        store.create("pods", pod(name), "default")
    assert watch.ended
    assert watch._lines == []


def test_a_change_is_encoded_once_for_all_who_watch() -> None:
    store = fresh_store()
    kind = store.kind("pods")
    watches = [Watch(store.shelves["pods"], Selection(), Plain(kind)) for _ in range(2)]
    store.create("pods", pod("a"), "default")
    (one,), (other,) = (watch._lines for watch in watches)
    assert one is other
    (change,) = store.shelves["pods"].since(store.version - 1)
    assert change.recall((Plain(kind).key, ChangeType.ADDED)) is None


def test_entries_remember_what_selectors_ask_for() -> None:
    entry = Entry(
        "pods", {"metadata": {"name": "a", "labels": {"x": "y"}}, "spec": {"nodeName": "n"}}, 7
    )
    assert (entry.key, entry.version, entry.labels) == ("a", 7, {"x": "y"})
    assert entry.fields["spec.nodeName"] == "n"
    assert entry.decode()["metadata"]["resourceVersion"] == "7"
