"""The extender's HTTP side: verbs in, answers out, within bounds of size and time.

An answer that a plugin makes impossible, or that comes too late, is given as configured: fail open (as if there were no
extender) or fail closed (an error, which fails the pod unless the scheduler may ignore us). Started by ``app.extender``.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from bayplan.errors import BayplanError, DecodeError
from bayplan.serve import health
from bayplan.serve.extender import wire
from bayplan.serve.extender.answers import everything_passes, meta_victims
from bayplan.serve.listening import Listeners
from bayplan.serve.refusal import RefusedError
from bayplan.telemetry.exposition import CONTENT_TYPE
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.clock import Clock
    from bayplan.serve.extender.answers import Answers
    from bayplan.serve.pages import Pages

_log: Final = get_logger(__name__)

VERBS: Final = ("filter", "prioritize", "preempt", "bind")
#: Longer than Go keeps an idle connection, so that it is Go that hangs up; and the longest that a request's head may take.
_PATIENCE_S: Final = 95.0
#: A request has to be here within this time, however slowly it is sent.
_BODY_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a request may cost, and what is answered beyond that."""

    #: From a request's arrival to its answer.
    budget_s: float = 2.0
    body_bytes: int = 128 << 20
    #: Where there is no answer in time, or none at all: let everything pass instead of failing the pod.
    fail_open: bool = False


#: Binds a pod; what is wrong, or an empty text.
Bind = Callable[[wire.BindingArguments], Awaitable[str]]


class ExtenderServer:
    """Serves the verbs, and beside them health and metrics."""

    def __init__(
        self, answers: Answers, bind: Bind, pages: Pages, clock: Clock, bounds: Bounds
    ) -> None:
        self._answers = answers
        self._bind = bind
        self._pages = pages
        self._checks = pages.health.by_path()
        self._clock = clock
        self._bounds = bounds
        #: Why no answer can be given yet; None once everything is known.
        self.not_ready: Callable[[], str | None] = lambda: None
        self._listeners = Listeners(_PATIENCE_S)

    async def listen(
        self, host: str, port: int, tls: ssl.SSLContext | None, *, wants_certificate: bool = False
    ) -> int:
        """Serve; returns the port, which is chosen where ``port`` is 0.

        Raises:
            ListenError: the address is taken or not ours.
        """

        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            return await self._answer(request, wants_certificate=wants_certificate)

        remedy = "--bind chooses another address"
        chosen = await self._listeners.listen(handle, host, port, tls, remedy)
        scheme = "https" if tls is not None else "http"
        _log.info("Serving the extender", address=f"{scheme}://{host}:{chosen}")
        return chosen

    async def close(self) -> None:
        """Let those finish who are being answered, and hang up on the rest."""
        await self._listeners.close()

    # --- requests ------------------------------------------------------------------------------------------------------

    async def _answer(
        self, request: web.BaseRequest, *, wants_certificate: bool
    ) -> web.StreamResponse:
        try:
            if request.method == "GET":
                return self._page(request.path)
            return await self._serve(_verb(request, wants_certificate), request)
        except RefusedError as refused:
            # What else it would send is of no interest.
            response = web.Response(status=refused.code, text=f"{refused.message}\n")
            response.force_close()
            return response
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception as error:  # noqa: BLE001 - one request fails, and no other
            _log.exception("A request failed", error, path=request.path)
            return web.Response(status=500, text="internal error\n")

    async def _serve(self, verb: str, request: web.BaseRequest) -> web.Response:
        began = self._clock.monotonic()
        result = "refused"
        try:
            body = await self._body(request)
            arrived = self._clock.monotonic()
            if verb == "bind":
                result, answer = await self._bound(body)
            else:
                result, answer = self._judged(verb, body, arrived)
        except DecodeError as error:
            raise RefusedError(400, str(error)) from None
        finally:
            seconds = self._clock.monotonic() - began
            self._pages.metrics.extender_request(verb, result, seconds)
        if answer is None:
            raise RefusedError(500, f"{verb} could not be answered; the log says why")
        return web.Response(body=wire.encode(answer), content_type="application/json")

    async def _body(self, request: web.BaseRequest) -> bytes:
        limit = self._bounds.body_bytes
        too_long = f"the body may have {limit} bytes at most"
        if (request.content_length or 0) > limit:
            raise RefusedError(413, too_long)
        body = bytearray()
        try:
            async with asyncio.timeout(_BODY_S):
                async for piece in request.content.iter_any():
                    body += piece
                    if len(body) > limit:
                        raise RefusedError(413, too_long)
        except TimeoutError:
            raise RefusedError(408, f"the body was not here within {_BODY_S:g} s") from None
        return bytes(body)

    async def _bound(self, body: bytes) -> tuple[str, wire.BindingAnswer]:
        wrong = await self._bind(wire.read(wire.BindingArguments, body))
        return "error" if wrong else "ok", wire.BindingAnswer(wrong)

    def _judged(self, verb: str, body: bytes, arrived: float) -> tuple[str, Any]:
        """What came of it, and the answer; None where there is none and no way to say so."""
        kind = wire.PreemptionArguments if verb == "preempt" else wire.Arguments
        arguments = wire.read(kind, body)
        why = self.not_ready()
        result, answer = "error", None
        if why is None:
            try:
                answer = getattr(self._answers, verb)(arguments)
                result = "ok"
            except DecodeError:
                raise
            except BayplanError as error:
                why = str(error)
            except Exception as error:  # noqa: BLE001 - a mistake of ours: answered as a plugin's
                _log.exception("Cannot judge", error, verb=verb)
                why = f"internal error: {type(error).__name__}: {error}"
            took_s = self._clock.monotonic() - arrived
            if took_s > self._bounds.budget_s:
                # The evaluation is kept: asked again about such a pod, the answer is there.
                result = "late"
                why = f"took {took_s:.2f} s, more than the budget of {self._bounds.budget_s:g} s"
        if why is not None:
            mode = "open" if self._bounds.fail_open else "closed"
            _log.warning("Failing", verb=verb, mode=mode, why=why)
            answer = self._open(verb, arguments) if self._bounds.fail_open else _closed(verb, why)
        return result, answer

    def _open(self, verb: str, arguments: Any) -> Any:
        """As if there were no extender."""
        if isinstance(arguments, wire.PreemptionArguments):
            return meta_victims(wire.victims_of(arguments))
        asked = self._answers.asked(arguments)
        if verb == "prioritize":
            return [wire.HostPriority(name, 0) for name in asked.names]
        return everything_passes(asked)

    # --- pages ---------------------------------------------------------------------------------------------------------

    def _page(self, path: str) -> web.Response:
        if path in self._checks:
            status, text = health.page(path, self._checks[path], {})
            return web.Response(status=status, text=text)
        if path == "/metrics":
            body = b"".join(self._pages.metrics_text())
            return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})
        raise RefusedError(404, "the server could not find the requested resource")


def _closed(verb: str, why: str) -> Any:
    """Filter can say that something is wrong; the others only by their status."""
    if verb != "filter":
        return None
    return wire.FilterAnswer(None, None, {}, {}, f"bayplan extender: {why}")


def _verb(request: web.BaseRequest, wants_certificate: bool) -> str:  # noqa: FBT001 - one caller, which names it
    """Which verb is asked for, by somebody who may."""
    if wants_certificate and not _shows_certificate(request):
        raise RefusedError(401, "a client certificate is required")
    verb = request.path.rpartition("/")[2]
    if request.method != "POST" or verb not in VERBS:
        raise RefusedError(404, f"POST one of {', '.join(VERBS)}")
    return verb


def _shows_certificate(request: web.BaseRequest) -> bool:
    tls: Any = request.transport and request.transport.get_extra_info("ssl_object")
    return bool(tls and tls.getpeercert())
