"""Spans of attempts and calls, told by a scheduler at work, kept in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

pytest.importorskip("opentelemetry.sdk", reason="pip install bayplan[otel]")

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from bayplan import FilterPlugin, NodeInfo, PodInfo, Rejected
from bayplan.app.tracing import Tracer, Tracing, provider_of
from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.errors import NotFound
from bayplan.framework.plugin import Plugin
from bayplan.runtime.tracing import TracedSender, route_of
from bayplan.testing import make_node, make_pod
from bayplan.testing.virtual_time import START, settle
from tests.runtime.fakes import Bench, on_bench

ALWAYS = Tracing(sampling_rate_per_million=1_000_000)


def traced(
    scenario: Callable[[Bench], Awaitable[None]], *plugins: type[Plugin], wanted: Tracing = ALWAYS
) -> list[ReadableSpan]:
    """The spans of a scenario, in the order of their ends."""
    memory = InMemorySpanExporter()
    provider = provider_of(wanted)
    provider.add_span_processor(SimpleSpanProcessor(memory))

    async def run(bench: Bench) -> None:
        Tracer(provider, bench.clock).observe(bench.scheduler.board.chronicle)
        await scenario(bench)

    on_bench(run, *plugins)
    return list(memory.get_finished_spans())


def test_an_attempt_and_its_parts() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web"))
        await bench.until_bound("default/web")

    *parts, whole = traced(scenario)
    assert whole.name == "Schedule pod"
    assert whole.parent is None
    assert whole.start_time == START * 1e9
    assert whole.attributes is not None
    assert {name: whole.attributes[name] for name in ("k8s.pod.name", "k8s.node.name")} == {
        "k8s.pod.name": "web",
        "k8s.node.name": "a",
    }
    assert whole.attributes["bayplan.result"] == "scheduled"
    assert [part.name for part in parts][:2] == ["PreFilter", "Filter"]
    assert {part.parent.span_id for part in parts if part.parent} == {whole.context.span_id}


class Broken(FilterPlugin):
    def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
        raise RuntimeError("out of order")


def test_an_attempt_that_breaks() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web"))
        await settle(lambda: bool(bench.scheduler.board.chronicle.of("default/web")))

    whole = traced(scenario, Broken)[-1]
    assert whole.status.status_code is StatusCode.ERROR
    assert "out of order" in str(whole.status.description)


def test_of_no_million_none() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web"))
        await bench.until_bound("default/web")

    assert traced(scenario, wanted=Tracing()) == []


class Refuses:
    """An API server that has nothing (``client.api.Sender``)."""

    def __init__(self) -> None:
        self.parents: list[str] = []

    async def send(self, request: Request, lane: Lane, *, timeout_s: float | None = None) -> bytes:
        self.parents.append(request.traceparent)
        if request.method == "GET":
            raise NotFound(404, "NotFound", "no such pod")
        return b"done"


def test_calls_are_parts_of_the_attempt_whose_binding_makes_them() -> None:
    memory = InMemorySpanExporter()
    provider = provider_of(ALWAYS)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracer = provider.get_tracer("test")
    server = Refuses()
    sender = TracedSender(server, tracer)

    async def main() -> None:
        with tracer.start_as_current_span("attempt"):
            path = "/api/v1/namespaces/default/pods/web"
            assert await sender.send(Request("POST", f"{path}/binding"), Lane.BIND) == b"done"
            with pytest.raises(NotFound):
                await sender.send(Request("GET", f"{path}?x=1"), Lane.READ)

    asyncio.run(main())
    post, get, attempt = memory.get_finished_spans()
    assert post.name == "POST /api/v1/namespaces/{namespace}/pods/{name}/binding"
    assert post.parent is not None
    assert post.parent.span_id == attempt.context.span_id
    version, trace_id, span_id, flags = server.parents[0].split("-")
    assert (version, int(trace_id, 16)) == ("00", attempt.context.trace_id)
    assert int(span_id, 16) == post.context.span_id
    # Sampled; another bit says that the identifier was thrown by dice.
    assert int(flags, 16) & 1
    assert get.attributes is not None
    assert get.attributes["http.response.status_code"] == 404
    assert get.attributes["url.path"] == "/api/v1/namespaces/default/pods/web"
    assert get.status.status_code is StatusCode.ERROR


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/api/v1/pods", "/api/v1/pods"),
        ("/api/v1/nodes/n1", "/api/v1/nodes/{name}"),
        ("/api/v1/namespaces/team", "/api/v1/namespaces/{name}"),
        (
            "/apis/events.k8s.io/v1/namespaces/team/events",
            "/apis/events.k8s.io/v1/namespaces/{namespace}/events",
        ),
        (
            "/apis/coordination.k8s.io/v1/namespaces/a/leases/b",
            "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}",
        ),
        ("/version", "/version"),
    ],
)
def test_routes_have_no_names_in_them(path: str, route: str) -> None:
    assert route_of(path) == route
