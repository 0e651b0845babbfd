"""Telling the API server that a pod runs on a node, and finding out what has become of it where the answer is no, or lost.

Called by DefaultBinder through the handle. The API server refuses a binding whose pod is bound already, is being deleted,
is gated, or is another one by now; which of these it was decides what happens next, so the pod is looked at. A binding
whose answer was lost may have been made: it is never taken for a failure before the API server, or the watch, has said so.
::

    POST ──201──▶ bound
     │ ├─ not sent, 429, 401, 403 ──▶ failed: the pod is tried again later
     │ └─ 409, 404, 5xx, no answer ──▶ GET ── on our node ──▶ bound
     │                                  │ ├─ on another node, gone, another pod ──▶ the watch's handler is told; failed
     │                                  │ └─ no answer ──▶ wait, look again
     └──────────────── unbound, answer was lost ─┘
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from bayplan.client import resources
from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.client.retry import IDEMPOTENT
from bayplan.errors import (
    ApiError,
    BayplanError,
    Conflict,
    Forbidden,
    NotFound,
    ServerError,
    Unauthorized,
    Unreachable,
)
from bayplan.framework.status import Code, Rejected
from bayplan.model.decode import decode_as
from bayplan.model.pod import Pod
from bayplan.telemetry.log import get_logger

if TYPE_CHECKING:
    from bayplan.client.api import Sender
    from bayplan.cluster.podinfo import PodInfo
    from bayplan.telemetry.metrics import Metrics

_log: Final = get_logger(__name__)

#: Bindings are sent at most so often; in between the pod is looked at.
_TRIES: Final = 3
#: Between two looks at a pod while the API server says nothing.
_FIRST_LOOK_S: Final = 0.5
_LONGEST_LOOK_S: Final = 10.0


class PodNews(Protocol):
    """The handler of pods that watches feed, as far as it is needed here (``runtime.ingest.pods``)."""

    def on_put(self, pod: Pod) -> None:
        """A pod as the API server shows it."""
        ...

    def on_gone(self, namespace: str, name: str, uid: str, last: Pod | None) -> None:
        """A pod that is no longer there."""
        ...

    def seen_on(self, pod: PodInfo) -> str | None:
        """The node on which the watch shows exactly this pod; empty: it is gone; None: it has no node yet."""
        ...


class BindRequests:
    """Sends bindings."""

    def __init__(self, api: Sender, metrics: Metrics, may_write: Callable[[], bool]) -> None:
        self._api = api
        self._metrics = metrics
        #: Whether this process still leads: asked right before each binding.
        self._may_write = may_write
        #: Told what is found out about a pod; set by ``app``.
        self.news: PodNews

    async def bind(self, pod: PodInfo, node: str, notes: Mapping[str, str]) -> Rejected | None:
        """Bind; None once the pod is on the node, whoever's request it was."""
        if debug := _log.v(3):
            debug.info("Attempting to bind pod to node", pod=pod.key, node=node)
        request = resources.bind(pod.namespace, pod.name, pod.uid, node, notes)
        problem: BayplanError | None = None
        for _ in range(_TRIES):
            if not self._may_write():
                return _failed("this instance does not lead any more")
            try:
                await self._api.send(request, Lane.BIND)
            except BayplanError as error:
                problem = error
            else:
                return None
            if not _leaves_doubt(problem):
                self._count(problem)
                break
            if await self._is_on(pod, node, problem):
                return None
            if isinstance(problem, ApiError) and problem.status < 500:
                break
            if self.news.seen_on(pod) is not None:
                break
        return _failed(str(problem))

    async def _is_on(self, pod: PodInfo, node: str, problem: BayplanError) -> bool:
        """Whether the pod runs on the node after all; what is found out instead is told on."""
        found = await self._look(pod)
        if isinstance(found, str):
            # The watch was faster.
            if not found:
                self._metrics.bind_conflict("gone")
            return found == node
        if found.uid != pod.uid:
            self._metrics.bind_conflict("uid")
        elif found.spec.node_name == node:
            _log.info("Pod is bound though the request failed", pod=pod.key, node=node, err=problem)
            return True
        elif isinstance(problem, Conflict):
            self._metrics.bind_conflict(_conflict(found))
        self.news.on_put(found)
        return False

    async def _look(self, pod: PodInfo) -> Pod | str:
        """The pod as it is now, or where the watch shows it meanwhile: its node, empty if it is gone."""
        path = resources.PODS.path(pod.name, pod.namespace)
        wait_s = _FIRST_LOOK_S
        while True:
            try:
                answer = await self._api.send(Request("GET", path, retry=IDEMPOTENT), Lane.BIND)
                return decode_as(Pod, msgspec.json.decode(answer))
            except NotFound:
                self.news.on_gone(pod.namespace, pod.name, pod.uid, None)
                return ""
            except BayplanError as error:
                _log.warning("Cannot find out whether pod was bound", pod=pod.key, err=error)
            await asyncio.sleep(wait_s)
            seen_on = self.news.seen_on(pod)
            if seen_on is not None:
                return seen_on
            wait_s = min(2 * wait_s, _LONGEST_LOOK_S)

    def _count(self, problem: BayplanError) -> None:
        if isinstance(problem, (Forbidden, Unauthorized)):
            self._metrics.bind_conflict("forbidden")


def _leaves_doubt(problem: BayplanError) -> bool:
    """Whether the pod has to be looked at to know how things stand."""
    if isinstance(problem, Unreachable):
        return problem.sent
    return isinstance(problem, (Conflict, NotFound, ServerError))


def _conflict(found: Pod) -> str:
    if found.spec.node_name:
        return "assigned"
    return "deleting" if found.is_terminating else "gated"


def _failed(text: str) -> Rejected:
    return Rejected(text, code=Code.ERROR)
