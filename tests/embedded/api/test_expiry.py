"""Events that have had their time go."""

from __future__ import annotations

from random import Random

from tests.embedded.api.speaking import Speaker, with_api

from bayplan.embedded.expiry import LIFETIME_S, EventExpiry
from bayplan.embedded.objects import micro_timestamp
from bayplan.embedded.store import Store
from bayplan.testing.virtual_time import VirtualClock


def record(store: Store, name: str) -> None:
    store.create("events", {"metadata": {"name": name}, "reason": "Test"}, "default")


def names(store: Store) -> list[str]:
    return [one["metadata"]["name"] for one in store.list("events")]


def test_old_events_go_and_a_series_lives_on() -> None:
    clock = VirtualClock()
    store = Store(clock, rng=Random(1))
    store.seed()
    expiry = EventExpiry(store)
    record(store, "old")
    record(store, "series")
    clock.advance(LIFETIME_S - 1)
    record(store, "young")
    expiry.expire()
    assert names(store) == ["old", "series", "young"]
    seen = {"count": 2, "lastObservedTime": micro_timestamp(clock.now())}
    store.mutate("events", "series", lambda obj: obj.update(series=seen), "default")
    clock.advance(2)
    expiry.expire()
    assert names(store) == ["series", "young"]


def test_the_server_looks_by_itself() -> None:
    async def work(speaker: Speaker) -> None:
        record(speaker.api.store, "old")
        async with speaker.watch("/api/v1/events?watch=1&timeoutSeconds=4000") as stream:
            assert await stream.names(2) == ["ADDED old", "DELETED old"]

    with_api(work)
