"""Whatever Prometheus knows: one PromQL query per metric, one sample per node.

A sample names its node by a label; a port behind the name (``instance="n1:9100"``) is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import aiohttp
import msgspec

from bayplan.errors import BayplanError
from bayplan.providers.source import Readings

_TIMEOUT: Final = aiohttp.ClientTimeout(total=10)


class _Sample(msgspec.Struct):
    metric: dict[str, str]
    value: tuple[float, str]


class _Data(msgspec.Struct):
    result: list[_Sample]
    result_type: Literal["vector"] = msgspec.field(name="resultType")


class _Answer(msgspec.Struct):
    status: str
    data: _Data | None = None
    error: str = ""


class Prometheus:
    """Asks a Prometheus server."""

    def __init__(self, url: str, queries: Mapping[str, str], node_label: str = "node") -> None:
        self._url = f"{url.rstrip('/')}/api/v1/query"
        self._queries = queries
        self._node_label = node_label

    async def read(self) -> Readings:
        async with aiohttp.ClientSession(timeout=_TIMEOUT) as session:
            return {
                metric: await self._ask(session, metric, query)
                for metric, query in self._queries.items()
            }

    async def _ask(
        self, session: aiohttp.ClientSession, metric: str, query: str
    ) -> dict[str, float]:
        async with session.post(self._url, data={"query": query}) as response:
            body = await response.read()
        try:
            answer = msgspec.json.decode(body, type=_Answer)
        except msgspec.DecodeError as error:
            raise BayplanError(
                f"query for {metric!r}: HTTP {response.status}, no instant vector: {error}"
            ) from error
        if answer.status != "success" or answer.data is None:
            raise BayplanError(f"query for {metric!r}: {answer.error or answer.status}")
        found: dict[str, float] = {}
        for sample in answer.data.result:
            name = sample.metric.get(self._node_label, "").partition(":")[0]
            if name:
                found[name] = float(sample.value[1])
        return found
