"""Values of one attempt under typed keys, and how far a what-if shares them."""

from __future__ import annotations

import pytest

from bayplan.framework.state import Clonable, CycleState, StateKey

COUNT, NAMES, ABSENT = StateKey["Counter"]("count"), StateKey[list[str]](), StateKey[int]()


class Counter:
    """A value that a what-if changes."""

    def __init__(self, number: int) -> None:
        self.number = number

    def clone(self) -> Counter:
        return Counter(self.number)


def filled() -> CycleState:
    state = CycleState()
    state[COUNT], state[NAMES] = Counter(1), ["a"]
    return state


def test_what_was_written_is_read() -> None:
    state = filled()
    assert state[COUNT].number == 1
    assert state.get(NAMES) == ["a"]
    assert COUNT in state


def test_what_was_not_written() -> None:
    state = filled()
    assert ABSENT not in state
    assert state.get(ABSENT) is None
    with pytest.raises(KeyError):
        state[ABSENT]


def test_keys_are_told_apart_by_what_they_are_and_not_by_their_label() -> None:
    state = filled()
    assert StateKey[Counter]("count") not in state
    assert repr(COUNT) == "StateKey('count')"


def test_a_clone_copies_what_knows_how_to_and_shares_the_rest() -> None:
    state = filled()
    clone = state.clone()
    clone[COUNT].number += 1
    assert (state[COUNT].number, clone[COUNT].number) == (1, 2)
    assert clone[NAMES] is state[NAMES]
    clone[ABSENT] = 5
    assert ABSENT not in state
    assert isinstance(state[COUNT], Clonable)


def test_a_fork_shares_values_and_keeps_what_is_written_to_itself() -> None:
    state = filled()
    fork = state.fork()
    assert fork[COUNT] is state[COUNT]
    fork[COUNT] = Counter(9)
    assert state[COUNT].number == 1
