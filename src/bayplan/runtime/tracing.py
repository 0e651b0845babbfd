"""Attempts and API calls as OpenTelemetry spans; only where a tracer is handed in.

::

    Schedule pod                  from taking it off the queue to the bound pod, or back into the queue
    ├─ PreFilter, Filter, …       the extension points of the decision, one after the other
    └─ POST …/pods/{name}/binding and every other call on the pod's behalf

``AttemptSpans`` hears of attempts from the chronicle, ``TracedSender`` stands between the scheduler and the API server. Put
together by ``app.tracing``, which brings the SDK: without it nothing of this is imported.
"""

from __future__ import annotations

from contextvars import Context, copy_context
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from opentelemetry import context as otel
from opentelemetry import trace
from opentelemetry.trace import SpanKind, Status, StatusCode

from bayplan.errors import ApiError, BayplanError
from bayplan.runtime.chronicle import ERROR, Try

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

    from bayplan.client.api import Sender
    from bayplan.client.lanes import Lane
    from bayplan.client.request import Request
    from bayplan.clock import Clock

_SPAN: Final = "span"
_NANOSECONDS: Final = 1e9


class AttemptSpans:
    """An observer of the chronicle that makes a span of each attempt."""

    def __init__(self, tracer: Tracer, clock: Clock) -> None:
        self._tracer = tracer
        self._clock = clock

    def decided(self, attempt: Try) -> None:
        """Begin the span, in the past, with the points of the decision in it."""
        span = self._tracer.start_span(
            # No parent: whatever span is at hand in the loop has nothing to do with this pod.
            "Schedule pod",
            context=otel.Context(),
            start_time=self._at(attempt.began),
        )
        attempt.notes[_SPAN] = span
        if not span.is_recording():
            return
        span.set_attributes(
            {
                "k8s.namespace.name": attempt.pod.namespace,
                "k8s.pod.name": attempt.pod.name,
                "k8s.pod.uid": attempt.pod.uid,
                "bayplan.profile": attempt.profile,
                "bayplan.attempt": attempt.number,
            }
        )
        inside = trace.set_span_in_context(span)
        at = attempt.began
        for point, seconds in attempt.points.items():
            part = self._tracer.start_span(point, context=inside, start_time=self._at(at))
            at += seconds
            part.end(self._at(at))

    def ended(self, attempt: Try) -> None:
        """End it with what came of it."""
        span = attempt.notes.pop(_SPAN, None)
        if not isinstance(span, trace.Span):
            return
        if span.is_recording():
            span.set_attribute("bayplan.result", attempt.result)
            if attempt.node:
                span.set_attribute("k8s.node.name", attempt.node)
            if attempt.result == ERROR:
                span.set_status(Status(StatusCode.ERROR, attempt.message))
            elif attempt.message:
                span.set_attribute("bayplan.message", attempt.message)
        span.end(self._at(attempt.ended_at))

    def context(self, attempt: Try) -> Context | None:
        """The binding's calls are parts of the attempt."""
        span = attempt.notes.get(_SPAN)
        if not isinstance(span, trace.Span):
            return None
        context = copy_context()
        context.run(otel.attach, trace.set_span_in_context(span))
        return context

    def _at(self, moment: float) -> int:
        passed = self._clock.monotonic() - moment
        return round((self._clock.now() - passed) * _NANOSECONDS)


class TracedSender:
    """Sends as the one within does, with a span around each request (``client.api.Sender``)."""

    def __init__(self, within: Sender, tracer: Tracer) -> None:
        self._within = within
        self._tracer = tracer

    async def send(self, request: Request, lane: Lane, *, timeout_s: float | None = None) -> bytes:
        """Carry out a request; all its tries are one span."""
        path = request.path.partition("?")[0]
        span = self._tracer.start_span(f"{request.method} {route_of(path)}", kind=SpanKind.CLIENT)
        # The API server's own spans, where it makes any, become parts of ours.
        sent = replace(request, traceparent=_traceparent(span)) if span.is_recording() else request
        try:
            answer = await self._within.send(sent, lane, timeout_s=timeout_s)
        except BayplanError as error:
            _failed(span, error)
            raise
        finally:
            if span.is_recording():
                span.set_attributes({"http.request.method": request.method, "url.path": path})
            span.end()
        return answer


def _traceparent(span: Span) -> str:
    found = span.get_span_context()
    return f"00-{found.trace_id:032x}-{found.span_id:016x}-{found.trace_flags:02x}"


def _failed(span: Span, error: BayplanError) -> None:
    if isinstance(error, ApiError):
        span.set_attribute("http.response.status_code", error.status)
    span.set_attribute("error.type", type(error).__name__)
    span.set_status(Status(StatusCode.ERROR, str(error)))


def route_of(path: str) -> str:
    """A path without names: ``/api/v1/namespaces/{namespace}/pods/{name}/binding``."""
    parts = path.split("/")
    # /api/v1/… or /apis/group/version/…
    at = 3 if parts[1:2] == ["api"] else 4
    if parts[at : at + 1] == ["namespaces"] and len(parts) > at + 2:
        parts[at + 1] = "{namespace}"
        at += 2
    if len(parts) > at + 1:
        parts[at + 1] = "{name}"
    return "/".join(parts)
