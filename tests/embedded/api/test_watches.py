"""Watches over HTTP: where they begin, what they show, how they end."""

from __future__ import annotations

import asyncio

import pytest
from tests.embedded.api.speaking import PODS, TABLE, Speaker, pod, with_api


def label(speaker: Speaker, name: str, value: str) -> None:
    def change(obj: dict[str, dict[str, object]]) -> None:
        obj["metadata"]["labels"] = {"tier": value}

    speaker.api.store.mutate("pods", name, change, "default")


def test_a_watch_without_a_version_begins_with_what_is_there() -> None:
    async def work(speaker: Speaker) -> None:
        store = speaker.api.store
        store.create("pods", pod("a"), "default")
        async with speaker.watch(f"{PODS}?watch=1") as stream:
            assert await stream.names(1) == ["ADDED a"]
            store.create("pods", pod("b"), "default")
            label(speaker, "a", "x")
            store.delete("pods", "b", "default")
            seen = ["ADDED b", "MODIFIED a", "MODIFIED b", "DELETED b"]
            assert await stream.names(4) == seen

    with_api(work)


def test_a_watch_from_a_version_shows_what_came_after() -> None:
    async def work(speaker: Speaker) -> None:
        store = speaker.api.store
        store.create("pods", pod("a"), "default")
        version = store.version
        store.create("pods", pod("b"), "default")
        label(speaker, "b", "x")
        async with speaker.watch(f"{PODS}?watch=1&resourceVersion={version}") as stream:
            assert await stream.names(2) == ["ADDED b", "MODIFIED b"]

    with_api(work)


def test_events_have_rising_versions_and_a_deletion_its_own() -> None:
    async def work(speaker: Speaker) -> None:
        store = speaker.api.store
        version = store.version
        store.create("pods", pod("a"), "default")
        created = store.version
        store.delete("pods", "a", "default")
        async with speaker.watch(f"{PODS}?watch=1&resourceVersion={version}") as stream:
            (_, added), _, (kind, deleted) = [await stream.event() for _ in range(3)]
        assert kind == "DELETED"
        assert int(added["metadata"]["resourceVersion"]) == created
        assert int(deleted["metadata"]["resourceVersion"]) == store.version > created

    with_api(work)


def test_an_object_that_leaves_the_selection_is_deleted_to_the_watcher() -> None:
    async def work(speaker: Speaker) -> None:
        version = speaker.api.store.version
        speaker.api.store.create("pods", pod("a"), "default")
        for value in ("in", "in too", "out", "in"):
            label(speaker, "a", value.replace(" ", "-"))
        query = f"watch=1&resourceVersion={version}&labelSelector=tier+in+(in,in-too)"
        async with speaker.watch(f"{PODS}?{query}") as stream:
            seen = [await stream.event() for _ in range(4)]
        assert [kind for kind, _ in seen] == ["ADDED", "MODIFIED", "DELETED", "ADDED"]
        left = seen[2][1]
        assert left["metadata"]["labels"] == {"tier": "in-too"}
        assert int(left["metadata"]["resourceVersion"]) > int(
            seen[1][1]["metadata"]["resourceVersion"]
        )

    with_api(work)


def test_a_scheduler_sees_a_pod_go_from_pending_to_bound_by_field_selectors() -> None:
    async def work(speaker: Speaker) -> None:
        speaker.api.store.create("pods", pod("a"), "default")
        query = "watch=1&fieldSelector=spec.nodeName%3D"
        async with (
            speaker.watch(f"/api/v1/pods?{query}") as pending,
            speaker.watch(f"/api/v1/pods?{query}n1") as bound,
        ):
            assert await pending.names(1) == ["ADDED a"]
            await speaker.post(f"{PODS}/a/binding", {"target": {"name": "n1"}})
            assert await pending.names(1) == ["DELETED a"]
            assert await bound.names(1) == ["ADDED a"]

    with_api(work)


def test_a_past_that_is_forgotten_is_gone() -> None:
    async def work(speaker: Speaker) -> None:
        version = speaker.api.store.version
        speaker.api.store.create("pods", pod("a"), "default")
        speaker.api.faults.expire("pods")
        reply = await speaker.get(f"{PODS}?watch=1&resourceVersion={version}")
        assert (reply.status, reply.body["reason"]) == (410, "Expired")
        assert reply.message.startswith(f"too old resource version: {version}")

    with_api(work)


def test_bookmarks_come_each_minute_and_before_the_end() -> None:
    async def work(speaker: Speaker) -> None:
        version = speaker.api.store.version
        query = f"watch=1&resourceVersion={version}&allowWatchBookmarks=true&timeoutSeconds=150"
        async with speaker.watch(f"{PODS}?{query}") as stream:
            speaker.api.store.create("configmaps", {"metadata": {"name": "x"}}, "default")
            marks = [await stream.event() for _ in range(3)]
            assert await stream.event() == ("", {})
        assert [kind for kind, _ in marks] == ["BOOKMARK"] * 3
        assert marks[0][1] == {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {
                "resourceVersion": str(speaker.api.store.version),
                "creationTimestamp": None,
            },
        }

    with_api(work)


def test_a_watch_ends_when_it_should() -> None:
    async def work(speaker: Speaker) -> None:
        loop = asyncio.get_running_loop()
        started = loop.time()
        async with speaker.watch(f"{PODS}?watch=1&timeoutSeconds=7") as stream:
            assert await stream.event() == ("", {})
        assert 7 <= loop.time() - started < 8

    with_api(work)


def test_watch_list_shows_the_state_and_says_when_it_is_complete() -> None:
    async def work(speaker: Speaker) -> None:
        speaker.api.store.create("pods", pod("a"), "default")
        query = (
            "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
            "&allowWatchBookmarks=true"
        )
        async with speaker.watch(f"{PODS}?{query}") as stream:
            assert await stream.names(1) == ["ADDED a"]
            kind, mark = await stream.event()
            assert kind == "BOOKMARK"
            assert mark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
            speaker.api.store.create("pods", pod("b"), "default")
            assert await stream.names(1) == ["ADDED b"]

    with_api(work)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        pytest.param(
            "sendInitialEvents=true", "requires setting resourceVersionMatch", id="no match"
        ),
        pytest.param(
            "resourceVersionMatch=NotOlderThan",
            "forbidden for watch unless sendInitialEvents is provided",
            id="match alone",
        ),
    ],
)
def test_watch_options_that_do_not_go_together(query: str, said: str) -> None:
    async def work(speaker: Speaker) -> None:
        reply = await speaker.get(f"{PODS}?watch=1&{query}")
        assert reply.status == 422
        assert said in reply.message

    with_api(work)


def test_a_watch_of_one_name() -> None:
    async def work(speaker: Speaker) -> None:
        store = speaker.api.store
        store.create("pods", pod("a"), "default")
        async with speaker.watch(f"{PODS}?watch=1&fieldSelector=metadata.name%3Db") as stream:
            store.create("pods", pod("b"), "default")
            assert await stream.names(1) == ["ADDED b"]

    with_api(work)


def test_a_watch_as_table_has_its_headings_once() -> None:
    async def work(speaker: Speaker) -> None:
        store = speaker.api.store
        store.create("pods", pod("a"), "default")
        async with speaker.watch(f"{PODS}?watch=1", accept=TABLE) as stream:
            _, first = await stream.event()
            store.create("pods", pod("b"), "default")
            _, second = await stream.event()
        assert [one["name"] for one in first["columnDefinitions"]][:3] == [
            "Name",
            "Ready",
            "Status",
        ]
        assert second["columnDefinitions"] is None
        assert second["rows"][0]["cells"][:3] == ["b", "0/1", "Pending"]

    with_api(work)


def test_a_closed_watch_listens_no_more() -> None:
    async def work(speaker: Speaker) -> None:
        async with speaker.watch(f"{PODS}?watch=1"):
            assert len(speaker.api.faults.watches("pods")) == 1
        for _ in range(100):
            await asyncio.sleep(0.01)
            if not speaker.api.faults.watches():
                break
        assert speaker.api.faults.watches() == []

    with_api(work)
