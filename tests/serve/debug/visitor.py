"""Whoever asks the debug pages, and a scene worth asking about. Used by the tests of the pages and of the commands."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from bayplan.framework.config import default_config
from bayplan.plugins import default_registry
from bayplan.runtime.aside import Work
from bayplan.serve.debug.pages import DebugPages
from bayplan.testing import make_node, make_pod
from bayplan.testing.virtual_time import settle
from tests.runtime.fakes import Bench

CONFIG = default_config(default_registry())


async def here(work: Work) -> bytes:
    """The answer without a copy: the cluster is changed by it."""
    return list(work())[-1]


class Visitor:
    def __init__(self, bench: Bench, ask: Callable[[Work], Awaitable[bytes]] = here) -> None:
        self.pages = DebugPages(bench.scheduler, lambda: CONFIG, ask, lambda: True)

    async def get(self, path: str, **query: str) -> Any:
        pieces = await self.pages.page(path, query)
        assert pieces is not None, f"no page {path}"
        return json.loads(b"".join(pieces))


async def stuck(bench: Bench) -> None:
    """A pod that fits nowhere, one that is bound, one that is gated."""
    bench.add_nodes(make_node("a").capacity(cpu="4"), make_node("b").capacity(cpu="4").cordoned())
    bench.api.create(make_pod("web").requests(cpu="1"))
    bench.api.create(make_pod("big").requests(cpu="5"))
    held = make_pod("held")
    held.manifest["spec"]["schedulingGates"] = [{"name": "team/budget"}]
    bench.api.create(held)
    await bench.until_bound("default/web")
    await settle(lambda: bool(bench.api.condition("default/big")))
