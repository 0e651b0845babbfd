"""The loop, from a pod's coming to its binding."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from bayplan import FilterPlugin, NodeInfo, PodInfo, Rejected
from bayplan.testing import make_node, make_pod
from bayplan.testing.virtual_time import settle
from tests.runtime.fakes import Bench, on_bench


def test_a_pod_is_bound_and_told_of() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web").requests(cpu="1"))
        await bench.until_bound("default/web")
        await settle(lambda: bool(bench.api.events))
        assert bench.api.node_of("default/web") == "a"
        assert bench.api.notes("Scheduled") == ["Successfully assigned default/web to a"]
        assert bench.api.condition("default/web") == {}
        bench.check()

    on_bench(scenario)


def test_the_binding_says_how_long_it_took_and_why_where_asked() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"), make_node("b").cordoned())
        bench.api.create(make_pod("web").annotation("bayplan.io/why", "true"))
        await bench.until_bound("default/web")
        body = next(r.body for r in bench.api.requests if r.path.endswith("/binding")).decode()
        assert '"bayplan.io/schedulerLatency":"0.000000s"' in body
        assert r"\"rejected\":{\"node(s) were unschedulable\":1}" in body

    on_bench(scenario)


def test_a_pod_that_fits_nowhere_is_told_why_and_tried_again_when_a_node_comes() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("small"))
        bench.api.create(make_pod("big").requests(cpu="8"))
        await settle(lambda: bool(bench.api.condition("default/big")))
        condition = bench.api.condition("default/big")
        text = "0/1 nodes are available: 1 Insufficient cpu."
        assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
        assert condition["message"].startswith(text)
        assert bench.api.notes("FailedScheduling")[0].startswith(text)
        bench.add_nodes(make_node("large").capacity(cpu="16"))
        await bench.until_bound("default/big")
        assert bench.api.node_of("default/big") == "large"
        bench.check()

    on_bench(scenario)


def test_pods_of_other_schedulers_are_left_alone() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("theirs").scheduler("other"))
        bench.api.create(make_pod("ours"))
        await bench.until_bound("default/ours")
        assert bench.api.node_of("default/theirs") == ""
        assert bench.scheduler.pods.foreign == {"default/theirs"}

    on_bench(scenario)


def test_each_profile_binds_its_own_pods_and_speaks_in_its_own_name() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("one").scheduler("first"))
        bench.api.create(make_pod("two").scheduler("second"))
        await bench.until_bound("default/one", "default/two")
        await settle(lambda: len(bench.api.events) == 2)
        told = {e["regarding"]["name"]: e["reportingController"] for e in bench.api.events}
        assert told == {"one": "first", "two": "second"}

    on_bench(scenario, profiles=("first", "second"))


def test_a_terminating_pod_is_skipped() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("late").terminating())
        await settle(lambda: bool(bench.api.events))
        assert bench.api.notes("FailedScheduling") == ["skip schedule deleting pod: default/late"]
        assert bench.api.node_of("default/late") == ""

    on_bench(scenario)


def test_a_plugin_that_raises_costs_its_pod_an_attempt_and_no_other_pod_anything() -> None:
    class Picky(FilterPlugin):
        def filter_node(self, pod: PodInfo, node: NodeInfo) -> Rejected | None:
            if pod.labels.get("bad"):
                raise ZeroDivisionError("division by zero")
            return None

    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("bad").label("bad", "yes"))
        bench.api.create(make_pod("good"))
        await bench.until_bound("default/good")
        await settle(lambda: bool(bench.api.condition("default/bad")))
        condition = bench.api.condition("default/bad")
        assert condition["reason"] == "SchedulerError"
        assert "Picky" in condition["message"]
        assert "division by zero" in condition["message"]

    on_bench(scenario, Picky)


def test_a_mistake_of_ours_costs_one_attempt_and_not_the_loop() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        desk = bench.scheduler.counters["default-scheduler"].desk
        ring, desk.ring = desk.ring, None  # type: ignore[assignment]
        bench.api.create(make_pod("web"))
        await settle(lambda: bool(bench.api.condition("default/web")))
        assert "internal error" in bench.api.condition("default/web")["message"]
        desk.ring = ring
        await asyncio.sleep(5)
        await bench.until_bound("default/web")

    on_bench(scenario)


def test_a_dry_run_decides_says_so_and_writes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")

    async def scenario(bench: Bench) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("fits").requests(cpu="3"))
        bench.api.create(make_pod("does-not").requests(cpu="3"))
        await settle()
        assert bench.api.requests == []
        placed = [d.node for d in bench.scheduler.counters["default-scheduler"].desk.ring]
        assert placed == ["a", ""]

    on_bench(scenario, dry_run=True)
    assert [record.getMessage() for record in caplog.records] == [
        "Would not bind pod",
        "Would bind pod to node",
    ]


def test_many_pods_are_all_bound_and_no_node_is_overfull() -> None:
    async def scenario(bench: Bench) -> None:
        bench.add_nodes(*(make_node(f"n{i}") for i in range(5)))
        for i in range(40):
            bench.api.create(make_pod(f"p{i}").requests(cpu="500m"))
        await bench.until_bound(*(f"default/p{i}" for i in range(40)))
        nodes = Counter(bench.api.node_of(f"default/p{i}") for i in range(40))
        assert set(nodes.values()) == {8}
        bench.check()

    on_bench(scenario)
