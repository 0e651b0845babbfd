"""Creating objects, many at once. Used by ``trial`` before a run, and during one in stream mode."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

import msgspec

from bayplan.bench.scene import New
from bayplan.client.api import Api
from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.client.retry import IDEMPOTENT

#: As many as scheduler_perf has.
WORKERS: Final = 30

_encode = msgspec.json.encode


async def create_all(api: Api, objects: Iterable[New]) -> int:
    """Create them, in their order but for those under way together; how many there were."""
    waiting, count = iter(objects), 0

    async def work() -> None:
        nonlocal count
        for new in waiting:
            count += 1
            await create(api, new)

    async with asyncio.TaskGroup() as workers:
        for _ in range(WORKERS):
            workers.create_task(work())
    return count


async def create(api: Api, new: New) -> None:
    """Create one."""
    request = Request("POST", new.path, _encode(new.body), retry=IDEMPOTENT)
    await api.send(request, Lane.BIND)
