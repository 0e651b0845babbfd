"""HTTP: from a request on a connection to an operation, and back.

``Serving`` is the one handler of the server. It reads the request, knows who asks, meets the faults that a test has set,
lets ``operations`` do the work or streams a watch, and turns refusals into ``Status`` objects.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from aiohttp import web

from bayplan.embedded import refusals, reviews
from bayplan.embedded.faults import Fault, OpenWatch
from bayplan.embedded.objects import encode
from bayplan.embedded.web import negotiation, operations
from bayplan.embedded.web.operations import Answer, Call
from bayplan.embedded.web.paths import segments, target
from bayplan.embedded.web.streaming import BOOKMARK_S, open_watch, timeout_of, wants_bookmarks
from bayplan.errors import RequestRefused
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.embedded.faults import Faults
    from bayplan.embedded.store import Store
    from bayplan.embedded.watching import Watch
    from bayplan.embedded.web.documents import Documents
    from bayplan.embedded.web.operations import Operations

_log = get_logger(__name__)

#: What kube-apiserver takes, too.
MOST_BYTES: Final = 3 * 1024 * 1024

#: Without a token these are the only names under which the server is asked for.
_OWN_NAMES: Final = frozenset({"127.0.0.1", "localhost", "kubernetes"})

_ANONYMOUS: Final = frozenset({"/healthz", "/livez", "/readyz"})


class _Lost(Exception):
    """The connection is broken on purpose."""


class Serving:
    """Answers requests."""

    def __init__(
        self,
        store: Store,
        operations: Operations,
        documents: Documents,
        faults: Faults,
        tokens: Mapping[str, str],
    ) -> None:
        self._store = store
        self._operations = operations
        self._documents = documents
        self._faults = faults
        self._tokens = tokens

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        try:
            return await self._answered(request)
        except RequestRefused as refusal:
            return refused(refusal)
        except web.HTTPRequestEntityTooLarge:
            message = f"Request entity is too large: limit is {MOST_BYTES}"
            return refused(RequestRefused(413, "RequestEntityTooLarge", message))
        except _Lost:
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        except (asyncio.CancelledError, ConnectionError):
            raise
        except Exception as error:  # noqa: BLE001 - one request may fail, the server goes on
            _log.exception("Request failed", error, method=request.method, path=request.path)
            return refused(refusals.internal_error(f"{type(error).__name__}: {error}"))

    async def _answered(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.rel_url.raw_path
        user = self._user(request, path)
        about = target(self._store.kinds, segments(path))
        raw = await request.read() if request.body_exists else b""
        headers = request.headers
        if about is None:
            return self._plain(request, path)
        call = Call(
            request.method,
            about,
            request.rel_url.query,
            ",".join(headers.getall("Accept", [])),
            headers.get("Content-Type", ""),
            raw,
            user,
            headers.get("User-Agent", ""),
        )
        fault = self._faults.met_by(call.access)
        if fault is not None:
            await self._meet(fault)
        operations.check_access(call, self._faults.forbids)
        if call.is_watch:
            operations.check_verb(call)
            return await self._watch(request, call)
        answer = self._operations.carry_out(call)
        if fault is not None:
            answer = _after(fault, answer)
        response = web.Response(
            status=answer.status, body=answer.body, content_type=negotiation.JSON
        )
        for warning in answer.warnings:
            response.headers.add("Warning", f'299 - "{_quoted(warning)}"')
        if fault is not None and fault.close:
            response.force_close()
        return response

    def _user(self, request: web.BaseRequest, path: str) -> str:
        """Who asks.

        Raises:
            RequestRefused: 401; 403 for a page in a browser that a foreign name has led here.
        """
        if not self._tokens and urlsplit(f"//{request.host}").hostname not in _OWN_NAMES:
            raise RequestRefused(403, "Forbidden", f"nobody calls me {request.host}")
        if not self._tokens or path in _ANONYMOUS:
            return reviews.ADMIN
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        user = self._tokens.get(token.strip()) if scheme.lower() == "bearer" else None
        if user is None:
            raise refusals.unauthorized()
        return user

    def _plain(self, request: web.BaseRequest, path: str) -> web.Response:
        """What is no resource: discovery, health, version, OpenAPI."""
        found = self._documents.find(path, request.headers.get("Accept", ""))
        if found is None or request.method not in ("GET", "HEAD"):
            if path.startswith(("/api/", "/apis/")):
                raise refusals.no_such_path()
            return web.Response(status=404, text="404 page not found\n")
        headers = {"Content-Type": found.content_type, "Cache-Control": "no-cache, private"}
        if found.etag:
            headers["ETag"] = found.etag
            if request.headers.get("If-None-Match") == found.etag:
                return web.Response(status=304, headers=headers)
        return web.Response(body=found.body, headers=headers)

    async def _meet(self, fault: Fault) -> None:
        if fault.delay_s:
            await asyncio.sleep(fault.delay_s)
        if fault.lose_request:
            raise _Lost
        if fault.refusal is not None:
            raise fault.refusal

    # Watches

    async def _watch(self, request: web.BaseRequest, call: Call) -> web.StreamResponse:
        form, selection = self._operations.form(call), self._operations.selection(call)
        shelf = self._store.shelves[call.target.kind.shelf]
        watch = open_watch(shelf, self._store.version, selection, form, call.query)
        response = web.StreamResponse(headers={"Content-Type": negotiation.JSON})
        response.enable_chunked_encoding()
        transport = request.transport
        assert isinstance(transport, asyncio.Transport)
        with self._faults.registered(OpenWatch(shelf.name, watch, transport)):
            timers = self._timers(watch, call)
            try:
                await response.prepare(request)
                while batch := await watch.lines():
                    await response.write(batch)
                await response.write_eof()
            except ConnectionError:
                pass  # The client has hung up, which is how most watches end.
            finally:
                watch.end()
                for timer in timers:
                    timer.cancel()
        return response

    def _timers(self, watch: Watch, call: Call) -> list[asyncio.TimerHandle]:
        """The end of a watch, and its bookmarks until then."""
        loop = asyncio.get_running_loop()
        ends_s = timeout_of(call.query)
        timers = [loop.call_later(ends_s, watch.end)]
        if wants_bookmarks(call.query):

            def bookmark() -> None:
                watch.bookmark(self._store.version)
                timers[-1] = loop.call_later(BOOKMARK_S, bookmark)

            # One shortly before the end, so that the client can go on from there.
            timers.append(loop.call_later(max(ends_s - 2, 0.0), self._bookmark, watch))
            timers.append(loop.call_later(BOOKMARK_S, bookmark))
        return timers

    def _bookmark(self, watch: Watch) -> None:
        watch.bookmark(self._store.version)


def _after(fault: Fault, answer: Answer) -> Answer:
    """What becomes of an answer.

    Raises:
        _Lost: nothing.
    """
    if fault.lose_answer:
        raise _Lost
    return replace(answer, body=fault.garbage) if fault.garbage is not None else answer


def _quoted(text: str) -> str:
    """For a header: on one line, with its own quotes marked."""
    return " ".join(text.replace("\\", "\\\\").replace('"', '\\"').split())


def refused(refusal: RequestRefused) -> web.Response:
    """A refusal as an answer."""
    headers = {}
    after = (refusal.details or {}).get("retryAfterSeconds")
    if after:
        headers["Retry-After"] = str(after)
    return web.Response(
        status=refusal.code,
        body=encode(refusals.status_of(refusal)),
        content_type=negotiation.JSON,
        headers=headers,
    )
