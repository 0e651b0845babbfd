from __future__ import annotations

from bayplan import Action, Resource, WakeOn
from bayplan.queueing.history import Attempts, History
from tests.queueing.scene import NODE_ADD, Gate, Scene, listener, queue_it


def attempt(number: int, message: str = "0/1 nodes are available: 1 Insufficient cpu.") -> Attempts:
    return Attempts(
        "unschedulable", message, frozenset({"Fit"}), number, number, number, number, 0.1
    )


def test_attempts_that_end_alike_are_one_entry() -> None:
    history = History()
    for number in range(1, 1001):
        history.tried(attempt(number))
    history.tried(attempt(1001, "another reason"))
    first, second = history.attempts
    assert (first.first, first.last, first.times) == (1, 1000, 1000)
    assert (first.first_at, first.last_at) == (1, 1000)
    assert (second.first, second.times) == (1001, 1)
    assert history.dropped == 0


def test_the_first_and_the_latest_entries_stay() -> None:
    history = History()
    for number in range(1, 101):
        history.tried(attempt(number, f"reason {number}"))
        history.moved(float(number), "backoff", "NodeAdd")
    assert [a.first for a in history.attempts][:3] == [1, 70, 71]
    assert history.attempts[-1].first == 100
    assert history.dropped + len(history.attempts) == 100
    assert (history.moves[0].at, history.moves[-1].at) == (1, 100)
    assert len(history.moves) == 32


def test_a_pod_in_the_queue_knows_where_it_was_and_what_brought_it_there() -> None:
    scene = Scene(listener("Fit", WakeOn(Resource.NODE, Action.ADD, queue_it)))
    queued = scene.park("p", "Fit")
    scene.event(NODE_ADD)
    assert queued.history.moves == [
        (100, "active", "UnschedulablePodAdd"),
        (100, "unschedulable", "ScheduleAttemptFailure"),
        (111, "active", NODE_ADD.label),
    ]


def test_a_gated_pod_is_at_its_gate_once_however_often_it_is_asked() -> None:
    gate = Gate(WakeOn(Resource.NODE, Action.ADD))
    gate.shut.add("p")
    scene = Scene(gate)
    scene.add("p")
    scene.event(NODE_ADD)
    gate.shut.clear()
    scene.event(NODE_ADD)
    queued = scene.pop()
    assert [(place, event) for _, place, event in queued.history.moves] == [
        ("gated", "UnschedulablePodAdd"),
        ("active", NODE_ADD.label),
    ]
    # The metric has no queue of that name.
    assert ("unschedulable", "UnschedulablePodAdd") in scene.incoming()
