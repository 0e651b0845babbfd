"""The API server: requests go in, answers or typed errors come out.

``send`` waits for its turn (``lanes``), signs, sends, and tries again where the request's policy grants it (``retry``);
``stream`` opens a watch on a connection of its own. Opened once by ``bayplan.app``, used by everything that reads or writes.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import Final, Protocol

from bayplan.client.access import ClusterAccess
from bayplan.client.connection import Connection
from bayplan.client.dialing import Dialer
from bayplan.client.lanes import Gate, Lane, Tokens
from bayplan.client.pool import Pool
from bayplan.client.request import Request
from bayplan.client.retry import Again
from bayplan.client.status import error_of
from bayplan.client.stream import Stream
from bayplan.clock import Clock
from bayplan.errors import ApiError, BayplanError, CredentialsError, TimedOut, Unreachable
from bayplan.telemetry.log import get_logger

_log = get_logger(__name__)

#: Held in memory at most of one answer: a page of 500 large objects.
_BODY_LIMIT: Final = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """How requests are sent."""

    #: One request each; two more are kept for leases, and each watch has its own.
    connections: int = 32
    timeout_s: float = 30.0
    connect_timeout_s: float = 10.0
    #: Requests per second on average, and at once after a pause; 0: no limit. Leases are not counted.
    qps: float = 0.0
    burst: int = 100
    user_agent: str = "bayplan"


class ApiObserver(Protocol):
    """Hears of every exchange (``telemetry.metrics.Metrics``)."""

    def api_request(self, method: str, code: str, host: str, seconds: float) -> None:
        """The API server answered; ``code`` is ``<error>`` where it did not."""

    def api_retry(self, method: str, code: str, host: str) -> None:
        """A request is sent again."""


class Sender(Protocol):
    """The one thing that most users of an ``Api`` want of it."""

    async def send(self, request: Request, lane: Lane, *, timeout_s: float | None = None) -> bytes:
        """Carry out a request and give the body of the answer."""


@dataclass(frozen=True, slots=True)
class _Answered:
    status: int
    body: bytes
    retry_after_s: float


class Api:
    """One API server, as one loop sees it."""

    def __init__(
        self,
        access: ClusterAccess,
        clock: Clock,
        rng: random.Random,
        *,
        settings: ApiSettings | None = None,
        observer: ApiObserver | None = None,
    ) -> None:
        self._settings = settings = settings or ApiSettings()
        self._clock = clock
        self._rng = rng
        self._observer = observer
        self._credentials = access.credentials
        self._loop = asyncio.get_running_loop()
        self._dialer = Dialer(access, timeout_s=settings.connect_timeout_s, body_limit=_BODY_LIMIT)
        self._pool = Pool(self._dialer)
        tokens = Tokens(settings.qps, settings.burst) if settings.qps else None
        self._gate = Gate(settings.connections, tokens)
        self._prefix = access.server.prefix
        self._host = access.server.authority
        self._fields = (
            f" HTTP/1.1\r\nHost: {self._host}\r\nUser-Agent: {settings.user_agent}\r\n"
            "Accept: application/json\r\n"
        )

    @classmethod
    def open(
        cls,
        access: ClusterAccess,
        clock: Clock,
        rng: random.Random,
        *,
        settings: ApiSettings | None = None,
        observer: ApiObserver | None = None,
    ) -> Api:
        """Ready to send; connections are made when they are needed. Has to be called in the loop that uses it."""
        return cls(access, clock, rng, settings=settings, observer=observer)

    async def send(self, request: Request, lane: Lane, *, timeout_s: float | None = None) -> bytes:
        """Carry out a request and give the body of the answer.

        Args:
            request: what to do; it says itself how often it may be tried.
            lane: what it is for.
            timeout_s: for each try, if another than the usual.

        Raises:
            ApiError: the API server said no.
            Unreachable: it said nothing; ``sent`` tells whether it may have done what was asked.
            CredentialsError: there are no credentials to ask with.
        """
        tried = 0
        while True:
            tried += 1
            await self._gate.enter(lane)
            try:
                return await self._try(request, timeout_s or self._settings.timeout_s)
            except (ApiError, Unreachable, CredentialsError) as error:
                verdict = request.retry.judge(error, tried, self._rng)
                if not isinstance(verdict, Again):
                    raise
                if self._observer is not None:
                    self._observer.api_retry(request.method, _code_of(error), self._host)
            finally:
                self._gate.leave(lane)
            await asyncio.sleep(verdict.after_s)

    async def stream(self, path: str, *, silence_s: float) -> Stream:
        """Open an answer without an end, on a connection of its own; the caller closes it.

        Args:
            path: what to read, with the query.
            silence_s: without a byte for so long it counts as broken.

        Raises:
            ApiError, Unreachable, CredentialsError: as ``send``, at the first try.
        """
        request = Request("GET", path)
        # Without the query, which is another each time.
        name = f"WATCH {path.partition('?')[0]}"
        started = self._clock.monotonic()
        code = "<error>"
        try:
            header = await self._header()
            connection = await self._begin(request, header)
            if connection.answer.status == 401:
                await self._renew(header)
                connection = await self._begin(request, await self._header())
            answer = connection.answer
            code = str(answer.status)
            if answer.status == 200:
                return Stream(connection, silence_s)
            raise error_of(
                answer.status,
                bytes(answer.body),
                request=name,
                retry_after_s=answer.retry_after_s,
            )
        except Unreachable as error:
            raise _named(error, name) from error
        finally:
            if self._observer is not None:
                seconds = self._clock.monotonic() - started
                self._observer.api_request("GET", code, self._host, seconds)

    async def close(self) -> None:
        """Hang up everywhere."""
        self._pool.close()

    def statistics(self) -> dict[str, dict[str, int]]:
        """Connections, and requests per lane."""
        return {"connections": self._pool.statistics(), **self._gate.statistics()}

    async def _try(self, request: Request, timeout_s: float) -> bytes:
        """One try; where the credentials are refused, another one with newer ones."""
        header = await self._header()
        answered = await self._exchange(request, header, timeout_s)
        if answered.status == 401:
            await self._renew(header)
            answered = await self._exchange(request, await self._header(), timeout_s)
        if 200 <= answered.status < 300:
            return answered.body
        raise error_of(
            answered.status,
            answered.body,
            request=str(request),
            retry_after_s=answered.retry_after_s,
        )

    async def _exchange(self, request: Request, header: str, timeout_s: float) -> _Answered:
        """One answer; a connection that was closed behind our back while it was idle does not count."""
        data = self._encode(request, header)
        started = self._clock.monotonic()
        code = "<error>"
        answered: _Answered | None = None
        try:
            connection = self._pool.take_idle()
            if connection is not None:
                try:
                    answered = await self._ask(connection, request, data, timeout_s)
                except Unreachable:
                    if not (connection.went_stale and request.repeatable):
                        raise
            if answered is None:
                connection = await self._pool.take_new()
                answered = await self._ask(connection, request, data, timeout_s)
            code = str(answered.status)
        except Unreachable as error:
            raise _named(error, str(request)) from error
        else:
            return answered
        finally:
            if self._observer is not None:
                seconds = self._clock.monotonic() - started
                self._observer.api_request(request.method, code, self._host, seconds)

    async def _ask(
        self, connection: Connection, request: Request, data: bytes, timeout_s: float
    ) -> _Answered:
        try:
            answer = await connection.ask(
                data, self._loop.time() + timeout_s, without_body=request.method == "HEAD"
            )
            return _Answered(answer.status, bytes(answer.body), answer.retry_after_s)
        finally:
            self._pool.give_back(connection)

    async def _begin(self, request: Request, header: str) -> Connection:
        """A connection of its own on which the answer has begun, if it is a good one; a bad one is complete."""
        connection = await self._dialer.dial()
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                data = self._encode(request, header)
                answer = await connection.ask(data, float("inf"), until_head=True)
        except TimeoutError:
            connection.close()
            raise TimedOut("no answer in time", sent=True) from None
        except BaseException:
            connection.close()
            raise
        if answer.status != 200:
            connection.close()
        return connection

    def _encode(self, request: Request, header: str) -> bytes:
        path = self._prefix + request.path
        if not (path.isascii() and path.isprintable()) or " " in path:
            raise ValueError(f"{path!r} is no path: quote it")
        head = f"{request.method} {path}{self._fields}"
        if header:
            head += f"Authorization: {header}\r\n"
        if request.traceparent:
            head += f"traceparent: {request.traceparent}\r\n"
        body = request.body
        if body:
            head += f"Content-Type: {request.content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
        elif request.method in ("POST", "PUT", "PATCH"):
            head += "Content-Length: 0\r\n\r\n"
        else:
            head += "\r\n"
        return head.encode("latin-1") + body

    async def _header(self) -> str:
        """Whom to be taken for."""
        now = self._clock.now()
        header = self._credentials.header(now)
        if header is None:
            await self._credentials.renew(None, now)
            header = self._credentials.header(now)
        if header is None:
            raise CredentialsError("the credentials have expired, and so have the new ones")
        return header

    async def _renew(self, refused: str) -> None:
        """The API server does not believe who we are: look for newer credentials and certificates."""
        _log.info("The API server refused the credentials; looking for newer ones")
        try:
            await self._credentials.renew(refused, self._clock.now())
        except CredentialsError as error:
            # Then the same again: what counts is what the API server says to it.
            _log.warning("There are no newer credentials", err=str(error))
        self._pool.look_at_certificates()


def _named(error: Unreachable, request: str) -> Unreachable:
    """The same error, with the request in its message."""
    return type(error)(f"{request}: {error.message}", sent=error.sent, refused=error.refused)


def _code_of(error: BayplanError) -> str:
    return str(error.status) if isinstance(error, ApiError) else "<error>"
