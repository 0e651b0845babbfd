"""A place to send requests to that keeps them, and refuses what a test wants refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.errors import BayplanError


class Sent:
    """Requests, oldest first (``client.api.Sender``)."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.refuse: Callable[[Request], BayplanError | None] = lambda _request: None
        #: What is answered.
        self.answer: Callable[[Request], Any] = lambda _request: {}
        #: Set to hold back all answers until it is set again.
        self.open = asyncio.Event()
        self.open.set()

    async def send(self, request: Request, lane: Lane, *, timeout_s: float | None = None) -> bytes:
        del lane, timeout_s
        self.requests.append(request)
        await self.open.wait()
        problem = self.refuse(request)
        if problem is not None:
            raise problem
        return json.dumps(self.answer(request)).encode()

    def bodies(self, method: str = "") -> list[Any]:
        """What was sent, decoded."""
        return [
            json.loads(r.body)
            for r in self.requests
            if r.body and (not method or r.method == method)
        ]
