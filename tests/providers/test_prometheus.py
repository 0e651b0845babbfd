"""Against a server that answers as Prometheus does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bayplan.errors import BayplanError
from bayplan.providers.prometheus import Prometheus


def vector(*samples: tuple[dict[str, str], str]) -> dict[str, Any]:
    result = [{"metric": labels, "value": [1700000000.5, value]} for labels, value in samples]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


def read(answers: dict[str, Any], queries: dict[str, str], node_label: str = "node") -> Any:
    async def answer(request: web.Request) -> web.Response:
        query = str((await request.post())["query"])
        found = answers[query]
        if isinstance(found, str):
            return web.Response(text=found, status=502)
        return web.json_response(found, status=200 if found["status"] == "success" else 400)

    async def main() -> Any:
        app = web.Application()
        app.router.add_post("/prom/api/v1/query", answer)
        async with TestServer(app, host="127.0.0.1") as server:
            url = str(server.make_url("/prom/"))
            return await Prometheus(url, queries, node_label).read()

    return asyncio.run(main())


def test_one_query_per_metric() -> None:
    answers = {
        "cpu_share": vector(({"node": "a"}, "0.25"), ({"node": "b"}, "NaN"), ({}, "7")),
        "temp": vector(({"node": "a"}, "61")),
    }
    readings = read(answers, {"cpu": "cpu_share", "temperature": "temp"})
    assert readings["temperature"] == {"a": 61.0}
    assert readings["cpu"]["a"] == 0.25
    assert sorted(readings["cpu"]) == ["a", "b"]


def test_an_address_names_its_node_without_the_port() -> None:
    answers = {"q": vector(({"instance": "n1:9100"}, "1"))}
    assert read(answers, {"cpu": "q"}, "instance") == {"cpu": {"n1": 1.0}}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"status": "error", "error": "parse error: bad"}, "query for 'cpu': parse error: bad"),
        ("bad gateway", "query for 'cpu': HTTP 502, no instant vector"),
        (
            {"status": "success", "data": {"resultType": "matrix", "result": []}},
            "query for 'cpu': HTTP 200, no instant vector",
        ),
    ],
)
def test_what_is_no_answer(answer: Any, said: str) -> None:
    with pytest.raises(BayplanError, match=said):
        read({"q": answer}, {"cpu": "q"})
