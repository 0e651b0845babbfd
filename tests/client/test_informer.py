"""An informer's handler always ends up knowing what there is, whatever happens to lists and watches on the way."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from bayplan.client.api import Api
from bayplan.client.informer import Informer, InformerSettings
from bayplan.client.resources import PODS
from bayplan.errors import Forbidden, Gone, NotFound, Unreachable
from bayplan.model import Pod
from bayplan.testing.virtual_time import VirtualClock, run, settle
from tests.client.fake_api import FakeApi, pod
from tests.client.scripted import Received, Scripted, refusal, reply, status

UNFINISHED_PODS = "status.phase!=Succeeded,status.phase!=Failed"


class Heard:
    """A handler that writes down what it hears."""

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        self.calls: list[str] = []
        self.raises_at = ""

    def on_put(self, obj: Pod) -> None:
        self.calls.append(f"put {obj.name}")
        if obj.name == self.raises_at:
            raise RuntimeError("a fault of the handler")
        self.pods[obj.name] = obj

    def on_gone(self, namespace: str, name: str, uid: str, last: Pod | None) -> None:
        assert namespace == "default"
        self.calls.append(f"gone {name} {uid}{'' if last else ' unseen'}")
        self.pods.pop(name, None)

    def on_listed(self) -> None:
        self.calls.append("listed")

    def take(self) -> list[str]:
        """What was heard since the last time."""
        calls, self.calls = self.calls, []
        return calls


@dataclass
class Counted:
    """Counts what goes wrong."""

    restarts: list[str] = field(default_factory=list)
    skipped: int = 0

    def watch_restart(self, resource: str, cause: str) -> None:
        self.restarts.append(cause)

    def object_skipped(self, resource: str) -> None:
        self.skipped += 1


@dataclass
class Bench:
    """An informer of pods that runs, and what is around it."""

    fake: FakeApi
    heard: Heard
    informer: Informer[Pod]
    counted: Counted
    server: Scripted
    clock: VirtualClock

    async def until(self, holds: Callable[[], bool]) -> None:
        """Let everything run until something holds; time passes."""
        for _ in range(200):
            await settle(rounds=20)
            if holds():
                return
            await asyncio.sleep(0.5)
        raise AssertionError("does not come about")

    async def in_step(self) -> None:
        """Wait until the handler knows what there is."""
        await self.until(lambda: set(self.heard.pods) == set(self.fake.objects))

    async def watching(self) -> None:
        await self.until(lambda: self.fake.watching == 1)


def informed(
    play: Callable[[Bench], Awaitable[None]],
    *names: str,
    fake: FakeApi | None = None,
    optional: bool = False,
    handler: Heard | None = None,
    settings: InformerSettings | None = None,
) -> None:
    """Run a scene in which an informer of pods is at work."""
    clock = VirtualClock()
    fake = fake or FakeApi()
    for name in names:
        fake.put(pod(name))

    async def scene() -> None:
        async with Scripted(fake.answer) as server:
            api = Api.open(server.access(), clock, random.Random(1))
            heard, counted = handler or Heard(), Counted()
            informer = Informer(
                api,
                PODS,
                heard,
                field_selector=UNFINISHED_PODS,
                clock=clock,
                rng=random.Random(2),
                observer=counted,
                optional=optional,
                settings=settings,
            )
            task = asyncio.create_task(informer.run())
            try:
                await play(Bench(fake, heard, informer, counted, server, clock))
                assert not task.done()
            finally:
                task.cancel()
                await asyncio.wait([task])
                await api.close()
                await settle()

    run(scene(), clock)


# --- as it should be ---------------------------------------------------------------------------------------------------


def test_a_list_and_then_what_changes() -> None:
    async def play(bench: Bench) -> None:
        assert not bench.informer.synced
        await bench.watching()
        assert bench.heard.take() == ["put a", "put b", "listed"]
        assert (bench.informer.synced, bench.informer.name) == (True, "pods")
        bench.fake.put(pod("c"))
        bench.fake.put(pod("a", status={"phase": "Running"}))
        bench.fake.delete("b")
        await bench.in_step()
        assert bench.heard.take() == ["put c", "put a", "gone b uid-b"]
        assert bench.heard.pods["a"].status.phase == "Running"
        assert len(bench.informer) == 2

    informed(play, "a", "b")


def test_the_questions_that_are_asked() -> None:
    async def play(bench: Bench) -> None:
        await bench.watching()
        assert bench.fake.lists == [{"fieldSelector": UNFINISHED_PODS, "limit": "500"}]
        (asked,) = bench.fake.watches
        assert 300 <= int(asked.pop("timeoutSeconds")) <= 600
        assert asked == {
            "fieldSelector": "status.phase!=Succeeded,status.phase!=Failed",
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": "101",
        }

    informed(play, "a")


def test_a_long_list_comes_in_pages() -> None:
    async def play(bench: Bench) -> None:
        await bench.watching()
        assert [asked.get("continue") for asked in bench.fake.lists] == [None, "2", "4"]
        assert bench.heard.take() == [*(f"put {name}" for name in "abcde"), "listed"]

    informed(play, *"abcde", settings=InformerSettings(page_size=2))


def test_an_empty_list_counts() -> None:
    async def play(bench: Bench) -> None:
        await bench.watching()
        assert bench.heard.take() == ["listed"]
        assert bench.informer.synced

    informed(play)


def test_a_version_that_is_known_is_not_told_again() -> None:
    async def play(bench: Bench) -> None:
        await bench.watching()
        bench.heard.take()
        line = json.dumps({"type": "MODIFIED", "object": bench.fake.objects["a"]}).encode()
        bench.fake.say(line + b"\n")
        bench.fake.put(pod("b"))
        await bench.in_step()
        assert bench.heard.take() == ["put b"]

    informed(play, "a")


def test_a_pod_that_was_replaced_by_another_of_its_name_is_gone_first() -> None:
    async def play(bench: Bench) -> None:
        await bench.watching()
        bench.heard.take()
        bench.fake.put(pod("a", "second"))
        await bench.until(lambda: len(bench.heard.calls) == 2)
        assert bench.heard.take() == ["gone a uid-a unseen", "put a"]

    informed(play, "a")


def test_many_lines_are_taken_in_turns_with_everybody_else() -> None:
    async def play(bench: Bench) -> None:
        await bench.watching()
        for number in range(500):
            bench.fake.put(pod(f"p{number}"))
        turns = 0
        while len(bench.heard.pods) < 500:
            await asyncio.sleep(0)
            turns += 1
        assert turns > 500

    # A slice of no length: one object each.
    informed(play, settings=InformerSettings(slice_s=0.0))


# --- watches that end --------------------------------------------------------------------------------------------------


def test_a_watch_that_ends_is_gone_on_with_where_it_was() -> None:
    async def play(bench: Bench) -> None:
        await bench.watching()
        bench.fake.put(pod("b"))
        await bench.in_step()
        bench.fake.end_watches()
        bench.fake.put(pod("c"))
        bench.fake.delete("a")
        await bench.in_step()
        assert len(bench.fake.lists) == 1
        assert bench.fake.watches[-1]["resourceVersion"] == "102"
        assert bench.counted.restarts == ["closed"]

    informed(play, "a")


def test_a_connection_that_breaks_is_made_again() -> None:
    async def play(bench: Bench) -> None:
        await bench.watching()
        await asyncio.sleep(5)
        bench.server.hang_up()
        bench.fake.put(pod("b"))
        await settle(lambda: "b" in bench.heard.pods, rounds=2000)
        assert bench.clock.monotonic() < 6, "there is no need to wait"
        assert len(bench.fake.lists) == 1
        assert bench.counted.restarts == ["error"]
        assert bench.informer.last_error is None

    informed(play, "a")


def test_a_connection_that_breaks_as_soon_as_it_is_made_is_not_made_again_at_once() -> None:
    async def play(bench: Bench) -> None:
        bench.fake.breaks_at_once = True
        await asyncio.sleep(60)
        assert 3 < len(bench.fake.watches) < 10
        assert isinstance(bench.informer.last_error, Unreachable)

    informed(play, "a")


def test_bookmarks_move_the_place_to_go_on_from() -> None:
    async def play(bench: Bench) -> None:
        await bench.watching()
        bench.fake.version = 5000
        bench.fake.bookmark()
        await settle()
        bench.fake.end_watches()
        await bench.until(lambda: len(bench.fake.watches) == 2)
        assert bench.fake.watches[-1]["resourceVersion"] == "5001"
        assert bench.heard.take() == ["put a", "listed"]

    informed(play, "a")


def test_ten_minutes_of_bookmarks_need_no_new_list_and_no_new_connection() -> None:
    async def play(bench: Bench) -> None:
        await bench.watching()
        for _ in range(10):
            await asyncio.sleep(60)
            bench.fake.bookmark()
        await settle()
        assert (len(bench.fake.lists), len(bench.fake.watches)) == (1, 1)

    informed(play, "a")


def test_a_connection_on_which_nothing_comes_any_more_is_given_up() -> None:
    """Half open: the other side is gone and nobody said so. Nothing arrives, and no error either."""

    async def play(bench: Bench) -> None:
        await bench.watching()
        bench.fake.put(pod("b"), seen=False)
        bench.fake.history.append(
            (
                bench.fake.version,
                json.dumps({"type": "ADDED", "object": bench.fake.objects["b"]}).encode() + b"\n",
            )
        )
        began = bench.clock.monotonic()
        await bench.in_step()
        assert 85 <= bench.clock.monotonic() - began < 95
        assert bench.counted.restarts == ["silent"]
        assert len(bench.fake.lists) == 1
        assert bench.informer.last_error is None

    informed(play, "a")


def test_a_watch_that_is_closed_at_once_again_and_again_is_not_hammered() -> None:
    async def play(bench: Bench) -> None:
        bench.fake.closes_at_once = True
        await asyncio.sleep(60)
        assert len(bench.fake.watches) < 10
        assert isinstance(bench.informer.last_error, Unreachable)
        bench.fake.closes_at_once = False
        await bench.watching()
        await bench.until(lambda: bench.informer.last_error is None)

    informed(play, "a")


# --- too old -----------------------------------------------------------------------------------------------------------


def test_after_a_watch_that_is_too_old_the_new_list_is_compared() -> None:
    async def play(bench: Bench) -> None:
        await bench.watching()
        bench.heard.take()
        fake = bench.fake
        fake.delete("vanished", seen=False)
        fake.put(pod("changed", status={"phase": "Running"}), seen=False)
        fake.put(pod("new"), seen=False)
        fake.put(pod("replaced", "second"), seen=False)
        fake.compact()
        fake.end_watches()
        await bench.in_step()
        await bench.watching()
        assert sorted(bench.heard.take()) == [
            "gone replaced uid-replaced unseen",
            "gone vanished uid-vanished unseen",
            "listed",
            "put changed",
            "put new",
            "put replaced",
        ]
        assert len(fake.lists) == 2
        assert bench.informer.last_error is None
        assert "expired" in bench.counted.restarts

    informed(play, "same", "vanished", "changed", "replaced")


def test_too_old_in_the_middle_of_a_watch() -> None:
    async def play(bench: Bench) -> None:
        await bench.watching()
        bench.fake.put(pod("b"), seen=False)
        failure = {"type": "ERROR", "object": status(410, "Expired", "too old")}
        bench.fake.say(json.dumps(failure).encode() + b"\n")
        await bench.in_step()
        assert len(bench.fake.lists) == 2

    informed(play, "a")


def test_another_error_in_the_middle_of_a_watch_needs_no_new_list() -> None:
    async def play(bench: Bench) -> None:
        await bench.watching()
        failure = {"type": "ERROR", "object": status(500, "InternalError", "etcd is slow")}
        bench.fake.say(json.dumps(failure).encode() + b"\n")
        await bench.until(lambda: len(bench.fake.watches) == 2)
        bench.fake.put(pod("b"))
        await bench.in_step()
        assert len(bench.fake.lists) == 1

    informed(play, "a")


def test_a_page_that_is_too_old_is_gone_on_with_as_of_now_if_the_server_says_where() -> None:
    async def play(bench: Bench) -> None:
        await bench.watching()
        assert [asked.get("continue") for asked in bench.fake.lists] == [None, "2", "3"]
        assert set(bench.heard.pods) == {"a", "b", "d"}

    class Expiring(FakeApi):
        def _list(self, request: Received) -> bytes:
            if len(self.lists) == 2:
                return refusal(410, "Expired", metadata={"continue": "3"})
            return super()._list(request)

    informed(play, *"abcd", fake=Expiring(), settings=InformerSettings(page_size=2))


def test_what_changed_while_a_list_came_in_parts_is_not_lost() -> None:
    """A list that is not all of one moment: an object of its first part changes before its second is asked for."""

    async def play(bench: Bench) -> None:
        await bench.watching()
        await bench.until(lambda: bench.heard.pods["a"].status.phase == "Running")
        await bench.until(lambda: "b" not in bench.heard.pods)
        calls = bench.heard.take()
        # The new one of this name was listed; the deletion of the old one, which the watch tells again, is not about it.
        assert calls.count("put d") == 1
        assert "gone d" not in " ".join(calls)

    class Changing(FakeApi):
        def _list(self, request: Received) -> bytes:
            if "continue" in request.query and len(self.lists) == 2:
                self.put(pod("a", status={"phase": "Running"}))
                self.delete("d")
                self.put(pod("d", "second"))
            answer = super()._list(request)
            if "continue" not in request.query:
                return answer
            self.delete("b")
            return answer

    informed(play, *"abcd", fake=Changing(), settings=InformerSettings(page_size=2))


def test_an_etcd_that_was_put_back_is_believed() -> None:
    """Versions in a new list may be lower than what is known: then the list is right."""

    async def play(bench: Bench) -> None:
        await bench.watching()
        fake = bench.fake
        fake.version = 10
        fake.put(pod("a", status={"phase": "Running"}), seen=False)
        fake.history.clear()
        failure = status(
            504, "Timeout", details={"causes": [{"reason": "ResourceVersionTooLarge"}]}
        )
        fake.watch_faults.append(reply(504, failure))
        fake.end_watches()
        await bench.until(lambda: bench.heard.pods["a"].metadata.resource_version == "11")
        assert bench.heard.pods["a"].status.phase == "Running"

    informed(play, "a")


def test_a_page_that_is_too_old_without_a_way_on_begins_the_list_again() -> None:
    async def play(bench: Bench) -> None:
        await bench.watching()
        assert [asked.get("continue") for asked in bench.fake.lists] == [None, "2", None, "2"]
        assert set(bench.heard.pods) == set("abcd")
        assert bench.heard.take().count("listed") == 1

    class Expiring(FakeApi):
        def _list(self, request: Received) -> bytes:
            if len(self.lists) == 2:
                return refusal(410, "Expired")
            return super()._list(request)

    informed(play, *"abcd", fake=Expiring(), settings=InformerSettings(page_size=2))


def test_lists_that_are_always_too_old_are_asked_for_more_and_more_seldom() -> None:
    async def play(bench: Bench) -> None:
        bench.fake.list_faults = [refusal(410, "Expired")] * 1000
        await asyncio.sleep(300)
        assert 10 < len(bench.fake.lists) < 40
        assert isinstance(bench.informer.last_error, Gone)
        assert not bench.informer.synced

    informed(play, "a")


# --- trouble -----------------------------------------------------------------------------------------------------------


def test_a_server_that_was_away_for_a_minute_is_found_within_half_a_minute() -> None:
    async def play(bench: Bench) -> None:
        await bench.watching()
        bench.server._server.close()
        bench.server.hang_up()
        await asyncio.sleep(60)
        assert isinstance(bench.informer.last_error, Unreachable)
        assert bench.informer.synced
        assert len(bench.counted.restarts) < 15
        bench.fake.put(pod("b"))
        async with Scripted(bench.fake.answer, port=bench.server.port):
            began = bench.clock.monotonic()
            await bench.in_step()
            assert bench.clock.monotonic() - began <= 31
            assert len(bench.fake.lists) == 1

    informed(play, "a")


def test_a_list_that_is_forbidden_says_so_until_it_is_allowed() -> None:
    async def play(bench: Bench) -> None:
        bench.fake.list_faults = [refusal(403, "Forbidden", 'cannot list resource "pods"')] * 3
        await bench.until(lambda: bench.informer.last_error is not None)
        assert isinstance(bench.informer.last_error, Forbidden)
        assert 'cannot list resource "pods"' in str(bench.informer.last_error)
        assert not bench.informer.synced
        await bench.watching()
        await bench.until(lambda: bench.informer.last_error is None and bench.informer.synced)

    informed(play, "a")


def test_a_watch_that_is_refused_for_now_waits_as_long_as_it_is_told() -> None:
    async def play(bench: Bench) -> None:
        bench.fake.watch_faults = [refusal(429, "TooManyRequests", "", "Retry-After: 20")]
        await bench.watching()
        assert 20 <= bench.clock.monotonic() < 25
        assert len(bench.fake.lists) == 1

    informed(play, "a")


def test_a_kind_that_is_not_served_keeps_the_informer_waiting() -> None:
    async def play(bench: Bench) -> None:
        bench.fake.list_faults = [refusal(404, "NotFound")] * 2
        await bench.until(lambda: bench.informer.last_error is not None)
        assert isinstance(bench.informer.last_error, NotFound)
        assert not bench.informer.synced
        await bench.in_step()

    informed(play, "a")


def test_an_optional_kind_that_is_not_served_counts_as_empty_until_it_is() -> None:
    async def play(bench: Bench) -> None:
        bench.fake.list_faults = [refusal(404, "NotFound")] * 2
        await bench.until(lambda: bench.informer.synced)
        assert bench.heard.take() == ["listed"]
        assert bench.informer.last_error is None
        await asyncio.sleep(200)
        assert bench.heard.take() == ["put a", "listed"]

    informed(play, "a", optional=True)


def test_an_optional_kind_that_is_forbidden_and_does_not_exist_counts_as_empty() -> None:
    """A role need not name what there is not; the API server does not say which of the two it is."""

    async def play(bench: Bench) -> None:
        bench.fake.list_faults = [refusal(403, "Forbidden")] * 2
        served: list[bool] = []
        bench.informer.on_served = served.append
        await bench.until(lambda: bench.informer.synced)
        assert bench.heard.take() == ["listed"]
        assert served == [False]

    informed(play, "a", optional=True)


def test_an_optional_kind_that_exists_and_is_forbidden_is_waited_for() -> None:
    """To go on without it would be to take its objects for missing."""

    async def play(bench: Bench) -> None:
        bench.fake.resources = [{"name": "pods"}]
        bench.fake.list_faults = [refusal(403, "Forbidden")] * 3
        served: list[bool] = []
        bench.informer.on_served = served.append
        await bench.until(lambda: bench.informer.last_error is not None)
        assert isinstance(bench.informer.last_error, Forbidden)
        assert not bench.informer.synced
        await bench.until(lambda: bench.informer.synced)
        assert bench.heard.take() == ["put a", "listed"]
        assert False not in served

    informed(play, "a", optional=True)


# --- what cannot be read -----------------------------------------------------------------------------------------------

BROKEN: dict[str, Any] = {"spec": {"priority": "high"}}


def test_an_object_that_cannot_be_read_is_left_out_and_reported_once() -> None:
    async def play(bench: Bench) -> None:
        await bench.watching()
        assert bench.heard.take() == ["put a", "put c", "listed"]
        assert bench.counted.skipped == 1
        bench.fake.compact()
        bench.fake.end_watches()
        await bench.until(lambda: len(bench.fake.watches) >= 2 and bench.fake.watching == 1)
        assert bench.counted.skipped == 1
        bench.fake.put(pod("b"))
        await bench.in_step()
        assert bench.heard.take() == ["listed", "put b"]

    fake = FakeApi()
    fake.put(pod("a"))
    fake.put(pod("b", **BROKEN))
    fake.put(pod("c"))
    informed(play, fake=fake)


def test_a_change_that_cannot_be_read_leaves_what_was_known_and_a_deletion_is_told() -> None:
    async def play(bench: Bench) -> None:
        await bench.watching()
        bench.heard.take()
        bench.fake.put(pod("a", **BROKEN))
        bench.fake.put(pod("b"))
        await bench.until(lambda: "b" in bench.heard.pods)
        assert bench.heard.take() == ["put b"]
        assert bench.counted.skipped == 1
        bench.fake.delete("a")
        await bench.in_step()
        assert bench.heard.take() == ["gone a uid-a unseen"]

    informed(play, "a")


def test_a_replacement_that_cannot_be_read_still_ends_what_was_there() -> None:
    async def play(bench: Bench) -> None:
        await bench.watching()
        bench.heard.take()
        bench.fake.put(pod("a", "second", **BROKEN))
        await bench.until(lambda: bool(bench.heard.calls))
        assert bench.heard.take() == ["gone a uid-a unseen"]

    informed(play, "a")


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"{\n", id="truncated JSON"),
        pytest.param(b"[1]\n", id="not an object"),
        pytest.param(b'{"type":"RENAMED","object":{}}\n', id="unknown type"),
        pytest.param(b'{"type":"ADDED"}\n', id="no object"),
        pytest.param(b'{"type":"ADDED","object":7}\n', id="an object that is none"),
        pytest.param(b'{"type":"ADDED","object":{}}\n', id="an object without a name"),
        pytest.param(b"\xff\xfe\n", id="no UTF-8"),
        pytest.param(b'{"type":"ADDED","object":' + b"[" * 5000 + b"\n", id="nested deeply"),
    ],
)
def test_lines_that_say_nothing_are_skipped(line: bytes) -> None:
    async def play(bench: Bench) -> None:
        await bench.watching()
        bench.fake.say(line)
        bench.fake.put(pod("b"))
        await bench.in_step()
        assert bench.counted.skipped == 1
        assert len(bench.fake.watches) == 1

    informed(play, "a")


def test_an_object_of_five_megabytes_is_taken() -> None:
    async def play(bench: Bench) -> None:
        await bench.watching()
        big = pod("big")
        big["metadata"]["annotations"] = {"data": "x" * 5_000_000}
        bench.fake.put(big)
        await bench.until(lambda: "big" in bench.heard.pods)
        assert len(bench.heard.pods["big"].annotations["data"]) == 5_000_000

    informed(play, "a")


def test_a_list_that_is_none_is_asked_for_again() -> None:
    async def play(bench: Bench) -> None:
        bench.fake.list_faults = [reply(200, b"<html>log in first</html>")]
        await bench.in_step()
        assert len(bench.fake.lists) == 2

    informed(play, "a")


def test_a_handler_that_fails_costs_its_object_only() -> None:
    async def play(bench: Bench) -> None:
        bench.heard.raises_at = "b"
        await bench.watching()
        assert bench.heard.take() == ["put a", "put b", "put c", "listed"]
        assert bench.counted.skipped == 1
        bench.fake.put(pod("d"))
        await bench.until(lambda: "d" in bench.heard.pods)

    informed(play, *"abc")


def test_one_that_waits_after_an_error_can_be_told_to_try_again_now() -> None:
    async def play(bench: Bench) -> None:
        bench.fake.list_faults = [refusal(503, "ServiceUnavailable", "", "Retry-After: 20")] * 9
        back: list[float] = []
        bench.informer.on_back = lambda: back.append(bench.clock.monotonic())
        await bench.until(lambda: bench.informer.last_error is not None)
        failed_at = bench.clock.monotonic()
        bench.fake.list_faults.clear()
        bench.informer.hurry()
        await settle(lambda: bool(back), rounds=2000)
        assert back == [failed_at]

    informed(play, "a")


# --- whatever happens --------------------------------------------------------------------------------------------------


class Strict(Heard):
    """A handler that is told nothing twice, and of no end without a beginning; what else happens is in ``faults``."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []

    def on_put(self, obj: Pod) -> None:
        known = self.pods.get(obj.name)
        if known is not None and known.uid != obj.uid:
            self.faults.append(f"{obj.name}: the one before has not gone")
        elif known is not None and known.metadata.resource_version == obj.metadata.resource_version:
            self.faults.append(f"{obj.name}: the same version again")
        self.pods[obj.name] = obj

    def on_gone(self, namespace: str, name: str, uid: str, last: Pod | None) -> None:
        known = self.pods.pop(name, None)
        if known is None or known.uid != uid or (last is not None and last.uid != uid):
            self.faults.append(f"{name}: an end without a beginning")


class Chaos:
    """Does one thing after the other to a fake API server, and to the way there."""

    def __init__(self, bench: Bench, seed: int) -> None:
        self.bench = bench
        self.dice = random.Random(seed)
        self.made = 0

    def step(self) -> None:
        fake, dice = self.bench.fake, self.dice
        name = dice.choice("abcdefgh")
        uid = fake.objects[name]["metadata"]["uid"] if name in fake.objects else ""
        seen = dice.random() < 0.8
        match dice.randrange(14):
            case 0 | 1 | 2 | 3:
                self.made += 1
                fake.put(pod(name, uid or f"u{self.made}", status={"phase": "Running"}), seen=seen)
            case 4 | 5 if uid:
                fake.delete(name, seen=seen)
            case 6 if uid:
                # Deleted and made again; whoever does not watch sees only that it is another.
                self.made += 1
                fake.delete(name, seen=seen)
                fake.put(pod(name, f"u{self.made}"), seen=seen)
            case 7:
                fake.end_watches()
            case 8:
                self.bench.server.hang_up()
            case 9:
                fake.list_faults.append(refusal(dice.choice([410, 429, 500, 503]), "Trouble"))
            case 10:
                fake.watch_faults.append(refusal(dice.choice([410, 429, 500, 504]), "Trouble"))
            case 11:
                fake.say(dice.choice([b"nonsense\n", b'{"type":"ADDED","object":{}}\n', b"\n"]))
            case 12:
                fake.bookmark()
            case _:
                pass
        if not seen:
            # Nobody was told, so nobody may go on from before.
            fake.compact()
            fake.end_watches()


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_the_handler_ends_up_knowing_what_there_is(seed: int) -> None:
    async def play(bench: Bench) -> None:
        chaos = Chaos(bench, seed)
        for _ in range(200):
            chaos.step()
            if chaos.dice.random() < 0.5:
                await settle(rounds=chaos.dice.randrange(100))
            if chaos.dice.random() < 0.1:
                await asyncio.sleep(chaos.dice.uniform(0, 40))
        bench.fake.list_faults.clear()
        bench.fake.watch_faults.clear()

        def versions() -> dict[str, str]:
            return {name: one.metadata.resource_version for name, one in bench.heard.pods.items()}

        def wanted() -> dict[str, str]:
            return {n: one["metadata"]["resourceVersion"] for n, one in bench.fake.objects.items()}

        await bench.until(lambda: versions() == wanted())
        assert bench.informer.synced
        assert strict.faults == []

    strict = Strict()
    informed(play, *"abc", handler=strict, settings=InformerSettings(page_size=3))
