"""Faults on purpose do what they say, and nothing else."""

from __future__ import annotations

import asyncio
import json

import aiohttp
import pytest
from tests.embedded.api.speaking import PODS, Speaker, pod, with_api

from bayplan.embedded.faults import Fault


def test_requests_are_refused_so_many_times() -> None:
    async def work(speaker: Speaker) -> None:
        speaker.api.faults.refuse("list", "pods", status=503, retry_after_s=7, times=2)
        first, second, third = [await speaker.get(PODS) for _ in range(3)]
        assert [first.status, second.status, third.status] == [503, 503, 200]
        assert first.headers["Retry-After"] == "7"
        assert (await speaker.get("/api/v1/nodes")).status == 200

    with_api(work)


def test_an_answer_that_is_lost_was_carried_out() -> None:
    async def work(speaker: Speaker) -> None:
        speaker.api.faults.add(Fault("create", "pods", lose_answer=True, times=1))
        with pytest.raises(aiohttp.ClientError):
            await speaker.post(PODS, pod("a"))
        assert speaker.api.store.find("pods", "a", "default") is not None

    with_api(work)


def test_a_request_that_is_lost_was_not() -> None:
    async def work(speaker: Speaker) -> None:
        speaker.api.faults.add(Fault("create", "pods", lose_request=True, times=1))
        with pytest.raises(aiohttp.ClientError):
            await speaker.post(PODS, pod("a"))
        assert speaker.api.store.find("pods", "a", "default") is None
        assert (await speaker.post(PODS, pod("a"))).status == 201

    with_api(work)


def test_a_delay_takes_its_time() -> None:
    async def work(speaker: Speaker) -> None:
        loop = asyncio.get_running_loop()
        speaker.api.faults.add(Fault("create", "pods/binding", delay_s=5))
        speaker.api.store.create("pods", pod("a"), "default")
        started = loop.time()
        await speaker.post(f"{PODS}/a/binding", {"target": {"name": "n"}})
        assert loop.time() - started >= 5

    with_api(work)


def test_the_third_request_is_the_one() -> None:
    async def work(speaker: Speaker) -> None:
        fault = speaker.api.faults.refuse("get", "pods", status=500)
        fault.after = 2
        speaker.api.store.create("pods", pod("a"), "default")
        statuses = [(await speaker.get(f"{PODS}/a")).status for _ in range(4)]
        assert statuses == [200, 200, 500, 500]
        speaker.api.faults.clear()
        assert (await speaker.get(f"{PODS}/a")).status == 200

    with_api(work)


def test_a_connection_that_is_closed_after_its_answer() -> None:
    async def work(speaker: Speaker) -> None:
        speaker.api.faults.add(Fault("list", "pods", close=True))
        reply = await speaker.get(PODS)
        assert (reply.status, reply.headers["Connection"]) == (200, "close")

    with_api(work)


def test_garbage_in_place_of_an_answer() -> None:
    async def work(speaker: Speaker) -> None:
        speaker.api.faults.add(Fault("list", "pods", garbage=b"{nonsense"))
        async with speaker.session.get(PODS) as response:
            assert await response.read() == b"{nonsense"

    with_api(work)


def test_watches_are_cut_or_ended() -> None:
    async def work(speaker: Speaker) -> None:
        async with speaker.watch(f"{PODS}?watch=1") as stream:
            speaker.api.faults.end_watches("pods")
            assert await stream.event() == ("", {})
        async with speaker.watch(f"{PODS}?watch=1") as stream:
            speaker.api.faults.cut_watches("pods")
            with pytest.raises(aiohttp.ClientError):
                await stream.event()

    with_api(work)


def test_a_watch_falls_silent_with_its_connection_open() -> None:
    async def work(speaker: Speaker) -> None:
        async with speaker.watch(f"{PODS}?watch=1") as stream:
            speaker.api.faults.freeze_watches("pods")
            speaker.api.store.create("pods", pod("a"), "default")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(stream.event(), 100)
            speaker.api.faults.thaw_watches("pods")
            assert await stream.names(1) == ["ADDED a"]

    with_api(work)


def test_nonsense_in_a_watch() -> None:
    async def work(speaker: Speaker) -> None:
        async with speaker.watch(f"{PODS}?watch=1") as stream:
            speaker.api.faults.send(b'{"type":"STRANGE","object":{}}\n{"type":"ADD', "pods")
            assert await stream.event() == ("STRANGE", {})
            speaker.api.faults.end_watches()
            with pytest.raises(json.JSONDecodeError):
                await stream.event()

    with_api(work)


def test_an_expired_history_ends_watches_with_an_error() -> None:
    async def work(speaker: Speaker) -> None:
        version = speaker.api.store.version
        speaker.api.store.create("pods", pod("a"), "default")
        async with speaker.watch(f"{PODS}?watch=1") as stream:
            await stream.event()
            speaker.api.faults.expire("pods")
            kind, status = await stream.event()
            assert (kind, status["code"]) == ("ERROR", 410)
            assert await stream.event() == ("", {})
        assert (await speaker.get(f"{PODS}?watch=1&resourceVersion={version}")).status == 410

    with_api(work)


def test_a_server_that_is_gone_and_comes_back() -> None:
    async def work(speaker: Speaker) -> None:
        url = speaker.api.url
        speaker.api.store.create("pods", pod("a"), "default")
        async with speaker.watch(f"{PODS}?watch=1") as stream:
            await stream.event()
            await speaker.api.stop_listening()
            with pytest.raises(aiohttp.ClientError):
                await stream.event()
        with pytest.raises(aiohttp.ClientConnectorError):
            await speaker.get(PODS)
        await speaker.api.listen()
        assert speaker.api.url == url
        assert await speaker.names(PODS) == ["a"]

    with_api(work)
