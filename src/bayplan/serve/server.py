"""The HTTP server: one listener with TLS and a gatekeeper, and on request one without either for health and metrics.

Started and stopped by ``app``, in the loop that schedules too: pages are small, metrics are written in pieces with the loop's
turn between them, and whoever is slow is hung up on: 30 seconds for a request to be complete, 10 for a TLS handshake, 64 KiB for
a body, 256 connections.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from bayplan.serve import health, pages
from bayplan.serve.gatekeeper import HEALTH_PATHS, Caller
from bayplan.serve.listening import ListenError, Listeners
from bayplan.serve.refusal import RefusedError
from bayplan.telemetry.exposition import CONTENT_TYPE
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.serve.gatekeeper import Gatekeeper
    from bayplan.serve.pages import Pages
    from bayplan.serve.zpages import Answer

_log: Final = get_logger(__name__)

_PATIENCE_S: Final = 30.0
_BODY_S: Final = 10.0
_BODY_BYTES: Final = 64 * 1024

_PLAIN_TEXT: Final = "text/plain; charset=utf-8"
_NOT_FOUND: Final = "the server could not find the requested resource"
_HEADERS: Final = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache, private"}


class Server:
    """Serves pages."""

    def __init__(self, shown: Pages) -> None:
        self._pages = shown
        self._checks = shown.health.by_path()
        self._listeners = Listeners(_PATIENCE_S)

    # --- listening -----------------------------------------------------------------------------------------------------

    async def listen_securely(
        self, host: str, port: int, tls: ssl.SSLContext, gatekeeper: Gatekeeper
    ) -> int:
        """Serve everything over TLS; returns the port, which is chosen where ``port`` is 0.

        Raises:
            ListenError: the address is taken or not ours.
        """
        return await self._listen(host, port, tls, gatekeeper)

    async def listen_plainly(self, host: str, port: int) -> int:
        """Serve health and metrics to whoever asks. Raises ``ListenError``."""
        return await self._listen(host, port, None, None)

    async def _listen(
        self, host: str, port: int, tls: ssl.SSLContext | None, gatekeeper: Gatekeeper | None
    ) -> int:
        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            return await self._answer(request, gatekeeper)

        flag = "--http-port" if tls is None else "--secure-port"
        remedy = f"{flag} chooses another port, 0 none"
        chosen = await self._listeners.listen(handle, host, port, tls, remedy)
        scheme = "https" if tls is not None else "http"
        _log.info("Serving", address=f"{scheme}://{host}:{chosen}")
        return chosen

    async def close(self) -> None:
        """Let those finish who are being answered, and hang up on the rest."""
        await self._listeners.close()

    # --- answering -----------------------------------------------------------------------------------------------------

    async def _answer(
        self, request: web.BaseRequest, gatekeeper: Gatekeeper | None
    ) -> web.StreamResponse:
        try:
            _check_length(request.content_length or 0)
            user = None
            if gatekeeper is not None:
                user = await gatekeeper.admit(_caller(request))
            return await self._page(request, known=user is not None, plain=gatekeeper is None)
        except RefusedError as refused:
            return _refuse(request, refused)
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception as error:  # noqa: BLE001 - a page that fails is an answer, and no more than that
            _log.exception("A page failed", error, path=request.path)
            return _refuse(request, RefusedError(500, "Internal Server Error"))

    async def _page(
        self, request: web.BaseRequest, *, known: bool, plain: bool
    ) -> web.StreamResponse:
        path = request.path
        if path == "/debug/flags/v" and not plain:
            return await _set_verbosity(request)
        if request.method not in ("GET", "HEAD"):
            raise RefusedError(
                405, "the server does not allow this method on the requested resource"
            )
        if path in self._checks:
            query: dict[str, list[str]] = {}
            for key, value in request.query.items():
                query.setdefault(key, []).append(value)
            return _text(*health.page(path, self._checks[path], query, reveal=known))
        if path == "/metrics":
            return await _stream(request, self._pages.metrics_text())
        if not plain:
            return await self._guarded_page(request)
        raise RefusedError(404, _NOT_FOUND)

    async def _guarded_page(self, request: web.BaseRequest) -> web.StreamResponse:
        """Pages that are not for everybody."""
        path = request.path
        if path == "/metrics/resources" and self._pages.pod_resources is not None:
            return await _stream(request, self._pages.resources_text())
        if path == "/configz":
            body = self._pages.configz_text()
            return web.Response(body=body, content_type="application/json", headers=_HEADERS)
        found = self._single(path)
        if found is not None:
            return _text(*health.single(found))
        if self._pages.zpages is not None:
            answer = self._pages.zpages.page(path, request.headers.get("Accept", ""))
            if answer is not None:
                return _zpage(answer)
        if self._pages.debug is not None:
            pieces = await self._pages.debug.page(path, request.query)
            if pieces is not None:
                return await _stream(request, pieces, "application/json")
        raise RefusedError(404, _NOT_FOUND)

    def _single(self, path: str) -> health.Check | None:
        """``/readyz/name``."""
        root, _, name = path.rpartition("/")
        checks = self._checks.get(root, ())
        return next((check for check in checks if check.name == name), None)


def _check_length(length: int) -> None:
    if length > _BODY_BYTES:
        raise RefusedError(413, f"the body may have {_BODY_BYTES} bytes at most")


def _caller(request: web.BaseRequest) -> Caller:
    transport = request.transport
    tls: Any = transport.get_extra_info("ssl_object") if transport is not None else None
    return Caller(
        request.method.lower(),
        request.path,
        request.headers.get("Authorization", ""),
        tls.getpeercert() if tls is not None else None,
    )


def _text(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=text, headers={**_HEADERS, "Content-Type": _PLAIN_TEXT})


def _zpage(answer: Answer) -> web.Response:
    headers = {**_HEADERS, "Content-Type": answer.content_type}
    if answer.warning:
        headers["Warning"] = answer.warning
    return web.Response(body=answer.body, headers=headers)


def _refuse(request: web.BaseRequest, refused: RefusedError) -> web.Response:
    response = web.Response(
        status=refused.code,
        body=refused.body(),
        content_type="application/json",
        headers=_HEADERS,
    )
    if request.can_read_body:
        # What else it would send is of no interest.
        response.force_close()
    return response


async def _stream(
    request: web.BaseRequest, pieces: Iterator[bytes], content_type: str = CONTENT_TYPE
) -> web.StreamResponse:
    response = web.StreamResponse(headers={**_HEADERS, "Content-Type": content_type})
    await response.prepare(request)
    if request.method != "HEAD":
        for piece in pieces:
            await response.write(piece)
            await asyncio.sleep(0)
    await response.write_eof()
    return response


async def _set_verbosity(request: web.BaseRequest) -> web.Response:
    if request.method != "PUT":
        return _text(406, "unsupported http method")
    body = bytearray()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_BODY_S):
            async for piece in request.content.iter_any():
                body += piece
                _check_length(len(body))
    return _text(*pages.set_verbosity(body.decode("ascii", "replace")))


__all__ = ["HEALTH_PATHS", "ListenError", "Server"]
