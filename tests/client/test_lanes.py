"""Who goes first, and what is kept free for whom."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.client.lanes import Gate, Lane, Tokens
from bayplan.testing.virtual_time import run, settle


def entered(gate: Gate, lane: Lane, most: int = 100) -> int:
    """How many of a lane get in at once."""
    return sum(gate.enter_nowait(lane) for _ in range(most))


@pytest.mark.parametrize(
    ("lane", "most"),
    [
        pytest.param(Lane.BIND, 28, id="bindings take nearly all"),
        pytest.param(Lane.EVENT, 16, id="events take half"),
        pytest.param(Lane.LEASE, 2, id="leases have their own"),
    ],
)
def test_the_most_of_one_lane(lane: Lane, most: int) -> None:
    assert entered(Gate(32), lane) == most


def test_all_others_together_leave_a_quarter_for_bindings() -> None:
    gate = Gate(32)
    others = sum(
        entered(gate, lane) for lane in (Lane.EVENT, Lane.STATUS, Lane.READ, Lane.EVICTION)
    )
    assert others == 24
    assert entered(gate, Lane.BIND) == 8
    assert entered(gate, Lane.LEASE) == 2


def test_one_connection_is_enough_for_everything() -> None:
    for lane in Lane:
        assert entered(Gate(1), lane, 1) == 1


def test_nobody_overtakes_in_his_own_lane() -> None:
    order: list[int] = []

    async def one(gate: Gate, number: int) -> None:
        await gate.enter(Lane.EVENT)
        order.append(number)
        await asyncio.sleep(1)
        gate.leave(Lane.EVENT)

    async def play() -> None:
        gate = Gate(2)
        await asyncio.gather(*(one(gate, number) for number in range(6)))

    run(play())
    assert order == list(range(6))


def test_whoever_gives_up_waiting_takes_nobodys_place() -> None:
    async def play() -> None:
        gate = Gate(1)
        await gate.enter(Lane.BIND)
        waiting = [asyncio.create_task(gate.enter(Lane.BIND)) for _ in range(3)]
        await settle()
        waiting[0].cancel()
        await settle()
        assert gate.statistics()["bind"] == {"busy": 1, "waiting": 2}
        gate.leave(Lane.BIND)
        waiting[1].cancel()  # its turn has come, and it does not take it
        await settle()
        assert waiting[2].done()
        assert gate.statistics()["bind"] == {"busy": 1, "waiting": 0}

    run(play())


@given(
    st.lists(
        st.tuples(st.sampled_from(list(Lane)), st.sampled_from(["enter", "leave", "cancel"])),
        max_size=60,
    ),
    st.integers(1, 5),
)
def test_whatever_happens_the_counts_are_right(
    steps: list[tuple[Lane, str]], connections: int
) -> None:
    async def play() -> None:
        gate = Gate(connections)
        tasks: list[tuple[Lane, asyncio.Task[None]]] = []
        for lane, step in steps:
            of_lane = [pair for pair in tasks if pair[0] is lane]
            if step == "enter":
                tasks.append((lane, asyncio.create_task(gate.enter(lane))))
            elif step == "cancel" and of_lane:
                of_lane[-1][1].cancel()
            elif of_lane and of_lane[0][1].done():
                tasks.remove(of_lane[0])
                if not of_lane[0][1].cancelled():
                    gate.leave(lane)
            await settle(rounds=3)
            said = gate.statistics()
            for each in Lane:
                inside = [t for of, t in tasks if of is each and t.done() and not t.cancelled()]
                assert said[each.name.lower()]["busy"] == len(inside)
            busy = sum(s["busy"] for name, s in said.items() if name != "lease")
            assert busy <= connections
        for _, task in tasks:
            task.cancel()
        await settle()

    run(play())


def test_tokens_come_at_their_rate_and_pile_up_to_the_burst() -> None:
    tokens = Tokens(10, 3)
    taken = 0
    while tokens.wait_s(0.0) == 0:
        tokens.take()
        taken += 1
    assert taken == 3
    assert tokens.wait_s(0.0) == pytest.approx(0.1)
    assert tokens.wait_s(0.1) == 0
    assert tokens.wait_s(1000.0) == 0
