"""Requests sent and answered: what goes over the wire, what is tried again, and what the errors say."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from bayplan.client.api import Api, ApiSettings
from bayplan.client.lanes import Lane
from bayplan.client.request import MERGE_PATCH, Request
from bayplan.client.resources import bind
from bayplan.client.retry import BIND, IDEMPOTENT, Retry
from bayplan.client.trust import PemPair
from bayplan.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    CredentialsError,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    ServerError,
    TimedOut,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from bayplan.testing.virtual_time import VirtualClock, run, settle
from tests.client.scripted import (
    CHUNKED,
    LAST_CHUNK,
    Answer,
    Received,
    Scripted,
    Wire,
    always,
    chunk,
    in_turn,
    refusal,
    reply,
)

READ = Request("GET", "/api/v1/nodes", retry=IDEMPOTENT)
WRITE = bind("default", "web", "u1", "n1")


@dataclass
class Counted:
    """Hears of exchanges."""

    requests: list[tuple[str, str]] = field(default_factory=list)
    retries: list[tuple[str, str]] = field(default_factory=list)

    def api_request(self, method: str, code: str, host: str, seconds: float) -> None:
        self.requests.append((method, code))

    def api_retry(self, method: str, code: str, host: str) -> None:
        self.retries.append((method, code))


@dataclass
class Bench:
    """An API, the server behind it, and who counts."""

    api: Api
    server: Scripted
    clock: VirtualClock
    counted: Counted


def with_server(
    answer: Answer,
    play: Callable[[Bench], Awaitable[None]],
    settings: ApiSettings | None = None,
    **access: Any,
) -> None:
    """Run a scene in virtual time."""
    clock = VirtualClock()

    async def scene() -> None:
        async with Scripted(answer) as server:
            counted = Counted()
            api = Api.open(
                server.access(**access),
                clock,
                random.Random(1),
                settings=settings,
                observer=counted,
            )
            try:
                await play(Bench(api, server, clock, counted))
            finally:
                await api.close()
                await settle()

    run(scene(), clock)


# --- what goes over the wire -------------------------------------------------------------------------------------------


def test_a_request_as_it_arrives() -> None:
    async def play(bench: Bench) -> None:
        request = Request("PATCH", "/api/v1/nodes/a?x=%20", b'{"a":1}', MERGE_PATCH)
        assert await bench.api.send(request, Lane.STATUS) == b'{"ok":true}'
        (got,) = bench.server.requests
        assert (got.method, got.target, got.body) == (
            "PATCH",
            "/prefix/api/v1/nodes/a?x=%20",
            b'{"a":1}',
        )
        assert got.headers == {
            "host": f"127.0.0.1:{bench.server.port}",
            "user-agent": "bayplan",
            "accept": "application/json",
            "content-type": "application/merge-patch+json",
            "content-length": "7",
        }
        assert bench.counted.requests == [("PATCH", "200")]

    with_server(always(reply(200, b'{"ok":true}')), play, prefix="/prefix")


def test_a_request_that_is_part_of_a_trace_says_so() -> None:
    async def play(bench: Bench) -> None:
        parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        await bench.api.send(replace(READ, traceparent=parent), Lane.READ)
        assert bench.server.requests[0].headers["traceparent"] == parent

    with_server(always(reply()), play)


def test_an_answer_in_chunks_is_put_together() -> None:
    async def play(bench: Bench) -> None:
        assert await bench.api.send(READ, Lane.READ) == b"hello"

    with_server(always(CHUNKED + chunk(b"hel") + chunk(b"lo") + LAST_CHUNK), play)


def test_one_connection_serves_one_request_after_the_other() -> None:
    async def play(bench: Bench) -> None:
        for _ in range(5):
            await bench.api.send(READ, Lane.READ)
        assert bench.server.connections == 1

    with_server(always(reply()), play)


def test_a_connection_that_the_server_will_close_is_not_used_again() -> None:
    async def play(bench: Bench) -> None:
        for _ in range(3):
            await bench.api.send(READ, Lane.READ)
        assert bench.server.connections == 3

    with_server(always(reply(200, b"", "Connection: close")), play)


def test_never_more_connections_than_allowed() -> None:
    async def play(bench: Bench) -> None:
        await asyncio.gather(*(bench.api.send(READ, Lane.READ) for _ in range(50)))
        assert bench.server.connections <= 4
        assert len(bench.server.requests) == 50

    with_server(always(reply()), play, ApiSettings(connections=8))


def test_an_idle_connection_is_closed_after_a_while() -> None:
    async def play(bench: Bench) -> None:
        await bench.api.send(READ, Lane.READ)
        assert bench.api.statistics()["connections"] == {"idle": 1, "busy": 0}
        await asyncio.sleep(61)
        assert bench.api.statistics()["connections"] == {"idle": 0, "busy": 0}
        await bench.api.send(READ, Lane.READ)
        assert bench.server.connections == 2

    with_server(always(reply()), play)


def test_a_path_that_is_not_quoted_is_not_sent() -> None:
    async def play(bench: Bench) -> None:
        for path in ("/a b", "/a\r\nHost: x", "/ä"):
            with pytest.raises(ValueError, match="quote it"):
                await bench.api.send(Request("GET", path), Lane.READ)
        assert bench.server.requests == []

    with_server(always(reply()), play)


def test_requests_per_second_are_limited_on_request() -> None:
    async def play(bench: Bench) -> None:
        begun = bench.clock.monotonic()
        await asyncio.gather(*(bench.api.send(READ, Lane.READ) for _ in range(30)))
        assert bench.clock.monotonic() - begun == pytest.approx(2.0, abs=0.01)
        begun = bench.clock.monotonic()
        await bench.api.send(Request("GET", "/lease"), Lane.LEASE)
        assert bench.clock.monotonic() == begun

    with_server(always(reply()), play, ApiSettings(qps=10, burst=10))


# --- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        pytest.param(400, "BadRequest", Invalid, id="400"),
        pytest.param(401, "Unauthorized", Unauthorized, id="401"),
        pytest.param(403, "Forbidden", Forbidden, id="403"),
        pytest.param(404, "NotFound", NotFound, id="404"),
        pytest.param(409, "Conflict", Conflict, id="409"),
        pytest.param(409, "AlreadyExists", AlreadyExists, id="409 of another kind"),
        pytest.param(410, "Expired", Gone, id="410"),
        pytest.param(422, "Invalid", Invalid, id="422"),
        pytest.param(429, "TooManyRequests", TooManyRequests, id="429"),
        pytest.param(500, "InternalError", ServerError, id="500"),
        pytest.param(504, "Timeout", ServerError, id="504"),
        pytest.param(302, "", ApiError, id="a redirect"),
    ],
)
def test_a_refusal_is_an_error_of_its_kind(code: int, reason: str, kind: type[ApiError]) -> None:
    async def play(bench: Bench) -> None:
        with pytest.raises(kind) as caught:
            await bench.api.send(Request("GET", "/api/v1/pods"), Lane.READ)
        assert type(caught.value) is kind
        assert (caught.value.status, caught.value.reason) == (code, reason)
        said = f"{code} {reason}".strip()
        assert str(caught.value) == f"GET /api/v1/pods: {said}: because"

    with_server(always(refusal(code, reason, "because")), play)


def test_an_answer_that_is_no_status_is_quoted_in_part() -> None:
    async def play(bench: Bench) -> None:
        with pytest.raises(ServerError) as caught:
            await bench.api.send(Request("GET", "/x"), Lane.READ)
        assert str(caught.value).startswith("GET /x: 502: <html> bad gateway xxx")
        assert len(str(caught.value)) < 400

    with_server(always(reply(502, b"<html>\n bad gateway " + b"x" * 5000)), play)


def test_nobody_listens() -> None:
    async def play(bench: Bench) -> None:
        bench.server._server.close()
        with pytest.raises(Unreachable) as caught:
            await bench.api.send(Request("GET", "/x"), Lane.READ)
        assert (caught.value.refused, caught.value.sent) == (True, False)
        assert (
            str(caught.value) == f"GET /x: nobody listens at http://127.0.0.1:{bench.server.port}"
        )
        assert bench.counted.requests == [("GET", "<error>")]

    with_server(always(reply()), play)


def test_no_answer_in_time() -> None:
    async def silence(request: Received, wire: Wire) -> bytes | None:
        await asyncio.sleep(1000)
        return None

    async def play(bench: Bench) -> None:
        with pytest.raises(TimedOut) as caught:
            await bench.api.send(WRITE, Lane.BIND)
        assert caught.value.sent
        assert 30 <= bench.clock.monotonic() <= 31
        assert bench.api.statistics()["connections"]["busy"] == 0

    with_server(silence, play)


def test_an_answer_that_breaks_off() -> None:
    async def half(request: Received, wire: Wire) -> bytes | None:
        await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        return None

    async def play(bench: Bench) -> None:
        with pytest.raises(Unreachable, match="closed the connection") as caught:
            await bench.api.send(WRITE, Lane.BIND)
        assert caught.value.sent
        assert len(bench.server.requests) == 1

    with_server(half, play)


def test_an_answer_that_is_no_http() -> None:
    async def play(bench: Bench) -> None:
        with pytest.raises(Unreachable, match="does not speak HTTP"):
            await bench.api.send(Request("GET", "/x"), Lane.READ)

    with_server(always(b"220 mail.example.com ESMTP\r\n\r\n"), play)


def test_a_caller_who_gives_up_leaves_no_half_read_connection_behind() -> None:
    async def slow(request: Received, wire: Wire) -> bytes:
        if request.path == "/slow":
            await asyncio.sleep(5)
        return reply(200, request.path.encode())

    async def play(bench: Bench) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await bench.api.send(Request("GET", "/slow"), Lane.READ)
        assert await bench.api.send(Request("GET", "/quick"), Lane.READ) == b"/quick"

    with_server(slow, play)


# --- once more ---------------------------------------------------------------------------------------------------------


def test_a_server_in_trouble_is_asked_again() -> None:
    async def play(bench: Bench) -> None:
        assert await bench.api.send(WRITE, Lane.BIND) == b"done"
        assert bench.counted.requests == [("POST", "503"), ("POST", "500"), ("POST", "201")]
        assert bench.counted.retries == [("POST", "503"), ("POST", "500")]

    trouble = refusal(503, "ServiceUnavailable"), refusal(500, "InternalError")
    with_server(in_turn(*trouble, reply(201, b"done")), play)


@pytest.mark.parametrize(
    "busy",
    [
        pytest.param(refusal(429, "TooManyRequests", "", "Retry-After: 7"), id="in the header"),
        pytest.param(
            refusal(429, "TooManyRequests", details={"retryAfterSeconds": 7}), id="in the body"
        ),
    ],
)
def test_a_wait_that_is_asked_for_is_waited(busy: bytes) -> None:
    async def play(bench: Bench) -> None:
        await bench.api.send(WRITE, Lane.BIND)
        assert bench.clock.monotonic() == pytest.approx(7.0, abs=0.01)

    with_server(in_turn(busy, reply(201)), play)


def test_a_wait_that_is_too_long_is_not_waited() -> None:
    async def play(bench: Bench) -> None:
        with pytest.raises(TooManyRequests) as caught:
            await bench.api.send(WRITE, Lane.BIND)
        assert caught.value.retry_after_s == 600
        assert len(bench.server.requests) == 1

    with_server(always(refusal(429, "TooManyRequests", "", "Retry-After: 600")), play)


def test_while_one_waits_to_try_again_its_place_is_free_for_others() -> None:
    async def answer(request: Received, wire: Wire) -> bytes:
        return reply() if request.path == "/other" else refusal(503, "ServiceUnavailable")

    async def play(bench: Bench) -> None:
        waiting = asyncio.create_task(
            bench.api.send(Request("GET", "/x", retry=Retry(tries=2, first_s=5)), Lane.READ)
        )
        await settle(lambda: bool(bench.counted.retries))
        await bench.api.send(Request("GET", "/other"), Lane.READ)
        assert bench.clock.monotonic() < 1
        with pytest.raises(ServerError):
            await waiting

    with_server(answer, play, ApiSettings(connections=1))


def test_no_rights_is_not_tried_again() -> None:
    async def play(bench: Bench) -> None:
        with pytest.raises(Forbidden):
            await bench.api.send(WRITE, Lane.BIND)
        assert len(bench.server.requests) == 1

    with_server(always(refusal(403, "Forbidden")), play)


@pytest.mark.parametrize(
    ("request_", "tries"),
    [
        pytest.param(READ, 5, id="a read is repeated"),
        pytest.param(WRITE, 1, id="a binding that may have been carried out is not"),
    ],
)
def test_an_answer_that_got_lost(request_: Request, tries: int) -> None:
    async def lose(request: Received, wire: Wire) -> bytes | None:
        return None

    async def play(bench: Bench) -> None:
        with pytest.raises(Unreachable) as caught:
            await bench.api.send(request_, Lane.READ)
        assert caught.value.sent
        assert len(bench.server.requests) == tries

    with_server(lose, play)


def test_a_server_that_is_started_again_is_found_again() -> None:
    async def play(bench: Bench) -> None:
        bench.server._server.close()
        task = asyncio.create_task(bench.api.send(WRITE, Lane.BIND))
        await settle(lambda: bool(bench.counted.retries))
        async with Scripted(always(reply(201, b"new")), port=bench.server.port):
            assert await task == b"new"

    with_server(always(reply()), play)


def test_a_connection_that_was_closed_while_idle_costs_nothing() -> None:
    """The server closes idle connections; a request on its way just then is sent again at once, also a binding."""

    async def close_second(request: Received, wire: Wire) -> bytes | None:
        first_of_all = request.connection == 1 and request.path == "/first"
        return reply(200, b"ok") if first_of_all or request.connection > 1 else None

    async def play(bench: Bench) -> None:
        await bench.api.send(Request("GET", "/first"), Lane.READ)
        assert await bench.api.send(WRITE, Lane.BIND) == b"ok"
        assert [request.connection for request in bench.server.requests] == [1, 1, 2]
        assert bench.counted.retries == []
        assert bench.clock.monotonic() < 0.1

    with_server(close_second, play)


def test_a_write_that_must_not_be_sent_twice_is_not() -> None:
    async def close_second(request: Received, wire: Wire) -> bytes | None:
        return reply() if request.path == "/first" else None

    async def play(bench: Bench) -> None:
        await bench.api.send(Request("GET", "/first"), Lane.READ)
        with pytest.raises(Unreachable):
            await bench.api.send(Request("POST", "/count-up", b"{}"), Lane.READ)
        assert len(bench.server.requests) == 2

    with_server(close_second, play)


def test_a_timeout_on_a_used_connection_is_not_mistaken_for_one_that_was_closed() -> None:
    async def hang_second(request: Received, wire: Wire) -> bytes | None:
        if request.path != "/first":
            await asyncio.sleep(1000)
        return reply()

    async def play(bench: Bench) -> None:
        await bench.api.send(Request("GET", "/first"), Lane.READ)
        with pytest.raises(TimedOut):
            await bench.api.send(WRITE, Lane.BIND)
        assert len(bench.server.requests) == 2

    with_server(hang_second, play)


# --- who asks ----------------------------------------------------------------------------------------------------------


class Changing:
    """Credentials that are replaced when they are refused."""

    def __init__(self, *tokens: str | None) -> None:
        self._tokens = list(tokens)
        self.refused: list[str | None] = []
        self.certificate: PemPair | None = None

    def header(self, now: float) -> str | None:
        return self._tokens[0]

    async def renew(self, refused: str | None, now: float) -> None:
        self.refused.append(refused)
        if len(self._tokens) > 1:
            self._tokens.pop(0)


async def only_new(request: Received, wire: Wire) -> bytes:
    known = request.headers.get("authorization") == "Bearer new"
    return reply(200, b"welcome") if known else refusal(401, "Unauthorized", "who are you")


def test_refused_credentials_are_renewed_once() -> None:
    credentials = Changing("Bearer old", "Bearer new")

    async def play(bench: Bench) -> None:
        assert await bench.api.send(Request("GET", "/x"), Lane.READ) == b"welcome"
        assert credentials.refused == ["Bearer old"]

    with_server(only_new, play, credentials=credentials)


def test_credentials_that_remain_wrong_are_an_error() -> None:
    async def play(bench: Bench) -> None:
        with pytest.raises(Unauthorized, match="who are you"):
            await bench.api.send(READ, Lane.READ)
        assert len(bench.server.requests) == 2

    with_server(only_new, play, credentials=Changing("Bearer old"))


def test_credentials_that_have_expired_are_renewed_before_anything_is_sent() -> None:
    async def play(bench: Bench) -> None:
        await bench.api.send(Request("GET", "/x"), Lane.READ)
        assert len(bench.server.requests) == 1

    with_server(only_new, play, credentials=Changing(None, "Bearer new"))


def test_without_credentials_nothing_is_sent() -> None:
    async def play(bench: Bench) -> None:
        with pytest.raises(CredentialsError):
            await bench.api.send(READ, Lane.READ)
        assert bench.server.requests == []

    with_server(only_new, play, credentials=Changing(None))


# --- lanes -------------------------------------------------------------------------------------------------------------


def test_a_flood_of_events_leaves_room_for_a_binding_and_for_a_lease() -> None:
    release = asyncio.Event()

    async def answer(request: Received, wire: Wire) -> bytes:
        if request.path == "/event":
            await release.wait()
        return reply()

    async def play(bench: Bench) -> None:
        events = [
            asyncio.create_task(bench.api.send(Request("GET", "/event"), Lane.EVENT))
            for _ in range(100)
        ]
        await settle(lambda: len(bench.server.requests) == 4)
        await bench.api.send(WRITE, Lane.BIND)
        await bench.api.send(Request("GET", "/lease"), Lane.LEASE)
        assert bench.api.statistics()["event"] == {"busy": 4, "waiting": 96}
        release.set()
        await asyncio.gather(*events)

    with_server(answer, play, ApiSettings(connections=8))


def test_bindings_wait_no_longer_than_events_that_came_before() -> None:
    order: list[str] = []

    async def answer(request: Received, wire: Wire) -> bytes:
        order.append(request.path)
        await asyncio.sleep(1)
        return reply()

    async def play(bench: Bench) -> None:
        sends = [
            bench.api.send(Request("GET", f"/{lane.name}", retry=BIND), lane)
            for lane in (Lane.EVENT, Lane.EVENT, Lane.STATUS, Lane.BIND, Lane.EVICTION)
        ]
        await asyncio.gather(*sends)
        assert order == ["/EVENT", "/BIND", "/EVICTION", "/STATUS", "/EVENT"]

    with_server(answer, play, ApiSettings(connections=1))
