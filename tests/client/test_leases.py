"""One leads and the others wait; whoever cannot renew stops writing before another may begin."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from bayplan.client.lanes import Lane
from bayplan.client.leases import ElectionSettings, Elector, is_fresh
from bayplan.client.request import Request
from bayplan.errors import AlreadyExists, Conflict, NotFound, ServerError, Unreachable
from bayplan.model import Lease, decode_as
from bayplan.testing.virtual_time import START, VirtualClock, run, settle

PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


@dataclass
class Leases:
    """An API server that has one lease (``client.api.Sender``)."""

    lease: dict[str, Any] | None = None
    version: int = 0
    sent: list[str] = field(default_factory=list)
    error: Exception | None = None
    #: Whether requests are not answered at all.
    hangs: bool = False
    #: Whether writes are carried out, and the answer gets lost.
    loses_answers: bool = False

    async def send(self, request: Request, lane: Lane, *, timeout_s: float | None = None) -> bytes:
        assert lane is Lane.LEASE
        self.sent.append(request.method)
        if self.error is not None:
            raise self.error
        if self.hangs:
            await asyncio.sleep(1e9)
        await asyncio.sleep(0)
        if request.method == "GET":
            if self.lease is None:
                raise NotFound(404, "NotFound", "no such lease")
        else:
            self._write(request)
            if self.loses_answers:
                raise Unreachable("the connection broke", sent=True)
        return json.dumps(self.lease).encode()

    def _write(self, request: Request) -> None:
        body = json.loads(request.body)
        if request.method == "POST":
            assert request.path == PATH
            if self.lease is not None:
                raise AlreadyExists(409, "AlreadyExists", "there is one")
        else:
            assert request.path == f"{PATH}/it"
            if self.lease is None:
                raise NotFound(404, "NotFound", "no such lease")
            if body["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
                raise Conflict(409, "Conflict", "somebody was faster")
        self.edit(**body["spec"])

    def edit(self, **spec: Any) -> None:
        """Write the lease as somebody else would."""
        self.version += 1
        self.lease = {
            "kind": "Lease",
            "apiVersion": "coordination.k8s.io/v1",
            "metadata": {
                "name": "it",
                "namespace": "kube-system",
                "uid": "u",
                "resourceVersion": str(self.version),
            },
            "spec": spec,
        }

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        spec: dict[str, Any] = self.lease["spec"]
        return spec


class Candidate:
    """An elector that runs."""

    def __init__(self, name: str, api: Leases, clock: VirtualClock) -> None:
        self.leaders: list[str] = []
        self.calls: list[str] = []
        self.elector = Elector(
            api,
            ElectionSettings("it"),
            name,
            clock,
            random.Random(name),
            on_new_leader=self.leaders.append,
        )
        self.task = asyncio.create_task(
            self.elector.run(
                lambda: self.calls.append("started"), lambda: self.calls.append("stopped")
            )
        )

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])


@dataclass
class Bench:
    api: Leases
    clock: VirtualClock
    candidates: list[Candidate] = field(default_factory=list)

    def candidate(self, name: str) -> Candidate:
        candidate = Candidate(name, self.api, self.clock)
        self.candidates.append(candidate)
        return candidate


def election(play: Callable[[Bench], Awaitable[None]], **lease: Any) -> None:
    """Run a scene in virtual time."""
    clock = VirtualClock()
    api = Leases()
    if lease:
        api.edit(**lease)

    async def scene() -> None:
        bench = Bench(api, clock)
        try:
            await play(bench)
        finally:
            for candidate in bench.candidates:
                await candidate.stop()

    run(scene(), clock)


def test_the_first_one_leads_and_the_lease_says_so() -> None:
    async def play(bench: Bench) -> None:
        a = bench.candidate("a")
        await settle()
        assert (a.calls, a.leaders) == (["started"], ["a"])
        assert a.elector.is_leader
        assert a.elector.may_write()
        assert bench.api.spec == {
            "holderIdentity": "a",
            "leaseDurationSeconds": 15,
            "acquireTime": "2026-01-01T00:00:00.000000Z",
            "renewTime": "2026-01-01T00:00:00.000000Z",
        }

    election(play)


def test_the_leader_renews_every_two_seconds_with_one_request() -> None:
    async def play(bench: Bench) -> None:
        a = bench.candidate("a")
        await settle()
        bench.api.sent.clear()
        await asyncio.sleep(60.5)
        assert bench.api.sent == ["PUT"] * 30
        assert a.elector.may_write()
        assert bench.api.spec["renewTime"] == "2026-01-01T00:01:00.000000Z"
        assert bench.api.spec["acquireTime"] == "2026-01-01T00:00:00.000000Z"

    election(play)


def test_the_others_wait() -> None:
    async def play(bench: Bench) -> None:
        bench.candidate("a")
        await settle()
        b = bench.candidate("b")
        await asyncio.sleep(300)
        assert (b.calls, b.leaders) == ([], ["a"])
        assert not b.elector.may_write()

    election(play)


def test_when_the_leader_dies_another_takes_over_after_the_lease_has_lapsed() -> None:
    async def play(bench: Bench) -> None:
        a = bench.candidate("a")
        await settle()
        b = bench.candidate("b")
        await asyncio.sleep(10)
        await a.stop()
        await asyncio.sleep(12)
        assert b.calls == []
        # It looks every 2 to 4.4 s, and may have seen the last renewal so much later, and the lapse as well.
        await asyncio.sleep(15 + 2 * 4.4 - 12)
        assert b.calls == ["started"]
        assert bench.api.spec["leaseTransitions"] == 1
        assert b.leaders == ["a", "b"]

    election(play)


def test_a_lease_that_was_released_is_taken_at_the_next_look() -> None:
    async def play(bench: Bench) -> None:
        a = bench.candidate("a")
        await settle()
        b = bench.candidate("b")
        await settle()
        await a.stop()
        assert a.calls == ["started", "stopped"]
        assert await a.elector.release()
        assert "holderIdentity" not in bench.api.spec
        assert bench.api.spec["leaseDurationSeconds"] == 1
        await asyncio.sleep(4.5)
        assert b.elector.may_write()

    election(play)


def test_who_does_not_lead_releases_nothing() -> None:
    async def play(bench: Bench) -> None:
        bench.candidate("a")
        await settle()
        b = bench.candidate("b")
        await settle()
        await b.stop()
        assert not await b.elector.release()
        assert bench.api.spec["holderIdentity"] == "a"

    election(play)


def test_a_release_goes_through_although_a_renewal_was_under_way() -> None:
    async def play(bench: Bench) -> None:
        a = bench.candidate("a")
        await settle()
        await a.stop()
        bench.api.edit(**bench.api.spec)
        assert await a.elector.release()

    election(play)


def test_a_clock_that_is_wrong_decides_nothing() -> None:
    """The lease was renewed in 2001, says the other's clock; ours counts from when we saw it."""

    async def play(bench: Bench) -> None:
        b = bench.candidate("b")
        await asyncio.sleep(14)
        assert not b.elector.is_leader
        await asyncio.sleep(6)
        assert b.elector.is_leader
        # It had not lapsed before: the other's renewals were not seen to stop.

    election(
        play, holderIdentity="a", leaseDurationSeconds=15, renewTime="2001-01-01T00:00:00.000000Z"
    )


# --- losing it ---------------------------------------------------------------------------------------------------------


def test_who_cannot_renew_stops_writing_at_the_deadline_and_ends() -> None:
    async def play(bench: Bench) -> None:
        a = bench.candidate("a")
        await asyncio.sleep(4.5)
        bench.api.error = ServerError(500, "InternalError", "etcd is away")
        # Last renewed at 4.
        await asyncio.sleep(9.4)
        assert a.elector.may_write()
        assert a.calls == ["started"]
        await asyncio.sleep(0.2)
        assert not a.elector.may_write()
        await asyncio.sleep(2)
        assert a.calls == ["started", "stopped"]
        assert a.task.done()
        assert not a.elector.is_leader
        assert "etcd is away" in str(a.elector.last_error)

    election(play)


def test_a_server_that_does_not_answer_does_not_keep_the_leader_beyond_the_deadline() -> None:
    async def play(bench: Bench) -> None:
        a = bench.candidate("a")
        await asyncio.sleep(4.5)
        bench.api.hangs = True
        await asyncio.sleep(9.6)
        assert a.calls == ["started", "stopped"]

    election(play)


def test_a_short_interruption_costs_nothing() -> None:
    async def play(bench: Bench) -> None:
        a = bench.candidate("a")
        await asyncio.sleep(4.5)
        bench.api.error = Unreachable("nobody listens")
        await asyncio.sleep(7)
        bench.api.error = None
        await asyncio.sleep(60)
        assert a.calls == ["started"]
        assert a.elector.may_write()
        assert a.elector.last_error is None

    election(play)


def test_a_renewal_whose_answer_got_lost_is_looked_up() -> None:
    async def play(bench: Bench) -> None:
        a = bench.candidate("a")
        await settle()
        bench.api.loses_answers = True
        await asyncio.sleep(2.5)
        bench.api.loses_answers = False
        await asyncio.sleep(60)
        assert a.calls == ["started"]
        assert a.elector.may_write()

    election(play)


def test_a_process_that_was_stopped_may_not_write_when_it_goes_on() -> None:
    """SIGSTOP: time passes and no line of ours runs. The question alone must be answered right."""

    async def play(bench: Bench) -> None:
        a = bench.candidate("a")
        await asyncio.sleep(2.5)
        assert a.elector.may_write()
        bench.clock.advance(20)
        assert a.elector.is_leader
        assert not a.elector.may_write()
        assert a.elector.overdue_s() == pytest.approx(5.5)

    election(play)


def test_a_process_that_was_stopped_and_replaced_ends_at_the_next_look() -> None:
    async def play(bench: Bench) -> None:
        a = bench.candidate("a")
        await asyncio.sleep(2.5)
        bench.clock.advance(20)
        bench.api.edit(holderIdentity="b", leaseDurationSeconds=15, leaseTransitions=1)
        await settle()
        assert a.calls == ["started", "stopped"]
        assert bench.api.spec["holderIdentity"] == "b"

    election(play)


def test_a_lease_that_somebody_else_took_is_lost_at_once() -> None:
    async def play(bench: Bench) -> None:
        a = bench.candidate("a")
        await settle()
        bench.api.edit(holderIdentity="b", leaseDurationSeconds=15)
        await asyncio.sleep(2.5)
        assert a.calls == ["started", "stopped"]
        assert a.leaders == ["a", "b"]

    election(play)


def test_a_lease_that_was_deleted_is_made_again() -> None:
    async def play(bench: Bench) -> None:
        a = bench.candidate("a")
        await settle()
        bench.api.lease = None
        await asyncio.sleep(2.5)
        assert bench.api.spec["holderIdentity"] == "a"
        assert a.calls == ["started"]

    election(play)


def test_two_that_begin_at_once_do_not_both_lead() -> None:
    async def play(bench: Bench) -> None:
        both = [bench.candidate("a"), bench.candidate("b")]
        await asyncio.sleep(30)
        assert sum(each.elector.may_write() for each in both) == 1

    election(play)


def test_at_no_moment_do_two_lead_whatever_fails() -> None:
    dice = random.Random(7)

    async def play(bench: Bench) -> None:
        terms = 0
        for _ in range(3):
            bench.candidate(f"c{len(bench.candidates)}")
        for _ in range(1500):
            await asyncio.sleep(dice.uniform(0.1, 1.0))
            chance = dice.random()
            bench.api.error = Unreachable("away") if chance < 0.3 else None
            bench.api.hangs = 0.3 <= chance < 0.5
            bench.api.loses_answers = 0.5 <= chance < 0.6
            if chance > 0.99:
                bench.clock.advance(dice.uniform(5, 30))
            assert sum(each.elector.may_write() for each in bench.candidates) <= 1
            for each in bench.candidates[-3:]:
                if each.task.done():
                    terms += 1
                    bench.candidate(f"c{len(bench.candidates)}")
        assert terms > 3

    election(play)


# --- looking on --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "fresh"),
    [
        pytest.param(
            {"holderIdentity": "x", "leaseDurationSeconds": 15, "renewTime": -10}, True, id="held"
        ),
        pytest.param(
            {"holderIdentity": "x", "leaseDurationSeconds": 15, "renewTime": -16},
            False,
            id="lapsed",
        ),
        pytest.param({"leaseDurationSeconds": 1, "renewTime": 0}, False, id="released"),
        pytest.param(
            {"holderIdentity": "x", "leaseDurationSeconds": 15}, False, id="never renewed"
        ),
    ],
)
def test_whether_a_foreign_lease_is_fresh(spec: dict[str, Any], fresh: bool) -> None:
    if "renewTime" in spec:
        moment = datetime.fromtimestamp(START + spec["renewTime"], UTC)
        spec = {**spec, "renewTime": moment.isoformat()}
    lease = decode_as(Lease, json.dumps({"metadata": {"name": "it"}, "spec": spec}).encode())
    assert is_fresh(lease, START) is fresh


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        pytest.param((15, 10, 2), [], id="kube-scheduler's"),
        pytest.param((3, 2, 0.5), [], id="short"),
        pytest.param((10, 10, 2), ["leaseDuration"], id="lease too short"),
        pytest.param((15, 2, 2), ["renewDeadline"], id="deadline too short"),
        pytest.param((15, 10, 0), ["retryPeriod"], id="no pause"),
    ],
)
def test_numbers_that_do_not_fit(numbers: tuple[float, float, float], words: list[str]) -> None:
    problems = ElectionSettings("it", "kube-system", *numbers).problems()
    assert [problem.split()[0] for problem in problems] == words
