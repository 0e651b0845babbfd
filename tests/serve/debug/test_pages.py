"""The debug pages of a scheduler at work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from bayplan.errors import TimedOut
from bayplan.runtime.aside import Work
from bayplan.serve.refusal import RefusedError
from bayplan.testing import make_node, make_pod
from bayplan.testing.virtual_time import settle
from tests.runtime.fakes import Bench, on_bench
from tests.serve.debug.visitor import Visitor, stuck


def visiting(scenario: Callable[[Bench, Visitor], Awaitable[None]]) -> None:
    async def run(bench: Bench) -> None:
        await scenario(bench, Visitor(bench))

    on_bench(run)


# --- the queue ---------------------------------------------------------------------------------------------------------


def test_the_queue_says_who_waits_for_what() -> None:
    async def scenario(bench: Bench, visitor: Visitor) -> None:
        await stuck(bench)
        bench.clock.advance(90)
        page = await visitor.get("/debug/queue")
        assert (page["counts"]["unschedulable"], page["counts"]["gated"]) == (1, 1)
        by_name = {row["pod"]: row for row in page["pods"]}
        big = by_name["default/big"]
        assert (big["place"], big["attempts"], big["plugins"]) == (
            "unschedulable",
            1,
            ["NodeResourcesFit", "NodeUnschedulable"],
        )
        assert big["age"] >= 90
        assert "1 Insufficient cpu" in big["reason"]
        held = by_name["default/held"]
        assert (held["place"], held["gate"]) == ("gated", "SchedulingGates")
        plugins = {row["plugin"] for row in page["unschedulable"]}
        assert plugins == {"NodeResourcesFit", "NodeUnschedulable", "SchedulingGates"}

    visiting(scenario)


def test_of_a_long_queue_only_a_part_is_sent_and_the_total_told() -> None:
    async def scenario(bench: Bench, visitor: Visitor) -> None:
        for number in range(250):
            bench.api.create(make_pod(f"p{number}"))
        await settle(lambda: sum(bench.scheduler.board.queue.pending().values()) == 250)
        page = await visitor.get("/debug/queue", limit="150")
        assert (len(page["pods"]), page["total"]) == (150, 250)
        assert len((await visitor.get("/debug/queue"))["pods"]) == 250

    visiting(scenario)


# --- attempts ----------------------------------------------------------------------------------------------------------


def test_the_last_attempts_latest_first() -> None:
    async def scenario(bench: Bench, visitor: Visitor) -> None:
        await stuck(bench)
        page = await visitor.get("/debug/decisions")
        results = {(row["pod"], row["result"]) for row in page["attempts"]}
        assert results == {("default/web", "scheduled"), ("default/big", "unschedulable")}
        assert len((await visitor.get("/debug/decisions", limit="1"))["attempts"]) == 1

    visiting(scenario)


# --- one pod -----------------------------------------------------------------------------------------------------------


def test_why_a_pod_waits_and_what_would_help() -> None:
    async def scenario(bench: Bench, visitor: Visitor) -> None:
        await stuck(bench)
        story = await visitor.get("/debug/decisions/default/big")
        assert story["state"] == "unschedulable"
        assert [move["place"] for move in story["history"]["moves"]] == ["active", "unschedulable"]
        (attempt,) = story["history"]["attempts"]
        assert attempt["times"] == 1
        told = story["explanation"]
        assert told["message"] == bench.api.condition("default/big")["message"]
        assert told["asOf"] == story["latest"][0]["time"]
        # Of the four, one is taken.
        assert [s["text"] for s in told["suggestions"]] == ["ask for 2 less cpu: fits on a"]
        assert told["counts"] == {"fitting": 0, "turnedDown": 2}

    visiting(scenario)


def test_why_a_placed_pod_is_where_it_is_by_the_record_of_its_own_attempt() -> None:
    async def scenario(bench: Bench, visitor: Visitor) -> None:
        await stuck(bench)
        # What comes later changes nothing about why.
        bench.add_nodes(make_node("roomy").capacity(cpu="64"))
        story = await visitor.get("/debug/decisions/default/web")
        assert (story["state"], story["node"]) == ("placed", "a")
        told = story["explanation"]
        assert told["chosen"] == "a"
        assert [node["node"] for node in told["nodes"]] == ["a", "b"]
        assert told["placedOn"]["node"] == "a"

    visiting(scenario)


def test_why_not_that_node() -> None:
    async def scenario(bench: Bench, visitor: Visitor) -> None:
        await stuck(bench)
        story = await visitor.get("/debug/decisions/default/web", node="b")
        detail = story["explanation"]["detail"]
        assert detail["objections"] == [
            {"plugin": "NodeUnschedulable", "message": "node(s) were unschedulable"}
        ]

    visiting(scenario)


def test_a_node_that_is_not_there() -> None:
    async def scenario(bench: Bench, visitor: Visitor) -> None:
        await stuck(bench)
        story = await visitor.get("/debug/decisions/default/web", node="nowhere")
        assert story["trouble"] == "there is no node nowhere"

    visiting(scenario)


def test_a_placed_pod_without_a_record_is_decided_as_if_it_were_not_there_yet() -> None:
    async def scenario(bench: Bench, visitor: Visitor) -> None:
        bench.add_nodes(make_node("a"))
        bench.scheduler.board.cluster.put(make_pod("old").requests(cpu="3").on("a").build())
        story = await visitor.get("/debug/decisions/default/old")
        assert (story["state"], story["explanation"]["chosen"]) == ("placed", "a")
        assert "asOf" not in story["explanation"]
        assert "would go there again" in story["explanation"]["placedOn"]["explanation"]

    visiting(scenario)


def test_pods_that_are_not_ours_to_tell_of() -> None:
    async def scenario(bench: Bench, visitor: Visitor) -> None:
        bench.api.create(make_pod("theirs").scheduler("other"))
        await settle()
        with pytest.raises(RefusedError, match="waits for another scheduler") as refused:
            await visitor.get("/debug/decisions/default/theirs")
        assert refused.value.code == 404
        with pytest.raises(RefusedError, match="there is no pod default/nobody"):
            await visitor.get("/debug/decisions/default/nobody")

    visiting(scenario)


def test_the_history_is_told_also_where_the_explanation_takes_too_long() -> None:
    async def late(work: Work) -> bytes:
        raise TimedOut("there was no answer within 20 s", sent=True)

    async def scenario(bench: Bench) -> None:
        await stuck(bench)
        story = await Visitor(bench, late).get("/debug/decisions/default/big")
        assert "no answer within" in story["trouble"]
        assert story["history"]["attempts"]

    on_bench(scenario)


# --- the summary -------------------------------------------------------------------------------------------------------


def test_the_summary_counts_and_ranks() -> None:
    async def scenario(bench: Bench, visitor: Visitor) -> None:
        await stuck(bench)
        page = await visitor.get("/debug/summary", nodes="1")
        assert page["leading"] is True
        assert page["attempts"] == {"scheduled": 1, "unschedulable": 1}
        assert page["queue"]["gated"] == 1
        nodes = page["nodes"]
        assert (nodes["count"], nodes["cordoned"], nodes["pods"][0]) == (2, 1, 1)
        assert nodes["cpu"] == [1000, 8000]
        (fullest,) = nodes["fullest"]
        assert (fullest["node"], fullest["cpu"], fullest["cordoned"]) == ("a", 0.25, False)
        reasons = {row["reason"] for row in page["reasons"]}
        assert "gated by SchedulingGates" in reasons

    visiting(scenario)


@pytest.mark.parametrize(
    "path",
    [
        "/debug/decisions/",
        "/debug/decisions/only",
        "/debug/decisions/a/b/c",
        "/debug/decisions//b",
        "/debug/other",
    ],
)
def test_other_paths_are_no_pages(path: str) -> None:
    async def scenario(bench: Bench, visitor: Visitor) -> None:
        assert await visitor.pages.page(path, {}) is None

    visiting(scenario)


@pytest.mark.parametrize("text", ["-1", "1e9", "many", "9999999999", "²"])
def test_a_limit_that_makes_no_sense(text: str) -> None:
    async def scenario(bench: Bench, visitor: Visitor) -> None:
        with pytest.raises(RefusedError) as refused:
            await visitor.get("/debug/queue", limit=text)
        assert refused.value.code == 400

    visiting(scenario)
