"""Lists over HTTP: selectors, chunks that show one moment, versions that are too old or not yet there."""

from __future__ import annotations

import pytest
from tests.embedded.api.speaking import PODS, Speaker, pod, with_api

from bayplan.embedded.server import EmbeddedOptions
from bayplan.testing.virtual_time import VirtualClock


def filled(names: str) -> list[dict[str, object]]:
    return [pod(name) for name in names]


async def fill(speaker: Speaker, names: str = "abcde") -> None:
    for one in filled(names):
        speaker.api.store.create("pods", one, "default")


def test_a_list_is_in_order_and_says_its_version() -> None:
    async def work(speaker: Speaker) -> None:
        await fill(speaker, "cab")
        reply = await speaker.get(PODS)
        assert [one["metadata"]["name"] for one in reply.body["items"]] == ["a", "b", "c"]
        assert reply.body["kind"] == "PodList"
        assert reply.body["metadata"]["resourceVersion"] == str(speaker.api.store.version)
        assert "kind" not in reply.body["items"][0]

    with_api(work)


def test_lists_over_all_namespaces_sort_by_namespace_first() -> None:
    async def work(speaker: Speaker) -> None:
        speaker.api.store.create("pods", pod("a"), "kube-system")
        speaker.api.store.create("pods", pod("z"), "default")
        assert await speaker.names("/api/v1/pods") == ["z", "a"]

    with_api(work)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        pytest.param("labelSelector=tier%3Dfront", ["a"], id="label equals"),
        pytest.param(
            "labelSelector=tier!%3Dfront", ["b", "c"], id="label differs, also by not being there"
        ),
        pytest.param("labelSelector=tier", ["a", "b"], id="label exists"),
        pytest.param("labelSelector=tier+in+(back,other)", ["b"], id="label in"),
        pytest.param("fieldSelector=metadata.name%3Db", ["b"], id="name"),
        pytest.param("fieldSelector=spec.nodeName%3Dn1", ["c"], id="node"),
        pytest.param("fieldSelector=spec.nodeName%3D", ["a", "b"], id="no node"),
        pytest.param("fieldSelector=status.phase!%3DFailed", ["a", "b", "c"], id="phase differs"),
    ],
)
def test_selectors(query: str, names: list[str]) -> None:
    async def work(speaker: Speaker) -> None:
        front, back, bound = pod("a"), pod("b"), pod("c", nodeName="n1")
        front["metadata"]["labels"] = {"tier": "front"}
        back["metadata"]["labels"] = {"tier": "back"}
        for one in (front, back, bound):
            speaker.api.store.create("pods", one, "default")
        assert await speaker.names(f"/api/v1/pods?{query}") == names

    with_api(work)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        pytest.param("labelSelector=a+b+c", "unable to parse", id="label selector"),
        pytest.param(
            "fieldSelector=spec.nope%3D1", "field label not supported: spec.nope", id="field"
        ),
        pytest.param("resourceVersion=x", "invalid syntax", id="version"),
        pytest.param("limit=x", "invalid syntax", id="limit"),
        pytest.param("continue=@@@", "continue key is not valid", id="token"),
    ],
)
def test_what_makes_no_sense_is_refused(query: str, said: str) -> None:
    async def work(speaker: Speaker) -> None:
        reply = await speaker.get(f"/api/v1/pods?{query}")
        assert reply.status == 400
        assert said in reply.message

    with_api(work)


def test_chunks_show_the_moment_of_the_first() -> None:
    async def work(speaker: Speaker) -> None:
        await fill(speaker)
        first = await speaker.get(f"{PODS}?limit=2")
        assert first.body["metadata"]["remainingItemCount"] == 3
        store = speaker.api.store
        store.delete("pods", "d", "default")
        store.create("pods", pod("bb"), "default")

        token = first.body["metadata"]["continue"]
        second = await speaker.get(f"{PODS}?limit=2&continue={token}")
        assert (
            second.body["metadata"]["resourceVersion"] == first.body["metadata"]["resourceVersion"]
        )
        token = second.body["metadata"]["continue"]
        third = await speaker.get(f"{PODS}?limit=2&continue={token}")
        assert "continue" not in third.body["metadata"]
        names = [
            one["metadata"]["name"]
            for reply in (first, second, third)
            for one in reply.body["items"]
        ]
        assert names == ["a", "b", "c", "d", "e"]

    with_api(work)


def test_a_chunk_that_is_too_late_says_how_to_go_on() -> None:
    async def work(speaker: Speaker) -> None:
        await fill(speaker)
        first = await speaker.get(f"{PODS}?limit=2")
        speaker.api.store.delete("pods", "d", "default")
        speaker.api.faults.expire("pods")
        token = first.body["metadata"]["continue"]
        late = await speaker.get(f"{PODS}?limit=2&continue={token}")
        assert (late.status, late.body["reason"]) == (410, "Expired")
        token = late.body["metadata"]["continue"]
        assert await speaker.names(f"{PODS}?continue={token}") == ["c", "e"]

    with_api(work)


def test_exactly_an_older_version() -> None:
    async def work(speaker: Speaker) -> None:
        await fill(speaker, "ab")
        version = speaker.api.store.version
        speaker.api.store.delete("pods", "a", "default")
        exact = f"{PODS}?resourceVersion={version}&resourceVersionMatch=Exact"
        assert await speaker.names(exact) == ["a", "b"]
        newer = f"{PODS}?resourceVersion={version}&resourceVersionMatch=NotOlderThan"
        assert await speaker.names(newer) == ["b"]
        speaker.api.faults.expire()
        assert (await speaker.get(exact)).status == 410

    with_api(work)


def test_a_version_from_the_future_times_out() -> None:
    async def work(speaker: Speaker) -> None:
        reply = await speaker.get(
            f"{PODS}?resourceVersion=999999&resourceVersionMatch=NotOlderThan"
        )
        assert (reply.status, reply.body["reason"]) == (504, "Timeout")
        assert "Too large resource version: 999999" in reply.message

    with_api(work)


def test_a_match_needs_a_version() -> None:
    async def work(speaker: Speaker) -> None:
        reply = await speaker.get(f"{PODS}?resourceVersionMatch=Exact")
        assert reply.status == 422
        assert (
            "resourceVersionMatch is forbidden unless resourceVersion is provided" in reply.message
        )

    with_api(work)


def test_the_history_is_bounded() -> None:
    async def work(speaker: Speaker) -> None:
        version = speaker.api.store.version
        await fill(speaker)
        reply = await speaker.get(f"{PODS}?resourceVersion={version}&resourceVersionMatch=Exact")
        assert reply.status == 410

    clock = VirtualClock()
    with_api(work, EmbeddedOptions(clock=clock, window=3), clock)
