"""SIGUSR2: what differs from the API server is found, what is only late is not."""

from __future__ import annotations

import json
from typing import Any

from bayplan.client.lanes import Lane
from bayplan.client.request import Request
from bayplan.runtime.compare import compare, differences
from bayplan.testing import make_node, make_pod
from bayplan.testing.builders import NodeBuilder
from tests.runtime.fakes import Bench, on_bench


class Lister:
    """Lists what a ``Small`` API has, and these nodes."""

    def __init__(self, bench: Bench, *nodes: NodeBuilder) -> None:
        self.bench = bench
        self.nodes = [node.manifest for node in nodes]

    async def send(self, request: Request, lane: Lane, *, timeout_s: float | None = None) -> bytes:
        items: list[Any] = self.nodes
        if request.path.startswith("/api/v1/pods"):
            items = list(self.bench.api.pods.values())
        # One object a page, so that the continue token is followed.
        start = int(request.path.partition("continue=")[2] or 0)
        more = {"continue": str(start + 1)} if start + 1 < len(items) else {}
        return json.dumps({"items": items[start : start + 1], "metadata": more}).encode()


def test_columns_that_are_right_agree() -> None:
    async def scenario(bench: Bench) -> None:
        nodes = [make_node("a"), make_node("b")]
        bench.add_nodes(*nodes)
        for name in ("one", "two", "three"):
            bench.api.create(make_pod(name).requests(cpu="1"))
        bench.api.create(make_pod("big").requests(cpu="64"))
        await bench.until_bound("default/one", "default/two", "default/three")
        assert await differences(Lister(bench, *nodes), bench.scheduler) == set()

    on_bench(scenario)


def test_every_kind_of_difference_is_named() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"), make_node("b"), make_node("redundant"))
        bench.api.create(
            make_pod("seen").requests(cpu="1").node_selector({"kubernetes.io/hostname": "a"})
        )
        await bench.until_bound("default/seen")
        bench.api.create(make_pod("waits").requests(cpu="64"))
        await bench.until_idle()
        bench.api.lagging = True
        bench.api.create(make_pod("unseen").on("b"))
        bench.api.create(make_pod("new"))
        del bench.api.pods["default/waits"]
        cluster = bench.scheduler.board.cluster
        row = cluster.nodes.row_of["a"]
        column = cluster.nodes.requested[cluster.nodes.resources.id("cpu")]
        column.data[row] += 500
        found = await differences(
            Lister(bench, make_node("a"), make_node("b"), make_node("missed")), bench.scheduler
        )
        column.data[row] -= 500
        assert found == {
            ("missed node", "missed"),
            ("redundant node", "redundant"),
            ("missed pod", "default/unseen"),
            ("missed pending pod", "default/new"),
            ("redundant pending pod", "default/waits"),
            # Not those of the node of the unseen pod, which is told of above.
            ("node sums", "a: cpu requested +500"),
        }

    on_bench(scenario)


def test_what_stays_different_is_counted_and_what_was_late_is_not() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.lagging = True
        bench.api.create(make_pod("late").on("a"))

        class CatchingUp(Lister):
            async def send(
                self, request: Request, lane: Lane, *, timeout_s: float | None = None
            ) -> bytes:
                answer = await super().send(request, lane)
                if request.path.startswith("/api/v1/pods"):
                    bench.api.catch_up()  # by the second look the watch has told
                return answer

        await compare(CatchingUp(bench, make_node("a"), make_node("missed")), bench.scheduler)
        metrics = bench.scheduler.board.metrics
        assert metrics._differences.values == {("missed node",): 1}

    on_bench(scenario)
