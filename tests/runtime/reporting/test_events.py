"""Events: written in the background, counted where they repeat, dropped rather than waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from bayplan.cluster.cluster import Cluster
from bayplan.cluster.podinfo import PodInfo
from bayplan.errors import NotFound, ServerError
from bayplan.runtime.reporting.events import FINISH_S, Recorder
from bayplan.telemetry import events
from bayplan.telemetry.metrics import Metrics
from bayplan.testing import make_pod
from bayplan.testing.virtual_time import VirtualClock, run, settle
from tests.runtime.sent import Sent


def info(name: str = "web", version: str = "7") -> PodInfo:
    return Cluster().info(make_pod(name).uid("u1").version(version).build())


def recording(
    scenario: Callable[[Recorder, Sent], Awaitable[None]],
    *,
    metrics: Metrics | None = None,
    limit: int = 100,
) -> None:
    clock = VirtualClock()

    async def main() -> None:
        sent = Sent()
        recorder = Recorder(sent, clock, metrics or Metrics(), "host", limit=limit)
        writing = asyncio.create_task(recorder.run())
        try:
            await scenario(recorder, sent)
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)

    run(main(), clock)


def test_an_event_names_the_pod_who_says_it_and_from_where() -> None:
    async def scenario(recorder: Recorder, sent: Sent) -> None:
        recorder.record("mine", info(), events.scheduled("default", "web", "a"), info("other"))
        await recorder.drain()
        (body,) = sent.bodies()
        assert body["reportingController"] == "mine"
        assert body["reportingInstance"] == "mine-host"
        assert body["regarding"] == {
            "kind": "Pod",
            "namespace": "default",
            "name": "web",
            "uid": "u1",
            "apiVersion": "v1",
            "resourceVersion": "7",
        }
        assert body["related"]["name"] == "other"
        assert (body["reason"], body["action"], body["type"]) == ("Scheduled", "Binding", "Normal")

    recording(scenario)


def test_the_second_sighting_makes_a_series_and_later_ones_are_only_counted() -> None:
    async def scenario(recorder: Recorder, sent: Sent) -> None:
        for _ in range(5):
            recorder.record("mine", info(), events.failed_scheduling("no room"))
            await settle()
        assert [r.method for r in sent.requests] == ["POST", "PATCH"]
        assert sent.bodies("PATCH")[0]["series"]["count"] == 2
        assert sent.requests[1].path.endswith("/" + sent.bodies("POST")[0]["metadata"]["name"])

    recording(scenario)


def test_the_count_is_written_once_more_when_a_series_is_over() -> None:
    async def scenario(recorder: Recorder, sent: Sent) -> None:
        for _ in range(5):
            recorder.record("mine", info(), events.failed_scheduling("no room"))
            await settle()
        await asyncio.sleep(3 * FINISH_S)
        assert [body["series"]["count"] for body in sent.bodies("PATCH")] == [2, 5]
        recorder.record("mine", info(), events.failed_scheduling("no room"))
        await settle()
        assert [r.method for r in sent.requests] == ["POST", "PATCH", "PATCH", "POST"]

    recording(scenario)


def test_another_version_of_the_pod_makes_another_event() -> None:
    async def scenario(recorder: Recorder, sent: Sent) -> None:
        for version in ("7", "8"):
            recorder.record("mine", info(version=version), events.failed_scheduling("no room"))
        await recorder.drain()
        assert [r.method for r in sent.requests] == ["POST", "POST"]

    recording(scenario)


def test_a_series_whose_event_has_expired_begins_anew() -> None:
    async def scenario(recorder: Recorder, sent: Sent) -> None:
        sent.refuse = lambda r: NotFound(404, "NotFound", "") if r.method == "PATCH" else None
        for _ in range(2):
            recorder.record("mine", info(), events.failed_scheduling("no room"))
            await settle()
        assert [r.method for r in sent.requests] == ["POST", "PATCH", "POST"]

    recording(scenario)


def test_sightings_before_the_event_is_written_are_counted_too() -> None:
    async def scenario(recorder: Recorder, sent: Sent) -> None:
        sent.open.clear()
        for _ in range(3):
            recorder.record("mine", info(), events.failed_scheduling("no room"))
            await settle()
        sent.open.set()
        await recorder.drain()
        assert sent.bodies("PATCH")[0]["series"]["count"] == 3

    recording(scenario)


def test_where_too_many_wait_the_newest_is_dropped_and_counted() -> None:
    metrics = Metrics()

    async def scenario(recorder: Recorder, sent: Sent) -> None:
        for number in range(5):
            recorder.record("mine", info(), events.scheduled("default", f"p{number}", "a"))
        await recorder.drain()
        assert len(sent.requests) == 3
        assert metrics._events_dropped.values == {("full",): 2}

    recording(scenario, metrics=metrics, limit=3)


def test_an_event_that_is_refused_is_dropped_and_counted() -> None:
    metrics = Metrics()

    async def scenario(recorder: Recorder, sent: Sent) -> None:
        sent.refuse = lambda _: ServerError(500, "InternalError", "no")
        recorder.record("mine", info(), events.failed_scheduling("no room"))
        await recorder.drain()
        assert metrics._events_dropped.values == {("rejected",): 1}
        # It was never written, so that the next one is a first one again.
        sent.refuse = lambda _: None
        recorder.record("mine", info(), events.failed_scheduling("no room"))
        await recorder.drain()
        assert [r.method for r in sent.requests] == ["POST", "POST"]

    recording(scenario, metrics=metrics)


def test_a_text_that_cannot_be_sent_costs_one_event() -> None:
    async def scenario(recorder: Recorder, sent: Sent) -> None:
        odd = events.EventText("Normal", "Odd", "Scheduling", "half a character: \ud800")
        recorder.record("mine", info(), odd)
        recorder.record("mine", info(), events.scheduled("default", "web", "a"))
        await recorder.drain()
        assert [body["reason"] for body in sent.bodies()] == ["Scheduled"]

    recording(scenario)
