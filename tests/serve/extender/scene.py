"""An extender that serves on loopback, and a caller that knows nothing of it but the wire."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp

from bayplan.app.extender import ExtenderOptions, extending
from bayplan.clock import SystemClock
from bayplan.serve.extender.server import Bounds

PLUGINS = '''
import time
from bayplan import FilterPlugin, Rejected, ScorePlugin
from bayplan.framework.status import unresolvable


class Disk(FilterPlugin, ScorePlugin):
    """Nodes with a fast disk only; the higher their rank the better."""

    name = "Disk"

    def filter_node(self, pod, node):
        if pod.labels.get("breaks"):
            raise ZeroDivisionError("no luck")
        if pod.labels.get("hangs"):
            time.sleep(60)
        if pod.labels.get("slow"):
            time.sleep(0.05)
        if "disk" not in node.labels:
            return unresolvable("node has no disk")
        if node.labels["disk"] != "fast":
            return Rejected("disk is slow")

    def score_node(self, pod, node):
        return int(node.labels.get("rank", "0"))
'''

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      enabled:
      - name: Disk
"""


def options(folder: Path, **changes: Any) -> ExtenderOptions:
    """An extender that serves the plugin above."""
    plugins = folder / "plugins"
    plugins.mkdir(exist_ok=True)
    (plugins / "disk.py").write_text(PLUGINS, encoding="utf-8")
    config = folder / "config.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    return replace(ExtenderOptions(config=config, port=0, plugin_dirs=[plugins]), **changes)


class Caller:
    """Calls an extender as kube-scheduler does."""

    def __init__(self, session: aiohttp.ClientSession, url: str, tls: Any = None) -> None:
        self.session = session
        self.url = url
        self._tls = tls

    async def post(self, verb: str, body: Any) -> tuple[int, Any]:
        """Status and answer."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        url = f"{self.url}/{verb}"
        tls = self._tls if self._tls is not None else True
        async with self.session.post(url, data=data, ssl=tls) as answer:
            text = await answer.read()
            return answer.status, json.loads(text) if answer.status == 200 else text.decode()

    async def get(self, path: str) -> tuple[int, str]:
        """A page."""
        async with self.session.get(f"{self.url}{path}") as answer:
            return answer.status, await answer.text()


@asynccontextmanager
async def caller(wanted: ExtenderOptions, tls: Any = None) -> AsyncIterator[Caller]:
    """An extender at work, and somebody to call it."""
    scheme = "https" if wanted.cert_file else "http"
    async with (
        extending(wanted, SystemClock()) as port,
        aiohttp.ClientSession() as session,
    ):
        yield Caller(session, f"{scheme}://127.0.0.1:{port}", tls)


def on_extender(
    folder: Path, scenario: Callable[[Caller], Awaitable[None]], **changes: Any
) -> None:
    """Run a scenario with an extender."""

    async def main() -> None:
        async with caller(options(folder, **changes)) as calling:
            await scenario(calling)

    asyncio.run(main())


def node(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": {"cpu": "4"}}}


def pod(name: str = "web", **labels: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": labels},
        "spec": {"containers": [{"name": "c"}]},
    }


NODES = [
    node("best", disk="fast", rank="80"),
    node("good", disk="fast", rank="79"),
    node("poor", disk="fast", rank="78"),
    node("slow", disk="slow"),
    node("bare"),
]
NAMES = [each["metadata"]["name"] for each in NODES]


def asking(nodes: Any = None, names: Any = None, **labels: str) -> dict[str, Any]:
    """Arguments as Go writes them."""
    listed = None if nodes is None else {"metadata": {}, "items": nodes}
    return {"Pod": pod(**labels), "Nodes": listed, "NodeNames": names}


QUICK = Bounds(budget_s=0.02)
