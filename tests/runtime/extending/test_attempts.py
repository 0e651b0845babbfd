"""Scheduling with a foreign extender: every verb, both cache modes, and what an extender can do wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from bayplan.model.pod_group import Group, GroupApi, GroupKey
from bayplan.runtime.extending.attempts import AT_ONCE_PER_UNIT
from bayplan.runtime.extending.whole_nodes import WHOLE_NODES, WholeNode
from bayplan.testing import PodBuilder, make_node, make_pod
from bayplan.testing.virtual_time import VirtualClock, run, settle
from tests.runtime.extending.foreign import Foreign, foreign_extender, names_in, only
from tests.runtime.fakes import Bench, scheduling

#: With the default ``parallelism``.
AT_ONCE = 16 * AT_ONCE_PER_UNIT
ALL = {
    "filterVerb": "filter",
    "prioritizeVerb": "prioritize",
    "preemptVerb": "preempt",
    "bindVerb": "bind",
    "weight": 1,
    "nodeCacheCapable": True,
}

Scenario = Callable[[Bench, Foreign], Awaitable[None]]


def extended(scenario: Scenario, **entry: Any) -> None:
    """Run a scenario with one extender, whose verbs are those that ``entry`` names."""
    clock = VirtualClock()

    async def main() -> None:
        async with foreign_extender() as foreign:
            config = {"urlPrefix": foreign.url, **entry}
            async with scheduling(clock=clock, extenders=(config,)) as bench:
                await scenario(bench, foreign)
                bench.check()

    run(main(), clock)


def verbs(*names: str, **more: Any) -> dict[str, Any]:
    """An entry with these verbs."""
    keys = {f"{name}Verb" for name in names} | {"weight", "nodeCacheCapable"}
    return {key: value for key, value in ALL.items() if key in keys} | more


async def bound(bench: Bench, *keys: str) -> list[str]:
    """Wait until the pods have nodes; which ones."""
    for _ in range(400):
        if all(bench.api.node_of(key) for key in keys):
            break
        await asyncio.sleep(0.05)
    await bench.until_bound(*keys)
    return [bench.api.node_of(key) for key in keys]


async def refused(bench: Bench, key: str) -> str:
    """Wait until the pod is told why it has no node."""
    for _ in range(400):
        said = bench.api.condition(key)
        if said:
            return str(said["message"])
        await asyncio.sleep(0.05)
    raise AssertionError(f"{key} was told nothing")


# --- the verbs ---------------------------------------------------------------------------------------------------------


def test_a_pod_goes_where_the_extender_lets_it() -> None:
    async def scenario(bench: Bench, foreign: Foreign) -> None:
        foreign.verbs["filter"] = only("b")
        bench.add_nodes(make_node("a"), make_node("b"), make_node("c"))
        bench.api.create(make_pod("web"))
        assert await bound(bench, "default/web") == ["b"]
        (sent,) = foreign.asked("filter")
        assert sorted(sent["NodeNames"]) == ["a", "b", "c"]
        assert sent["Nodes"] is None
        assert sent["Pod"]["metadata"]["name"] == "web"
        assert sent["Pod"]["spec"]["containers"]

    extended(scenario, **verbs("filter"))


def test_whole_nodes_are_sent_to_extenders_that_keep_none() -> None:
    async def scenario(bench: Bench, foreign: Foreign) -> None:
        def answer(sent: dict[str, Any]) -> Any:
            items = [n for n in sent["Nodes"]["items"] if n["spec"].get("secret") == "yes"]
            return {"nodes": {"items": items}}  # keys are read in any case

        foreign.verbs["filter"] = answer
        whole = next(f.handler for f in bench.scheduler.feeds if f.resource is WHOLE_NODES)
        for name, secret in (("a", "no"), ("b", "yes")):
            manifest = {"metadata": {"name": name}, "spec": {"secret": secret}, "status": {"x": 1}}
            whole.on_put(msgspec.json.decode(json.dumps(manifest), type=WholeNode))
            bench.add_nodes(make_node(name))
        bench.api.create(make_pod("web"))
        assert await bound(bench, "default/web") == ["b"]
        (sent,) = foreign.asked("filter")
        assert sent["NodeNames"] is None
        assert [n["status"] for n in sent["Nodes"]["items"]] == [{"x": 1}, {"x": 1}]

    extended(scenario, **verbs("filter", nodeCacheCapable=False))


def test_scores_are_multiplied_by_the_weight_and_added() -> None:
    async def scenario(bench: Bench, foreign: Foreign) -> None:
        foreign.verbs["prioritize"] = lambda sent: [
            {"Host": name, "Score": {"a": 0, "b": 3, "c": 7}[name]} for name in names_in(sent)
        ]
        bench.add_nodes(make_node("a"), make_node("b"), make_node("c"))
        bench.api.create(make_pod("web"))
        assert await bound(bench, "default/web") == ["c"]
        desk = bench.scheduler.counters["default-scheduler"].desk
        (decision,) = desk.ring.of("default/web")
        lines = {line.node: line for line in decision.picture().lines()}
        assert lines["c"].scores[foreign.url].weighted == 7 * 5 * 10
        assert lines["b"].total == lines["a"].total + 3 * 5 * 10
        assert decision.best == lines["c"].total

    extended(scenario, **verbs("prioritize", weight=5))


def test_an_extender_is_not_asked_to_score_a_single_node() -> None:
    async def scenario(bench: Bench, foreign: Foreign) -> None:
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web"))
        assert await bound(bench, "default/web") == ["a"]
        assert foreign.calls == []

    extended(scenario, **verbs("prioritize"))


def test_a_pod_that_the_extender_turns_down_everywhere_is_told_why_and_woken_by_any_event() -> None:
    async def scenario(bench: Bench, foreign: Foreign) -> None:
        foreign.verbs["filter"] = only("c")
        bench.add_nodes(make_node("a"), make_node("b"))
        bench.api.create(make_pod("web"))
        said = await refused(bench, "default/web")
        assert said.startswith("0/2 nodes are available: 2 does not please.")
        bench.add_nodes(make_node("c"))
        assert await bound(bench, "default/web") == ["c"]

    extended(scenario, **verbs("filter"))


def test_the_extender_binds() -> None:
    async def scenario(bench: Bench, foreign: Foreign) -> None:
        def bind(sent: dict[str, Any]) -> Any:
            key = f"{sent['PodNamespace']}/{sent['PodName']}"
            bench.api.bind(key, sent["Node"], sent["PodUID"])
            return {"Error": ""}

        foreign.verbs["bind"] = bind
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web"))
        assert await bound(bench, "default/web") == ["a"]
        assert bench.api.sent("POST", "/binding") == 0
        await settle(lambda: bool(bench.api.notes("Scheduled")))

    extended(scenario, **verbs("bind"))


def test_where_the_extender_cannot_bind_the_pod_is_tried_again() -> None:
    async def scenario(bench: Bench, foreign: Foreign) -> None:
        foreign.verbs["bind"] = lambda _sent: {"Error": "the hardware is not ready"}
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web"))
        assert "the hardware is not ready" in await refused(bench, "default/web")
        assert len(foreign.asked("bind")) == 1
        await asyncio.sleep(2.5)
        assert len(foreign.asked("bind")) == 2
        bench.api.delete("default/web")
        await settle()

    extended(scenario, **verbs("bind"))


def test_an_ignorable_binder_that_errs_leaves_the_binding_to_us() -> None:
    async def scenario(bench: Bench, foreign: Foreign) -> None:
        foreign.verbs["bind"] = lambda _sent: {"Error": "no"}
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web"))
        assert await bound(bench, "default/web") == ["a"]

    extended(scenario, **verbs("bind", ignorable=True))


@pytest.mark.parametrize("names_only", [True, False])
def test_the_extender_has_a_say_in_who_is_evicted(*, names_only: bool) -> None:
    async def scenario(bench: Bench, foreign: Foreign) -> None:
        def keep_b(sent: dict[str, Any]) -> Any:
            key = "NodeNameToMetaVictims" if names_only else "NodeNameToVictims"
            assert sorted(sent[key]) == ["a", "b"]
            pods = sent[key]["b"]["Pods"]
            uids = [pod["UID"] if names_only else pod["metadata"]["uid"] for pod in pods]
            return {"NodeNameToMetaVictims": {"b": {"Pods": [{"UID": uid} for uid in uids]}}}

        foreign.verbs["preempt"] = keep_b
        bench.add_nodes(make_node("a"), make_node("b"))
        for node in ("a", "b"):
            bench.api.create(make_pod(f"small-{node}").requests(cpu="4").on(node))
        await settle()
        bench.api.create(make_pod("urgent").requests(cpu="4").priority(100))
        assert await bound(bench, "default/urgent") == ["b"]
        assert "default/small-a" in bench.api.pods
        assert "default/small-b" not in bench.api.pods

    extended(scenario, **verbs("preempt", nodeCacheCapable=names_only))


def test_only_pods_that_ask_for_its_resource_concern_the_extender() -> None:
    async def scenario(bench: Bench, foreign: Foreign) -> None:
        foreign.verbs["filter"] = only("b")
        bench.add_nodes(make_node("a"), make_node("b"))
        bench.api.create(make_pod("plain"))
        await bound(bench, "default/plain")
        assert foreign.calls == []
        bench.api.create(make_pod("special").requests(**{"example.com/card": "1"}))
        assert await bound(bench, "default/special") == ["b"]

    resources = [{"name": "example.com/card", "ignoredByScheduler": True}]
    extended(scenario, **verbs("filter", managedResources=resources))


# --- what can go wrong -------------------------------------------------------------------------------------------------

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b"


def as_reply(body: bytes) -> bytes:
    return HEAD % (len(body), body)


WRONG = [
    pytest.param(b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", "code 500", id="500"),
    pytest.param(
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
        "code 302",
        id="redirect",
    ),
    pytest.param(
        b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n{}", "longer than", id="100 MB"
    ),
    pytest.param(b"HTTP/1.1 200 OK\r\n\r\n" + b" " * (6 << 20), "longer than", id="more and more"),
    pytest.param(b"this is no HTTP\r\n\r\n", "extender at", id="not HTTP"),
    pytest.param(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000, "extender at", id="long header"),
    pytest.param(as_reply(b"{" * 100_000), "cannot be read", id="nonsense"),
    pytest.param(as_reply(b"\xff\xfe"), "cannot be read", id="no text"),
    pytest.param(as_reply(b'{"NodeNames":{"a":1}}'), "cannot be read", id="another type"),
    pytest.param(as_reply(b'{"NodeNames":["z"]}'), "not found in the input", id="unknown name"),
    pytest.param(as_reply(b'{"Error":"out of order"}'), "out of order", id="an error"),
    pytest.param(b"", "extender at", id="hangs up"),
]


@pytest.mark.parametrize(("raw", "said"), WRONG)
def test_a_filter_that_goes_wrong_fails_the_pod_and_says_how(raw: bytes, said: str) -> None:
    async def scenario(bench: Bench, foreign: Foreign) -> None:
        foreign.raw = raw
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web"))
        assert said in await refused(bench, "default/web")
        assert bench.api.condition("default/web")["reason"] == "SchedulerError"
        foreign.raw = None
        foreign.verbs["filter"] = only("a")
        assert await bound(bench, "default/web") == ["a"]

    extended(scenario, **verbs("filter"))


@pytest.mark.parametrize(("raw", "said"), WRONG)
def test_an_ignorable_filter_that_goes_wrong_is_passed_over(raw: bytes, said: str) -> None:
    async def scenario(bench: Bench, foreign: Foreign) -> None:
        foreign.raw = raw
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web"))
        assert await bound(bench, "default/web") == ["a"]
        assert foreign.calls

    del said
    extended(scenario, **verbs("filter", ignorable=True))


@pytest.mark.parametrize(("raw", "said"), WRONG)
def test_scores_that_go_wrong_count_for_nothing(raw: bytes, said: str) -> None:
    async def scenario(bench: Bench, foreign: Foreign) -> None:
        foreign.raw = raw
        bench.add_nodes(make_node("a"), make_node("b"))
        bench.api.create(make_pod("web"))
        assert (await bound(bench, "default/web"))[0] in {"a", "b"}
        assert foreign.calls

    del said
    extended(scenario, **verbs("prioritize"))


@pytest.mark.parametrize("score", [10**18, 2**63 - 1, -(10**18)])
def test_scores_are_held_to_0_to_10(score: int) -> None:
    async def scenario(bench: Bench, foreign: Foreign) -> None:
        foreign.verbs["prioritize"] = lambda _sent: [
            {"Host": "a", "Score": score},
            {"Host": "b", "Score": 10},
            {"Host": "nobody", "Score": 10},
        ]
        bench.add_nodes(make_node("a"), make_node("b"))
        bench.api.create(make_pod("web"))
        await bound(bench, "default/web")
        desk = bench.scheduler.counters["default-scheduler"].desk
        (decision,) = desk.ring.of("default/web")
        lines = {line.node: line for line in decision.picture().lines()}
        assert lines["a"].scores[foreign.url].raw == (10 if score > 0 else 0)

    extended(scenario, **verbs("prioritize"))


def test_a_slow_extender_holds_up_its_pod_alone() -> None:
    async def scenario(bench: Bench, foreign: Foreign) -> None:
        async def wait_for_the_slow_one(sent: dict[str, Any]) -> None:
            if sent["Pod"]["metadata"]["name"] == "slow":
                await asyncio.sleep(4)

        foreign.before = wait_for_the_slow_one
        foreign.verbs["filter"] = only("a")
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("slow"))
        await settle()
        bench.api.create(make_pod("quick"))
        await bound(bench, "default/quick")
        assert bench.api.node_of("default/slow") == ""
        assert await bound(bench, "default/slow") == ["a"]

    extended(scenario, **verbs("filter"))


def test_pods_wait_their_turn_in_the_queue_s_order() -> None:
    async def scenario(bench: Bench, foreign: Foreign) -> None:
        async def take_a_second(_sent: dict[str, Any]) -> None:
            await asyncio.sleep(1)

        foreign.before = take_a_second
        foreign.verbs["filter"] = only("a")
        bench.add_nodes(make_node("a").capacity(pods="200"))
        for number in range(AT_ONCE + 20):
            bench.api.create(make_pod(f"p{number}").requests(cpu="1m"))
        await asyncio.sleep(0.5)
        assert len(foreign.calls) == AT_ONCE
        bench.api.create(make_pod("urgent").requests(cpu="1m").priority(100))
        await bound(bench, *(f"default/p{number}" for number in range(AT_ONCE + 20)))
        asked = [sent["Pod"]["metadata"]["name"] for sent in foreign.asked("filter")]
        assert asked.index("urgent") < AT_ONCE + 5

    extended(scenario, **verbs("filter"))


def test_an_extender_that_does_not_answer_in_time_has_not_answered() -> None:
    async def scenario(bench: Bench, foreign: Foreign) -> None:
        async def sleep(_sent: dict[str, Any]) -> None:
            await asyncio.sleep(60)

        foreign.before = sleep
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web"))
        assert "did not answer within 0.5 s" in await refused(bench, "default/web")
        bench.api.delete("default/web")
        await settle()

    extended(scenario, **verbs("filter", httpTimeout="500ms"))


def test_what_changed_while_the_extender_was_asked_is_taken_into_account() -> None:
    async def scenario(bench: Bench, foreign: Foreign) -> None:
        async def fill_the_node(sent: dict[str, Any]) -> None:
            if sent["Pod"]["metadata"]["name"] == "web":
                bench.api.create(make_pod("other").requests(cpu="4").on("a"))
                await asyncio.sleep(1)

        foreign.before = fill_the_node
        foreign.verbs["filter"] = only("a")
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web").requests(cpu="4"))
        said = await refused(bench, "default/web")
        assert said.startswith("0/1 nodes are available: 1 Insufficient cpu.")

    extended(scenario, **verbs("filter"))


def test_a_pod_that_is_deleted_while_the_extender_is_asked_is_let_go() -> None:
    async def scenario(bench: Bench, foreign: Foreign) -> None:
        async def delete(_sent: dict[str, Any]) -> None:
            bench.api.delete("default/web")
            await asyncio.sleep(1)

        foreign.before = delete
        foreign.verbs["filter"] = only("a")
        bench.add_nodes(make_node("a"))
        bench.api.create(make_pod("web"))
        await asyncio.sleep(3)
        assert bench.api.sent("POST", "/binding") == 0

    extended(scenario, **verbs("filter"))


# --- gangs -------------------------------------------------------------------------------------------------------------


def member(number: int) -> PodBuilder:
    pod = make_pod(f"w-{number}").label("scheduling.x-k8s.io/pod-group", "train")
    return pod.requests(cpu="2")


def test_a_gang_is_decided_once_extenders_have_answered_about_each_member() -> None:
    async def scenario(bench: Bench, foreign: Foreign) -> None:
        foreign.verbs["filter"] = only("b", "c")
        bench.add_nodes(*(make_node(name).capacity(cpu="4", pods="9") for name in "abc"))
        gangs = bench.scheduler.board.cluster.gangs
        gangs.put(Group(GroupKey("default", "train"), GroupApi.COSCHEDULING, 4))
        for number in range(4):
            bench.api.create(member(number))
        found = await bound(bench, *(f"default/w-{number}" for number in range(4)))
        assert sorted(found) == ["b", "b", "c", "c"]
        asked = [sent["Pod"]["metadata"]["name"] for sent in foreign.asked("filter")]
        assert sorted(asked) == [f"w-{number}" for number in range(4)]

    extended(scenario, **verbs("filter"))


def test_an_extender_that_leaves_too_little_room_leaves_a_gang_without_any() -> None:
    async def scenario(bench: Bench, foreign: Foreign) -> None:
        foreign.verbs["filter"] = only("b")
        bench.add_nodes(*(make_node(name).capacity(cpu="4", pods="9") for name in "abc"))
        gangs = bench.scheduler.board.cluster.gangs
        gangs.put(Group(GroupKey("default", "train"), GroupApi.COSCHEDULING, 3))
        for number in range(3):
            bench.api.create(member(number))
        said = await refused(bench, "default/w-2")
        assert said.startswith("gang train: 2 of 3 members fit; w-2")
        assert not any(bench.api.node_of(f"default/w-{number}") for number in range(3))

    extended(scenario, **verbs("filter"))
