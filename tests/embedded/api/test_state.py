"""Objects that outlive the process: what is on disk, and what a crash may leave there."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from tests.embedded.api.speaking import pod

from bayplan.embedded.server import EmbeddedApi, EmbeddedOptions
from bayplan.embedded.state import State
from bayplan.embedded.store import Store
from bayplan.errors import DecodeError
from bayplan.testing.virtual_time import VirtualClock


def opened(folder: Path) -> tuple[Store, State]:
    store = Store(VirtualClock(), rng=Random(1))
    state = State(folder, store.shelves)
    store.seed()
    return store, state


def test_what_was_written_is_there_again(tmp_path: Path) -> None:
    store, state = opened(tmp_path)
    store.create("pods", pod("a"), "default")
    store.create("pods", pod("b"), "default")
    store.mutate("pods", "a", lambda obj: obj["status"].update(phase="Running"), "default")
    store.delete("pods", "b", "default")
    kept, version = store.get("pods", "a", "default"), store.version
    state.close()

    again, state = opened(tmp_path)
    assert again.get("pods", "a", "default") == kept
    assert again.find("pods", "b", "default") is None
    assert again.version == version
    state.close()


def test_versions_go_on_where_they_were(tmp_path: Path) -> None:
    store, state = opened(tmp_path)
    store.create("pods", pod("a"), "default")
    store.delete("pods", "a", "default")
    last = store.version
    state.close()
    again, state = opened(tmp_path)
    again.create("pods", pod("c"), "default")
    assert again.version == last + 1
    state.close()


def test_a_last_line_that_is_cut_off_is_dropped(tmp_path: Path) -> None:
    store, state = opened(tmp_path)
    store.create("pods", pod("a"), "default")
    store.create("pods", pod("b"), "default")
    state.close()
    raw = state.path.read_bytes()
    state.path.write_bytes(raw[:-20])
    again, state = opened(tmp_path)
    assert [one["metadata"]["name"] for one in again.list("pods")] == ["a"]
    state.close()


def test_damage_in_the_middle_is_named(tmp_path: Path) -> None:
    store, state = opened(tmp_path)
    store.create("pods", pod("a"), "default")
    state.close()
    lines = state.path.read_bytes().split(b"\n")
    lines[2] = b"{nonsense"
    state.path.write_bytes(b"\n".join(lines))
    with pytest.raises(DecodeError, match=r"objects\.jsonl, line 3: cannot be read"):
        opened(tmp_path)


def test_two_processes_do_not_share_a_folder(tmp_path: Path) -> None:
    _, state = opened(tmp_path)
    with pytest.raises(DecodeError, match="another process keeps its objects here"):
        opened(tmp_path)
    state.close()


def test_the_file_does_not_grow_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bayplan.embedded.state._SLACK", 50)
    store, state = opened(tmp_path)
    store.create("configmaps", {"metadata": {"name": "a"}}, "default")
    for number in range(200):
        given = {"metadata": {"name": "a"}, "data": {"n": str(number)}}
        store.update("configmaps", given, "default")
    assert len(state.path.read_bytes().splitlines()) < 100
    state.close()
    again, state = opened(tmp_path)
    assert again.get("configmaps", "a", "default")["data"] == {"n": "199"}
    state.close()


def test_custom_kinds_and_quotas_come_back(tmp_path: Path) -> None:
    api = EmbeddedApi(EmbeddedOptions(state=tmp_path, clock=VirtualClock()))
    api.load()
    definition = {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {}}}
            ],
        },
    }
    store = api.store
    store.create("customresourcedefinitions.apiextensions.k8s.io", definition)
    store.create("widgets.example.com", {"metadata": {"name": "w"}}, "default")
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}}
    store.create("resourcequotas", quota, "default")
    assert api._state is not None
    api._state.close()

    again = EmbeddedApi(EmbeddedOptions(state=tmp_path, clock=VirtualClock()))
    again.load()
    assert again.store.get("widgets.example.com", "w", "default")["kind"] == "Widget"
    again.store.create("pods", pod("a"), "default")
    used = again.store.get("resourcequotas", "q", "default")["status"]["used"]
    assert used == {"pods": "1"}
    assert again._state is not None
    again._state.close()
