"""Talking to an embedded API in one line per call, in virtual time."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import aiohttp

from bayplan.embedded.server import EmbeddedApi, EmbeddedOptions
from bayplan.embedded.store import Store
from bayplan.testing.virtual_time import VirtualClock, run

PODS = "/api/v1/namespaces/default/pods"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


@dataclass(frozen=True)
class Reply:
    status: int
    body: Any
    headers: Mapping[str, str]

    @property
    def message(self) -> str:
        return str(self.body["message"])


class Stream:
    """An open watch."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    async def event(self) -> tuple[str, Any]:
        """The next event's type and object; empty at the end."""
        line = await self.response.content.readline()
        if not line:
            return "", {}
        found = json.loads(line)
        return found["type"], found["object"]

    async def names(self, count: int) -> list[str]:
        """Type and name of the next events."""
        found = []
        for _ in range(count):
            kind, obj = await self.event()
            found.append(f"{kind} {obj.get('metadata', {}).get('name', '')}".strip())
        return found


class Speaker:
    """A client of one API."""

    def __init__(self, api: EmbeddedApi, session: aiohttp.ClientSession) -> None:
        self.api = api
        self.session = session

    async def call(
        self, method: str, path: str, body: Any = None, content_type: str = "", accept: str = ""
    ) -> Reply:
        headers = {"User-Agent": "tests/1"}
        if content_type or body is not None:
            headers["Content-Type"] = content_type or "application/json"
        if accept:
            headers["Accept"] = accept
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        async with self.session.request(method, path, data=data, headers=headers) as response:
            raw = await response.read()
            is_json = "json" in response.headers.get("Content-Type", "")
            answer = json.loads(raw) if raw and is_json else raw.decode()
            return Reply(response.status, answer, response.headers)

    async def get(self, path: str, accept: str = "") -> Reply:
        return await self.call("GET", path, accept=accept)

    async def post(self, path: str, body: Any) -> Reply:
        return await self.call("POST", path, body)

    async def names(self, path: str) -> list[str]:
        reply = await self.get(path)
        assert reply.status == 200, reply.body
        return [one["metadata"]["name"] for one in reply.body["items"]]

    @asynccontextmanager
    async def watch(self, path: str, accept: str = "") -> AsyncIterator[Stream]:
        headers = {"Accept": accept} if accept else {}
        async with self.session.get(path, headers=headers) as response:
            assert response.status == 200, await response.text()
            yield Stream(response)


@asynccontextmanager
async def speaking(api: EmbeddedApi, token: str = "") -> AsyncIterator[Speaker]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(api.url, headers=headers, timeout=timeout) as session:
        yield Speaker(api, session)


def with_api(
    work: Callable[[Speaker], Awaitable[None]],
    options: EmbeddedOptions | None = None,
    clock: VirtualClock | None = None,
) -> None:
    """Run ``work(speaker)`` against an API of its own, in virtual time."""
    clock = clock or VirtualClock()

    async def main() -> None:
        chosen = options or EmbeddedOptions(clock=clock, rng=Random(1))
        async with EmbeddedApi(chosen) as api, speaking(api) as speaker:
            await work(speaker)

    run(main(), clock)


def fresh_store() -> Store:
    """A store without a server."""
    store = Store(VirtualClock(), rng=Random(1))
    store.seed()
    return store


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "app:1"}], **spec},
    }
